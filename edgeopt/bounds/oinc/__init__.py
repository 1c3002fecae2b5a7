"""OINC: inference each second, retraining beside it."""
