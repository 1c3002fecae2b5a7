"""What policies share that decide by their options and what they know at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from edgeopt.online.naming import named

if TYPE_CHECKING:
    from edgeopt.online.tapfinger.events import Decision, Outcome, Round

__all__ = ["Settled"]


class Settled:
    """A policy, a dataclass of its options, that learns nothing from what its rounds come to."""

    title: ClassVar[str]
    """How it is called where no option is changed."""

    @property
    def name(self) -> str:
        """Title, and the options that are not default."""
        return named(self.title, self)  # type: ignore[arg-type]

    def learn(self, state: Any, observation: Round, decision: Decision, feedback: Outcome) -> Any:
        """Return the state: nothing is learnt."""
        return state
