"""A text stream that ends in the logger, for solvers that can only print."""

from __future__ import annotations

import io
import logging

__all__ = ["LogStream"]

logger = logging.getLogger("edgeopt.solvers")


class LogStream(io.TextIOBase):
    """Passes every line written to it to the logger ``edgeopt.solvers``, level INFO."""

    def __init__(self) -> None:
        self._pending = ""

    def writable(self) -> bool:
        """Return True: that is all it is for."""
        return True

    def write(self, text: str) -> int:
        """Log the complete lines and keep the rest for later."""
        *lines, self._pending = (self._pending + text).split("\n")
        for line in lines:
            if line.strip():
                logger.info("%s", line)
        return len(text)
