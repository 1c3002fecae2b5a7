"""Live use: a policy answers events one by one, and a log restores it after a crash.

A session connects a policy to a desk, which takes the events of a system and keeps its books.
"""

from __future__ import annotations

from edgeopt.online.session.episodes import EpisodeDesk
from edgeopt.online.session.rescue import RescueDesk
from edgeopt.online.session.rolling_horizon import rolled
from edgeopt.online.session.scenario import durations_seen, scenario_of
from edgeopt.online.session.session import Session

__all__ = [
    "EpisodeDesk",
    "RescueDesk",
    "Session",
    "durations_seen",
    "rolled",
    "scenario_of",
]
