"""What the guides show is what runs: their Python, block after block."""

import os
import re
import textwrap
from importlib.util import find_spec

import pytest
from conftest import ROOT

GUIDES = [name for name in ("torch", "jax") if find_spec(name)]


def blocks(text):
    pattern = re.compile(r"^( *)```python\n(.*?)^\1```$", re.M | re.S)
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        yield line, textwrap.dedent(match[2])


@pytest.mark.parametrize("name", GUIDES)
def test_guide(name, tmp_path, monkeypatch):
    path = ROOT / "docs" / f"linking-{name}.md"
    os.symlink(ROOT / "specs", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "guide"}
    found = list(blocks(path.read_text()))
    assert len(found) >= 4
    for line, code in found:
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), scope)
    loss = scope["loss"].item()
    assert loss < 4.155  # log(64) = 4.1589 at the beginning
