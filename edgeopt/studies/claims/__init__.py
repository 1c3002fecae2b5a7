"""Claims, checked on named and drawn instances, with their page."""
