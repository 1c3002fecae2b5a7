"""Hypothesis strategies that draw small instances, linear programs, fractions and scenarios.

Everything is drawn from whole numbers and simple fractions, so that examples shrink to few entities
and ties are frequent. Arguments are the largest sizes.
"""

import importlib.util

from edgeopt.errors import MissingDependencyError

if importlib.util.find_spec("hypothesis") is None:
    raise MissingDependencyError(
        'edgeopt.testing.strategies needs hypothesis: pip install "edgeopt[testing]"'
    )

from edgeopt.testing.strategies.basic import fractions_to_round, linear_programs, scenarios
from edgeopt.testing.strategies.edr import edr_instances
from edgeopt.testing.strategies.idn import idn_instances
from edgeopt.testing.strategies.oinc import oinc_instances
from edgeopt.testing.strategies.rescue import rescue_instances
from edgeopt.testing.strategies.tapfinger import tapfinger_instances

__all__ = [
    "edr_instances",
    "fractions_to_round",
    "idn_instances",
    "linear_programs",
    "oinc_instances",
    "rescue_instances",
    "scenarios",
    "tapfinger_instances",
]
