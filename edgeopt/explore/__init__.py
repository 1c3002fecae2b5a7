"""The live page of a system: sliders, and the view that they give, in a browser on this machine.

`edgeopt explore` starts it. The page itself is one thin notebook of marimo for all systems; what it
shows comes from :mod:`edgeopt.studies.view` and :mod:`edgeopt.studies.live`.
"""
