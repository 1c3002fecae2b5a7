"""Commands that this distribution adds to the program."""
