"""How the requests of a slot are answered."""
