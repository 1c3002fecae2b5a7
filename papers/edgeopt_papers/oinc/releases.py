"""What training leaves of OINC's learners, and the fit of a setting."""

from edgeopt.studies.oinc.learners import INSERTION
from edgeopt_papers.oinc.figures.learning import CURVES
from edgeopt_papers.oinc.fit import FIT
from edgeopt_papers.releases import weights

RELEASES = (weights(INSERTION, "oinc", "insertion"), CURVES, FIT)
