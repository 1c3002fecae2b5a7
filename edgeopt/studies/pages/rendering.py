"""How every page is made: one set of templates, in which the numbers are written in one way."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from edgeopt.studies import wording
from edgeopt.studies.pages.formulas import in_html
from edgeopt.writing import printable

if TYPE_CHECKING:
    import jinja2

__all__ = ["render"]


def render(template: str, **context: Any) -> str:
    """Write a page that needs nothing else: no network, no file beside it."""
    return printable(_environment().get_template(template).render(**context))


@cache
def _environment() -> jinja2.Environment:
    import jinja2
    import markupsafe

    import edgeopt

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("edgeopt.studies", "template"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {name: getattr(wording, name) for name in wording.__all__}
    environment.filters["formulas"] = lambda statement: markupsafe.Markup(in_html(statement))
    environment.globals["version"] = edgeopt.__version__
    return environment
