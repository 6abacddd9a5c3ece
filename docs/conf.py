"""How Sphinx makes the manual: `make docs`."""

import hyperprobe

project = "hyperprobe"
author = "The hyperprobe maintainers"
version = release = hyperprobe.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4  # links to headings, as on GitHub
highlight_language = "none"  # blocks without a language are commands and tables
smartquotes = False
default_role = "code"  # `x` in docstrings is code

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"hyperprobe {release}"
html_show_sphinx = False
