"""What an allocation of models earns in an inference delivery network, and the best one."""
