"""Pages that need nothing else: the study's own, and what pages of claims and figures share."""
