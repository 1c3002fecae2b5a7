"""What takes long to compute of RESCUE's tables."""

from edgeopt_papers.rescue.held_out import HELD_OUT, JOINT

RELEASES = (HELD_OUT, JOINT)
