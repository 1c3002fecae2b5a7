"""Sphinx settings: everything is built from the sources, without a network."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "edgeopt"
author = "The edgeopt developers"
copyright = "2026, The edgeopt developers"
version = release = installed_version("edgeopt")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "docstring_template",
    "mathml",
]
html_math_renderer = "mathml"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extensions", "fill"]
nitpicky = False

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3
# A field may be called `type`, and two systems may have a step rule. Claims are marked in HTML,
# which MyST does not read; a test follows links.
suppress_warnings = ["ref.python", "myst.xref_missing"]

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_use_plots = False

html_theme = "pydata_sphinx_theme"
html_title = "edgeopt"
html_static_path = ["_static"]
html_css_files = ["edgeopt.css"]
# A sidebar with the tree of a subpackage on each of its pages would dominate the build time.
html_sidebars = {"**": []}
html_theme_options = {
    "show_prev_next": False,
    "article_header_start": ["breadcrumbs"],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}

COPIES = {"changelog": "CHANGELOG.md", "extending": "CONTRIBUTING.md"}
"""Pages that are files of the repository; where they stand, they link to them."""


TREES = {
    "index": r"(?m)^- \[(.*)\]\((.*)\)$",
    "tutorials": r"\[([^\]]*)\]\((tutorial-\w+\.md)\)",
}
"""Pages whose links of this form have the others below them."""


def prepare(app: Any, page: str, source: list[str]) -> None:
    """Turn what forges show into what Sphinx needs: copies, the tree of pages, the reference."""
    text = source[0]
    if page in COPIES:
        text = (Path(__file__).parents[1] / COPIES[page]).read_text(encoding="utf-8")
    if page in TREES:
        tree = "\n".join(f"{title} <{target}>" for title, target in re.findall(TREES[page], text))
        text = f"{text}\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    source[0] = re.sub(r"\]\(\.\./(?:papers/)?(edgeopt\w*/[\w/]+)\.py\)", in_reference, text)


def in_reference(link: re.Match[str]) -> str:
    """Let a link to a subpackage lead to its page of the reference, if it has one."""
    name = link[1].removesuffix("/__init__").replace("/", ".")
    known = (Path(__file__).parent / "api" / "index.rst").read_text().split()
    return f"](api/generated/{name}.rst)" if name in known else link[0]


def setup(app: Any) -> None:
    app.connect("source-read", prepare)
