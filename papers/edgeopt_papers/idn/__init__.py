"""The paper of IDN."""
