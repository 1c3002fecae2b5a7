"""Learnt schedulers of TapFinger: the network, in NumPy, and its training, in PyTorch.

The scheduler needs no PyTorch. The modules ``tensors``, ``imitation``, ``mappo`` and ``training``
do, the extra ``rl``.
"""

from __future__ import annotations

from edgeopt.learning.tapfinger.scheduler import LearnedScheduler

__all__ = ["LearnedScheduler"]
