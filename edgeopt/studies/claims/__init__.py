"""Claims as people read them: rows of a study's page, and all of them checked, with their page."""
