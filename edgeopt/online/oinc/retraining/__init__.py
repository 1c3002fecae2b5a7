"""How jobs are dispatched to sites and served there."""
