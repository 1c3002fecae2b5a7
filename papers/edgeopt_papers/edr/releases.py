"""What training leaves of EDR's learners."""

from edgeopt.studies.edr.learners import NETWORKS
from edgeopt_papers.edr.learners import TABLE
from edgeopt_papers.edr.losses import LOSSES
from edgeopt_papers.releases import weights

RELEASES = (LOSSES, *(weights(path, "edr", path.stem) for path in NETWORKS), TABLE)
