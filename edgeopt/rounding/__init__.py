"""Randomised rounding with exact laws: fractions in, decisions out, and what is preserved."""
