"""Steep: compiled optimizers.

    artefact = steep.compile("specs/paper.mlir", {"lm_head.weight": (50257, 512), ...})

`steep.torch.Optimizer` and `steep.optax.transform` put one into a trainer; they are
imported on their own, since each needs its framework.
"""

from ._artefact import Artefact, Group, Parameter, Report, State, Stepper
from ._compile import compile, find_compiler
from ._error import SteepError

__all__ = [
    "Artefact",
    "Group",
    "Parameter",
    "Report",
    "State",
    "SteepError",
    "Stepper",
    "compile",
    "find_compiler",
]
