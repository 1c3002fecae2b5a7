"""Pictures that every system can use; matplotlib is imported only when something is drawn."""
