"""The template of docstrings, compiled once: numpydoc compiles it anew for each of thousands.

Nor are the members of classes collected for templates of pages, which do not ask for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.ext.autosummary import generate

if TYPE_CHECKING:
    from jinja2 import Template
    from sphinx.application import Sphinx


class Remembering(SandboxedEnvironment):
    """An environment that shares its templates with all others of its kind."""

    compiled: ClassVar[dict[str, Template]] = {}

    def get_template(self, name: str, *arguments: Any, **options: Any) -> Template:
        if name not in self.compiled:
            self.compiled[name] = super().get_template(name, *arguments, **options)
        return self.compiled[name]


def setup(app: Sphinx) -> dict[str, bool]:
    docscrape_sphinx.SandboxedEnvironment = Remembering
    generate._get_class_members = lambda _: {}
    return {"parallel_read_safe": True, "parallel_write_safe": True}
