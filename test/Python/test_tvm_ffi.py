"""The same shared library through tvm-ffi, on arrays of any framework."""

import json

import numpy
import pytest
import steep

tvm_ffi = pytest.importorskip("tvm_ffi")

SHAPES = {
    "embed.weight": (20, 16),
    "blocks.0.attn.q.weight": (16, 16),
    "lm_head.weight": (20, 16),
}


class Run:
    """One artefact, with tensors that `make` makes of numpy's."""

    def __init__(self, compiled, make):
        self.name = compiled.name
        self.module = tvm_ffi.load_module(
            str(compiled.folder / f"lib{compiled.name}.so")
        )
        self.manifest = json.loads(self.call("manifest"))
        random = numpy.random.default_rng(5)
        parameters = self.manifest["parameters"]

        def normal(shape):
            return random.standard_normal(shape).astype("f")

        self.params = [make(normal(p["shape"])) for p in parameters]
        self.grads = [make(normal(p["shape"])) for p in parameters]
        self.states = [
            make(numpy.zeros(s["shape"], "f")) for p in parameters for s in p["states"]
        ]
        self.report = make(numpy.zeros(3))
        bytes_ = self.call("plan", self.params, self.grads, self.states)
        self.workspace = make(numpy.zeros(bytes_, "u1"))

    def call(self, function, *arguments):
        return self.module[f"steep_{self.name}_{function}"](*arguments)

    def step(self, pool=None):
        groups = self.manifest["groups"]
        return self.call(
            "step",
            self.params,
            self.grads,
            self.states,
            [g["lr"] for g in groups],
            [g["wd"] for g in groups],
            1.0,
            1,
            self.workspace,
            pool,
            None,
            None,
            False,
            self.report,
        )

    def bits(self):
        return [numpy.asarray(t).tobytes() for t in self.params + self.states]


@pytest.fixture(scope="module")
def compiled():
    from pathlib import Path

    specs = Path(__file__).resolve().parents[2] / "specs"
    return steep.compile(specs / "paper.mlir", SHAPES)


def make_torch(array):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(array.copy())


def make_jax(array):
    jax = pytest.importorskip("jax")
    if array.dtype == numpy.float64:
        return array
    return jax.numpy.array(array)


@pytest.fixture(scope="module")
def expected(compiled):
    run = Run(compiled, lambda array: array)
    before = run.bits()
    assert run.step() == 0
    changed = [a != b for a, b in zip(before, run.bits(), strict=True)]
    assert all(changed), "something was copied"
    assert run.report[0] > 0 and 0 < run.report[1] < 1 and run.report[2] == -1
    return run.bits()


@pytest.mark.parametrize("make", [make_torch, make_jax])
def test_arrays_of_any_framework_give_the_same_bits(compiled, expected, make):
    run = Run(compiled, make)
    pool = run.call("pool_create", 2)
    assert run.step(pool) == 0
    run.call("pool_destroy", pool)
    assert run.bits() == expected


def test_a_gradient_that_is_not_finite_changes_nothing(compiled):
    run = Run(compiled, lambda array: array)
    run.grads[1][3, 2] = numpy.inf
    before = run.bits()
    assert run.step() == 1
    assert run.report[2] == 1 and run.bits() == before


def test_refusals_name_the_argument(compiled):
    run = Run(compiled, lambda array: array)
    run.params[0] = numpy.zeros((20, 17), "f")
    message = 'parameter "embed.weight": expected shape 20x16, got 20x17'
    with pytest.raises(ValueError, match=message):
        run.step()
    run.params.pop()
    with pytest.raises(ValueError, match="params: expected 3 tensors, got 2"):
        run.step()
    with pytest.raises(TypeError, match="step: expected 8 to 13 arguments, got 1"):
        run.call("step", [])
    with pytest.raises(ValueError, match="threads: expected 1 to 1024"):
        run.call("pool_create", 0)


def test_metadata_is_a_type(compiled):
    run = Run(compiled, lambda array: array)
    for function in ("plan", "step", "manifest", "pool_create", "pool_destroy"):
        metadata = run.module.get_function_metadata(f"steep_{run.name}_{function}")
        schema = tvm_ffi.core.TypeSchema.from_json_str(metadata["type_schema"])
        assert schema.origin == "Callable"
