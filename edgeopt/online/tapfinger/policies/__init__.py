"""Schedulers of TapFinger."""
