"""How much CPU is kept for jobs."""
