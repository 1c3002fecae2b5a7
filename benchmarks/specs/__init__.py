"""One benchmark per file; the table of all is `benchmarks.registry`."""
