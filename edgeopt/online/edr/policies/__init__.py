"""Policies of EDR."""
