"""Studies of TapFinger."""
