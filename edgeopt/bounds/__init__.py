"""Room: bounds."""
