"""The figures and tables of TapFinger's evaluation, and those before it that show measurements."""

from __future__ import annotations

from edgeopt.studies.tapfinger.exhibits.contrived import CONTRIVED
from edgeopt.studies.tapfinger.exhibits.overhead import OVERHEAD
from edgeopt.studies.tapfinger.exhibits.rates import RATES
from edgeopt.studies.tapfinger.exhibits.sensitivity import SENSITIVITY
from edgeopt.studies.tapfinger.exhibits.synthetic import (
    ABLATIONS,
    SEVERAL,
    SIX_CLUSTERS,
    THREE,
    VANILLA,
)
from edgeopt.studies.tapfinger.exhibits.tasks import TASKS
from edgeopt.studies.tapfinger.exhibits.testbed import CONTAINERS, LONG, SERVERS

__all__ = ["EXHIBITS"]

EXHIBITS = (
    SENSITIVITY,
    CONTRIVED,
    TASKS,
    THREE,
    SIX_CLUSTERS,
    RATES,
    OVERHEAD,
    VANILLA,
    *SERVERS,
    LONG,
    *SEVERAL,
    *ABLATIONS,
    CONTAINERS,
)
"""In the order of the paper."""
