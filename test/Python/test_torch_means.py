"""Mean rows of states, which steps compute where they are zeros, in what is saved."""

import copy

import pytest
import steep.torch
import torch
from safetensors import safe_open
from safetensors.torch import save_file

MEAN = "momentum_buffer_mean"


def make(spec):
    generator = torch.Generator().manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(40, 24, generator=generator))
    return weight, steep.torch.Optimizer([("w", weight)], spec)


def run(weight, optimizer, first, last):
    for step in range(first, last):
        generator = torch.Generator().manual_seed(step)
        weight.grad = torch.randn(weight.shape, generator=generator) + 1
        optimizer.step()


def resume(spec, weight, load, last):
    """A fresh optimizer that goes on from step 3."""
    again, optimizer = make(spec)
    with torch.no_grad():
        again.copy_(weight)
    load(optimizer)
    run(again, optimizer, 3, last)
    return again, optimizer


def test_state_dicts(inputs):
    spec = inputs / "projected.mlir"
    weight, optimizer = make(spec)
    run(weight, optimizer, 0, 3)
    saved, start = copy.deepcopy(optimizer.state_dict()), weight.detach().clone()
    row = saved["state"][0][MEAN].clone()
    assert row.shape == (1, 24)
    assert "mean" not in str(saved["param_groups"][0]["conventions"])
    average = saved["state"][0]["momentum_buffer"].mean(0)
    torch.testing.assert_close(row[0], average, rtol=1e-5, atol=1e-7)
    run(weight, optimizer, 3, 6)

    same, _ = resume(spec, start, lambda o: o.load_state_dict(copy.deepcopy(saved)), 6)
    assert torch.equal(same, weight)
    without = {k: v for k, v in saved["state"][0].items() if k != MEAN}
    bare = {**saved, "state": {0: copy.deepcopy(without)}}
    other, loaded = resume(spec, start, lambda o: o.load_state_dict(bare), 6)
    torch.testing.assert_close(other, weight, rtol=0, atol=1e-6)
    assert loaded.state[other][MEAN].any()


def test_another_artefacts_row_is_left_out(inputs, tmp_path):
    text = (inputs / "projected.mlir").read_text()
    plain = tmp_path / "plain.mlir"
    plain.write_text(
        text.replace(
            "lr 1.0e-2", "lr 1.0e-2 facts(#geo.zero_column_sum, #geo.shift_invariant)"
        )
    )
    weight, optimizer = make(inputs / "projected.mlir")
    run(weight, optimizer, 0, 3)
    other, fewer = make(plain)
    fewer.load_state_dict(optimizer.state_dict())
    run(other, fewer, 3, 4)
    assert set(fewer.state[other]) == {"step", "momentum_buffer"}


def test_safetensors(inputs, tmp_path):
    spec = inputs / "projected.mlir"
    weight, optimizer = make(spec)
    run(weight, optimizer, 0, 3)
    start = weight.detach().clone()
    whole, bare = tmp_path / "whole.safetensors", tmp_path / "bare.safetensors"
    optimizer.save_safetensors(whole)
    with safe_open(whole, framework="pt") as file:
        metadata = file.metadata()
        tensors = {key: file.get_tensor(key) for key in file.keys()}
    assert metadata[f"convention.w.{MEAN}"] == "mean"
    del tensors[f"w.{MEAN}"], metadata[f"convention.w.{MEAN}"]
    save_file(tensors, bare, metadata=metadata)

    run(weight, optimizer, 3, 6)
    same, _ = resume(spec, start, lambda o: o.load_safetensors(whole), 6)
    assert torch.equal(same, weight)
    other, _ = resume(spec, start, lambda o: o.load_safetensors(bare), 6)
    torch.testing.assert_close(other, weight, rtol=0, atol=1e-6)


@pytest.mark.parametrize("how", ["replaced", "in place", "with its row"])
def test_averages_by_hand(inputs, how):
    spec = inputs / "projected.mlir"
    weight, optimizer = make(spec)
    run(weight, optimizer, 0, 3)
    other = torch.randn(weight.shape, generator=torch.Generator().manual_seed(9)) + 2
    state, start = optimizer.state[weight], weight.detach().clone()
    if how == "replaced":
        state["momentum_buffer"] = other.clone()
    else:
        state["momentum_buffer"].copy_(other)
    if how == "with its row":
        state[MEAN].copy_(other.mean(0, keepdim=True))
    expected = copy.deepcopy(optimizer.state_dict())
    expected["state"][0][MEAN].zero_()
    run(weight, optimizer, 3, 6)

    same, _ = resume(spec, start, lambda o: o.load_state_dict(expected), 6)
    if how == "with its row":
        torch.testing.assert_close(same, weight, rtol=0, atol=1e-6)
    else:
        assert torch.equal(same, weight)
