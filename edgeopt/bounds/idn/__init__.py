"""The statements about INFIDA as claims."""
