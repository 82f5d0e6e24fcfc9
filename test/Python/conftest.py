"""What the tests share: where specs are, and a cache of compiled specs."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A framework that is not there has no tests.
collect_ignore_glob = [
    *([] if find_spec("torch") else ["*torch*"]),
    *([] if find_spec("jax") else ["*optax*", "*jax*"]),
]


@pytest.fixture
def specs() -> Path:
    return ROOT / "specs"


@pytest.fixture
def inputs() -> Path:
    return ROOT / "test" / "Python" / "Inputs"
