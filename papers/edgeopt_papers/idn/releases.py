"""What takes long to compute of IDN's tables."""

from edgeopt_papers.idn.held_out import PORTFOLIO

RELEASES = (PORTFOLIO,)
