"""Formulas as MathML, converted at build time, so that readers need no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.nodes import SkipNode
from sphinx.util import logging

from edgeopt.studies.pages import rendering

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)


def mathml(node: Element, *, block: bool) -> str:
    """Convert a formula; show it as written, with a warning, where that fails."""
    source = node.astext()
    # Several lines without an environment of their own are aligned at their ampersands.
    if block and "\\\\" in source and "\\begin" not in source:
        source = f"\\begin{{aligned}}{source}\\end{{aligned}}"
    found = rendering.mathml(source, block=block)
    if not found.startswith("<math"):
        LOG.warning("formula %r cannot be read", source, location=node)
    return found


def visit_inline(self: HTML5Translator, node: Element) -> None:
    self.body.append(mathml(node, block=False))
    raise SkipNode


def visit_block(self: HTML5Translator, node: Element) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(mathml(node, block=True))
    self.body.append("</div>")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_block, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
