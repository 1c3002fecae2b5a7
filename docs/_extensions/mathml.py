"""Formulas as MathML, converted at build time, so that readers need no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.nodes import SkipNode
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)
CONVERTER = LatexToMathML()


def mathml(node: Element, *, block: bool) -> str:
    """Convert a formula; show it as written, with a warning, where that fails."""
    # The converter knows no wide accents; MathML stretches them by itself.
    source = node.astext().replace(r"\widetilde", r"\tilde")
    # Several lines without an environment of their own are aligned at their ampersands.
    if block and "\\\\" in source and "\\begin" not in source:
        source = f"\\begin{{aligned}}{source}\\end{{aligned}}"
    try:
        return CONVERTER.convert_with_local_state(source, displaystyle=block)
    except LatexError as error:
        LOG.warning("formula %r: %s", source, error, location=node)
        return f"<code>{source}</code>"


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
