"""steep.compile: cache, and what it says where it cannot."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import steep

SHAPES = {"a": (8, 4), "b": (8, 4)}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "steep"


def entries(cache):
    return sorted(p.name for p in cache.iterdir() if p.is_dir())


def test_what_is_compiled_is_kept(cache, inputs, monkeypatch):
    first = steep.compile(inputs / "adamw.mlir", SHAPES)
    assert [p.name for p in first.parameters] == ["a", "b"]
    assert first.parameters[0].states[0].name == "exp_avg"
    assert len(entries(cache)) == 1
    text = (inputs / "adamw.mlir").read_text()
    assert steep.compile(text, SHAPES).folder == first.folder
    other = steep.compile(text, {"a": (8, 4)})
    assert other.folder != first.folder and len(entries(cache)) == 2


def test_a_damaged_entry_is_made_again(cache, inputs):
    folder = steep.compile(inputs / "adamw.mlir", SHAPES).folder
    library = folder / "libtorch_adamw.so"
    library.unlink()
    assert steep.compile(inputs / "adamw.mlir", SHAPES).folder == folder
    assert library.exists()


def test_two_processes_compile_once(cache, inputs):
    program = (
        "import steep, sys; print(steep.compile(sys.argv[1], {'a': (8, 4)}).folder)"
    )
    command = [sys.executable, "-c", program, str(inputs / "adamw.mlir")]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    folders = {run.communicate()[0] for run in runs}
    assert len(folders) == 1 and [run.returncode for run in runs] == [0, 0]
    assert len(entries(cache)) == 1


def test_steepc_has_the_word(cache, specs, inputs):
    with pytest.raises(steep.SteepError, match=r"'c' is matched by no group"):
        steep.compile(specs / "paper.mlir", {"c": (8, 4)})
    with pytest.raises(steep.SteepError, match=r"^cannot compile spec.mlir: .*error"):
        steep.compile("optim.spec\n", SHAPES)
    with pytest.raises(steep.SteepError, match="no.mlir: No such file"):
        steep.compile("no.mlir", SHAPES)
    assert entries(cache) == []


def test_no_steepc(cache, inputs, monkeypatch):
    monkeypatch.setenv("STEEPC", "/nowhere/steepc")
    with pytest.raises(steep.SteepError, match="STEEPC is '/nowhere/steepc'"):
        steep.compile(inputs / "adamw.mlir", SHAPES)
    program = cache.parent / "killed"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv("STEEPC", str(program))
    with pytest.raises(steep.SteepError, match="ended by signal 9"):
        steep.compile(inputs / "adamw.mlir", SHAPES)
    for text, message in (
        ("#!/bin/sh\n", "killed wrote nothing; is it a steepc"),
        ("#!/nowhere/sh\n", "cannot run .*killed: .*STEEPC"),
    ):
        program.write_text(text)
        with pytest.raises(steep.SteepError, match=message):
            steep.compile(inputs / "adamw.mlir", SHAPES)
    assert entries(cache) == []
    os.chmod(program, 0o644)
    with pytest.raises(steep.SteepError, match="STEEPC is.*it is not executable"):
        steep.compile(inputs / "adamw.mlir", SHAPES)


def test_the_schedule_of_the_spec(specs):
    shapes = {"blocks.0.w": (8, 8), "embed.weight": (8, 8), "lm_head.weight": (8, 8)}
    factor = steep.compile(specs / "paper.mlir", shapes).schedule(20)
    assert [factor(t) for t in (0, 1, 2)] == [0.0, 0.5, 1.0]
    assert factor(19) == pytest.approx(0.1)
    assert pickle.loads(pickle.dumps(factor)) == factor


@pytest.mark.parametrize("total", [0, -5, "20", 1.5, None, True])
def test_schedules_of_no_length(inputs, total):
    artefact = steep.compile(inputs / "adamw.mlir", SHAPES)
    with pytest.raises(steep.SteepError, match="total is .*whole number of steps"):
        artefact.schedule(total)


def test_text_and_paths(cache, inputs, tmp_path):
    """A str that has a line break or `optim.spec` is text, a Path never is."""
    line = "optim.spec @wrong {"
    with pytest.raises(steep.SteepError, match=r"^cannot compile spec.mlir: .*error"):
        steep.compile(line, SHAPES)
    with pytest.raises(steep.SteepError, match="cannot read the spec optim.spec @w"):
        steep.compile(Path(line), SHAPES)
    for spec in (None, 3, ["a"]):
        with pytest.raises(steep.SteepError, match=f"spec is {type(spec).__name__}: "):
            steep.compile(spec, SHAPES)
    with pytest.raises(steep.SteepError, match="cannot read the spec .*: Is a dir"):
        steep.compile(tmp_path, SHAPES)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(steep.SteepError, match="bytes: it is not text"):
        steep.compile(tmp_path / "bytes", SHAPES)


def test_a_cache_that_cannot_be(cache, inputs, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(steep.SteepError, match="keep.*file/steep.*XDG_CACHE_HOME"):
        steep.compile(inputs / "adamw.mlir", SHAPES)
