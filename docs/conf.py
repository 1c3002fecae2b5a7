"""Sphinx settings: everything is built from the sources, without a network."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

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
    "claim_tables",
    "studies",
    "paper_figures",
    "running",
    "gallery",
    "sliders",
    "scoreboard",
    "solver_table",
    "program_table",
    "command_line",
    "tutorial",
]
html_math_renderer = "mathml"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extensions"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
# A field may be called `type`, and two systems may have a step rule.
suppress_warnings = ["ref.python"]

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
