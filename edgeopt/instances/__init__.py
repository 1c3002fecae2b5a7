"""Room: instances."""
