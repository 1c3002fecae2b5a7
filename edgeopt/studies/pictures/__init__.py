"""Pictures that every system can use; matplotlib is imported when one is drawn."""
