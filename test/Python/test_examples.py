"""The examples, on few steps and small sizes."""

import importlib
import json
import sys
from importlib.util import find_spec

import pytest
from conftest import ROOT

EXAMPLES = [f"{name}_gpt" for name in ("torch", "jax") if find_spec(name)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])
    example = importlib.import_module(name)
    sizes = {"steps": 20, "dim": 64, "layers": 1, "batch": 4, "length": 32}
    options = [f"--{key}={value}" for key, value in sizes.items()]
    curves = example.main([*options, f"--out={tmp_path}"])
    for losses in curves.values():
        assert losses[0] == pytest.approx(5.55, abs=0.1)  # log 256
        assert losses[-1] < 4.6
    assert json.loads((tmp_path / "losses.json").read_text()) == curves
    assert "<svg" in (tmp_path / "losses.svg").read_text()
