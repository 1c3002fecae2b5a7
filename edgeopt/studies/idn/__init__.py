"""IDN as studies see it."""
