"""The paper of RESCUE."""
