"""P1-LP by an interior-point method that works on its band structure."""
