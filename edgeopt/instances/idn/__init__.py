"""Inference delivery networks: the data of IDN."""
