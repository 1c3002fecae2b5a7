"""Learning of policies: checkpoints, training, replay, advantages, and the usual updates.

A learner of a system, in the folder of that system, has networks of its own and says what an update
and an evaluation is; :func:`train` repeats updates, evaluates on seeds kept apart, and keeps what
is needed to go on after a stop. What is learnt is a :class:`Checkpoint`, arrays and a record, with
which a policy runs in NumPy alone.

The module :mod:`edgeopt.learning.networks` needs PyTorch, the extra ``rl``, as do those that train
in the folders of systems; nothing else here does.
"""

from __future__ import annotations

from edgeopt.learning.arrays import advantages, layer_norm, masked_softmax, perceptron
from edgeopt.learning.checkpoint import Checkpoint
from edgeopt.learning.replay import ReplayBuffer
from edgeopt.learning.training import Learner, Training, train

__all__ = [
    "Checkpoint",
    "Learner",
    "ReplayBuffer",
    "Training",
    "advantages",
    "layer_norm",
    "masked_softmax",
    "perceptron",
    "train",
]
