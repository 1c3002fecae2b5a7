"""The paper of OINC."""
