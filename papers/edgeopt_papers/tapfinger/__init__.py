"""The paper of TapFinger."""
