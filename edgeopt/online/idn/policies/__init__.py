"""Policies of IDN."""
