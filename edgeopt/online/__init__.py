"""Room: online."""
