"""States move between steep-train and the torch wrapper: N + N steps are 2N."""

import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
import steep
import steep._checkpoint
import steep.torch
import torch
import torch.nn.functional as F
from conftest import ROOT
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(ROOT / "examples"))
from torch_gpt import GPT  # noqa: E402

N, BATCH, LENGTH, VOCABULARY, DIM = 4, 4, 16, 61, 64
SIZES = {"dim": DIM, "layers": 2, "vocab": VOCABULARY, "context": LENGTH}


@pytest.fixture
def tokens(tmp_path):
    """Shards of one batch: every step sees it."""
    count = BATCH * LENGTH + 1
    values = np.random.default_rng(1).integers(0, VOCABULARY, count).astype("<u2")
    header = struct.pack("<256i", 20240520, 1, count, *[0] * 253)
    (tmp_path / "data").mkdir()
    for name in ("train", "val"):
        path = tmp_path / "data" / f"{name}_000.bin"
        path.write_bytes(header + values.tobytes())
    return torch.from_numpy(values.astype(np.int64))


@pytest.fixture
def steep_train(tokens, tmp_path):
    program = steep.find_compiler().with_name("steep-train")

    def run(out, *options):
        command = [program, "--out", tmp_path / out, "--data", tmp_path / "data"]
        numbers = {**SIZES, "steps": 2 * N, "batch": BATCH, "val-every": 0}
        numbers |= {"diameter-every": 0, "hilbert-every": 0, "save-every": N}
        for name, value in numbers.items():
            command += [f"--{name}", str(value)]
        command += ["--spec", ROOT / "specs" / "paper.mlir", *options]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return lambda step: tmp_path / out / f"checkpoint-{step:08}"

    return run


def make_torch(dtype=torch.float32):
    torch.manual_seed(0)
    model = GPT(VOCABULARY, DIM, 2).to(dtype)
    spec = ROOT / "specs" / "paper.mlir"
    return model, steep.torch.Optimizer(model.named_parameters(), spec)


def train(model, optimizer, tokens, first, last):
    factor = optimizer.schedule(2 * N)
    peaks = [group["lr"] for group in optimizer.param_groups]
    inputs = tokens[:-1].reshape(BATCH, LENGTH)
    for step in range(first, last):
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = peak * factor(step)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs).flatten(0, 1), tokens[1:]).backward()
        optimizer.step()
    for group, peak in zip(optimizer.param_groups, peaks, strict=True):
        group["lr"] = peak


def assert_close(tensors, expected, tolerance=1e-4):
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        error = torch.linalg.norm(tensor - expected[name])
        scale = torch.linalg.norm(expected[name])
        assert error <= tolerance * scale, f"{name}: {error / scale:.2e}"


def save(model, optimizer, folder):
    folder.mkdir()
    save_file(model.state_dict(), folder / "model.safetensors")
    optimizer.save_safetensors(folder / "optimizer.safetensors")


def test_from_steep_train_to_torch(steep_train, tokens, tmp_path):
    checkpoint = steep_train("run")
    model, optimizer = make_torch()
    model.load_state_dict(load_file(checkpoint(N) / "model.safetensors"))
    optimizer.load_safetensors(checkpoint(N) / "optimizer.safetensors")
    save(model, optimizer, tmp_path / "same")
    for name in ("model.safetensors", "optimizer.safetensors"):
        again = load_file(tmp_path / "same" / name)
        expected = load_file(checkpoint(N) / name)
        assert again.keys() == expected.keys()
        assert all(torch.equal(again[key], expected[key]) for key in again)

    train(model, optimizer, tokens, N, 2 * N)
    save(model, optimizer, tmp_path / "end")
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert_close(
            load_file(tmp_path / "end" / name), load_file(checkpoint(2 * N) / name)
        )


def test_from_torch_to_steep_train(steep_train, tokens, tmp_path):
    model, optimizer = make_torch()
    save(model, optimizer, tmp_path / "begin")
    train(model, optimizer, tokens, 0, N)
    save(model, optimizer, tmp_path / "half")
    whole = steep_train("whole", "--start", tmp_path / "begin")
    rest = steep_train("rest", "--start", tmp_path / "half")
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert_close(load_file(rest(2 * N) / name), load_file(whole(2 * N) / name))


def test_bf16_weights_move_as_their_masters(steep_train, tmp_path):
    model, optimizer = make_torch(torch.bfloat16)
    for _ in range(N):
        for p in model.parameters():
            p.grad = 0.01 * torch.randn_like(p)
        optimizer.step()
    save(model, optimizer, tmp_path / "half")
    states = load_file(tmp_path / "half" / "optimizer.safetensors")
    masters = {name: states.pop(f"{name}.master") for name in model.state_dict()}
    assert load_file(tmp_path / "half" / "model.safetensors").keys() == masters.keys()

    # steep-train goes on from the masters.
    (tmp_path / "full").mkdir()
    save_file(masters, tmp_path / "full" / "model.safetensors")
    said = steep._checkpoint.conventions(optimizer)
    save_file(states, tmp_path / "full" / "optimizer.safetensors", said)
    ends = [
        steep_train(f"from-{name}", "--start", tmp_path / name)(2 * N)
        for name in ("half", "full")
    ]
    for name in ("model.safetensors", "optimizer.safetensors"):
        a, b = (load_file(end / name) for end in ends)
        assert a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)

    # And back: its weights are the masters.
    end = ends[0]
    trained = load_file(end / "model.safetensors")
    model, optimizer = make_torch(torch.bfloat16)
    model.load_state_dict(trained)
    path = end / "optimizer.safetensors"
    with pytest.raises(steep.SteepError, match="weight.master' is missing.*`masters`"):
        optimizer.load_safetensors(path)
    optimizer.load_safetensors(path, masters=end / "model.safetensors")
    for name, p in model.named_parameters():
        assert torch.equal(optimizer.state[p]["master"], trained[name])
        assert torch.equal(p, trained[name].bfloat16())
    save(model, optimizer, tmp_path / "again")
    again = load_file(tmp_path / "again" / "optimizer.safetensors")
    assert all(torch.equal(again[f"{k}.master"], t) for k, t in trained.items())
    assert all(torch.equal(again[k], t) for k, t in load_file(path).items())


def test_bf16_weights_without_masters_are_refused(steep_train, tmp_path):
    model, optimizer = make_torch()
    save(model.bfloat16(), optimizer, tmp_path / "half")
    path = tmp_path / "half" / "optimizer.safetensors"
    tensors = {k: t for k, t in load_file(path).items() if not k.endswith(".master")}
    save_file(tensors, path, steep._checkpoint.conventions(optimizer))
    message = "model.safetensors.*is BF16.*expected F32"
    with pytest.raises(AssertionError, match=message):
        steep_train("refused", "--start", tmp_path / "half")


def test_what_does_not_fit_is_refused(tmp_path):
    model, optimizer = make_torch()
    save(model, optimizer, tmp_path / "begin")
    path = tmp_path / "begin" / "optimizer.safetensors"
    tensors = load_file(path)

    def refuses(message, tensors, metadata):
        save_file(tensors, path, metadata)
        before = [t.clone() for s in optimizer.state.values() for t in s.values()]
        with pytest.raises(steep.SteepError, match=message):
            optimizer.load_safetensors(path)
        after = [t for s in optimizer.state.values() for t in s.values()]
        assert all(map(torch.equal, before, after))

    said = steep._checkpoint.conventions(optimizer)
    refuses("says None for 'embed.weight.exp_avg'", tensors, {})
    key = "convention.lm_head.weight.momentum_buffer"
    refuses("says sum for.*averages it as ema", tensors, {**said, key: "sum"})
    refuses("has no tensor 'x'", {**tensors, "x": torch.zeros(1)}, said)
    for count in (-3.0, 2.5, float("nan")):
        wrong = {**tensors, "lm_head.weight.step": torch.tensor(count)}
        refuses(f"optimizer.safetensors: 'lm_head.weight.step' is {count}", wrong, said)
    wrong = {**tensors, "lm_head.weight.step": torch.zeros(2)}
    refuses("'lm_head.weight.step' is", wrong, said)
    del tensors["lm_head.weight.step"]
    refuses("'lm_head.weight.step' is missing", tensors, said)
    shutil.rmtree(tmp_path / "begin")


def test_files_that_cannot_be_read_or_written(tmp_path):
    """One line that names the file, and nothing left beside it."""
    model, optimizer = make_torch()
    save(model, optimizer, tmp_path / "good")
    good = (tmp_path / "good" / "optimizer.safetensors").read_bytes()
    bad = tmp_path / "bad"
    bad.mkdir()
    contents = {
        "cut": good[:-100],
        "header": good[:50],
        "empty": b"",
        "text": b"x" * 99,
    }
    for name, content in contents.items():
        (bad / name).write_bytes(content)

    def refuses(message, function, *arguments, **options):
        with pytest.raises(steep.SteepError, match=message) as raised:
            function(*arguments, **options)
        assert "\n" not in str(raised.value)

    whole = tmp_path / "good" / "optimizer.safetensors"
    for name in [*contents, "none"]:
        message = f"^cannot read {bad / name}: "
        refuses(message, optimizer.load_safetensors, bad / name)
        refuses(message, optimizer.load_safetensors, whole, masters=bad / name)
    refuses(f"^cannot read {bad}: it is a f", optimizer.load_safetensors, bad)
    before = sorted(tmp_path.iterdir())
    refuses(f"^cannot write {bad}: it is a folder", optimizer.save_safetensors, bad)
    missing = tmp_path / "missing" / "x"
    message = f"^cannot write {missing}: there is no folder {missing.parent}$"
    refuses(message, optimizer.save_safetensors, missing)
    assert sorted(tmp_path.iterdir()) == before
