# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""HTML of the pages, by Sphinx: scripts/docs. The folder of sources is the top of this tree, so
that a link between two pages is the same in HTML and in the files.
"""
import re

from docutils import nodes
from sphinx import addnodes

project = 'srnic'
extensions = ['sphinx.ext.graphviz', 'myst_parser']
root_doc = 'Documentation/index'
include_patterns = ['README.md', 'Documentation/*.rst', 'Documentation/*.md',
                    'apis/*/doc/*.rst', 'apis/*/doc/*.md']
# Sphinx does not look into these
exclude_patterns = ['.git', '.ci', 'build', 'debian', 'drivers', 'include', 'packaging', 'patches',
                    'scripts', 'tests', 'userspace']
# Commands and their options stay as they are written
smartquotes = False
highlight_language = 'none'
graphviz_output_format = 'svg'
html_theme = 'alabaster'
html_theme_options = {'page_width': '75em', 'body_max_width': 'none', 'show_powered_by': False}
html_copy_source = False
html_use_index = False

NAME = re.compile(r'(?:[\w-]+/)*([\w-]+)\.(?:rst|md)\b')


def link_pages(app, doctree):
    """The name of a page, in the text of another one, is a link to it."""
    pages = {name.rpartition('/')[2]: f'/{name}' for name in app.env.found_docs}
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, (nodes.paragraph, nodes.emphasis, nodes.strong)):
            continue
        new, done = [], 0
        for name in NAME.finditer(text):
            if name[1] not in pages:
                continue
            link = addnodes.pending_xref('', nodes.inline('', name[0]), refdomain='std', reftype='doc',
                                         refdoc=app.env.docname, reftarget=pages[name[1]],
                                         refexplicit=True, refwarn=True)
            new += [nodes.Text(text[done:name.start()]), link]
            done = name.end()
        if new:
            text.parent.replace(text, [*new, nodes.Text(text[done:])])


def setup(app):
    app.connect('doctree-read', link_pages)
