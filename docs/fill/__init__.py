"""What the pages show of results, made by the code and written into their Markdown.

A region begins with ``<!-- made: KIND arguments -->`` and ends with ``<!-- end -->``; forges show
neither. In a sentence a region must not begin a line, which would then be HTML. The kinds are the
keys of `fill.kinds.KINDS`; what follows a fence of Python or of commands is its output.

``python docs/fill [PAGE ...]`` makes all regions of pages anew, and writes those that differ by
more than times and the last digits; with ``--check`` it only lists them.
"""
