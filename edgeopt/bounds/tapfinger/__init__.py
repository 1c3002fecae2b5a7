"""Guarantees and bounds of TapFinger."""
