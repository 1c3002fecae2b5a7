"""What the claims of all papers share, and what is stored of them."""

from edgeopt_papers.claims.errata import Erratum, errata
from edgeopt_papers.claims.stored import StoredVerdicts, stored_verdicts

__all__ = ["Erratum", "StoredVerdicts", "errata", "stored_verdicts"]
