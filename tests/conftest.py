"""One hypothesis profile for all tests: the same examples on every run, no time limit each."""

from hypothesis import settings

settings.register_profile("edgeopt", derandomize=True, deadline=None, max_examples=200)
settings.load_profile("edgeopt")
