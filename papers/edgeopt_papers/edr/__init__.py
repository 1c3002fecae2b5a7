"""The paper of EDR."""
