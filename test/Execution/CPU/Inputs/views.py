"""views.py SPECS WORK: stacks, strides, BF16, masters and deltas of an artefact."""

import array
import ctypes as c
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from artefact import *

specs, work = sys.argv[1:]
LAYERS, ROWS, COLUMNS = 3, 12, 9
RULES = ["muon", "adamw", "rownorm", "normuon"]


# --- three artefacts: every rule on a stack, on matrices side by side, and on one --


def spec(structure):
    """Rules of paper.mlir and of normuon.mlir, each on a group of its own."""

    def rules(name, *wanted):
        with open(os.path.join(specs, name)) as file:
            parts = file.read().split("\noptim.rule @")[1:]
        found = {part[: part.index("(")]: "optim.rule @" + part for part in parts}
        return [found[each] for each in wanted]

    paper = rules("paper.mlir", "muon", "adamw", "rownorm")
    normuon = rules("normuon.mlir", "spectral")[0].replace("@spectral", "@normuon", 1)
    groups = "".join(
        f'  optim.group @{rule} ["{rule}*"] uses @{rule} lr 1.0e-2 wd 0.1{structure}\n'
        for rule in RULES
    )
    head = f"optim.spec @views clip(#optim.global_norm<1.0>) {{\n{groups}}}\n"
    return "\n".join([head, *paper, normuon])


def build(name, structure, shapes):
    path = os.path.join(work, name)
    with open(path + ".mlir", "w") as file:
        file.write(spec(structure))
    tensors = [{"name": n, "shape": s, "dtype": "F32"} for n, s in shapes.items()]
    with open(path + ".json", "w") as file:
        json.dump({"tensors": tensors}, file)
    command = ["steepc", path + ".mlir", "--params", path + ".json", "-o", path]
    subprocess.run(command, check=True, timeout=300)
    return path


stacks = build("stacks", " stacked", {rule: [LAYERS, ROWS, COLUMNS] for rule in RULES})
beside = build(
    "beside",
    f" per_head {COLUMNS} axis 1",
    {rule: [ROWS, LAYERS * COLUMNS] for rule in RULES},
)
single = build(
    "single",
    "",
    {f"{rule}.{i}": [ROWS, COLUMNS] for rule in RULES for i in range(LAYERS)},
)


# --- tensors that lie anyhow ----------------------------------------------------


def round_to_bf16(values):
    """The bits, to nearest, ties to even."""
    bits = array.array("I", array.array("f", values).tobytes())
    return [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits]


def widen(halves):
    return array.array("f", array.array("I", [h << 16 for h in halves]).tobytes())


class View:
    """A tensor of any rank; `order` are its dimensions from the outermost in memory."""

    FILL = {False: 0x5A5A5A5A, True: 0x5A5A}

    def __init__(self, shape, generator=None, bf16=False):
        self.bf16, rank = bf16, len(shape)
        order, gaps, step, first = list(range(rank)), [0] * rank, 1, 0
        if generator:
            generator.shuffle(order)
            gaps = [generator.choice([0, 0, 3]) for _ in shape]
            step, first = generator.choice([1, 1, 2]), generator.choice([0, 5])
        strides, reach = [0] * rank, step
        for d, gap in zip(reversed(order), gaps):
            strides[d] = reach
            reach = reach * shape[d] + gap
        self.places = [first]
        for size, stride in zip(shape, strides):
            self.places = [p + i * stride for p in self.places for i in range(size)]
        fill = self.FILL[bf16]
        self.memory = array.array("H" if bf16 else "I", [fill] * (reach + first))
        self.shape = (c.c_int64 * rank)(*shape)
        self.strides = (c.c_int64 * rank)(*strides) if generator else None
        size = self.memory.itemsize
        self.tensor = DLTensor(
            self.memory.buffer_info()[0],
            DLDevice(1, 0),
            rank,
            DLDataType(4, 16, 1) if bf16 else DLDataType(2, 32, 1),
            self.shape,
            self.strides,
            first * size,
        )
        self.set([0.0] * len(self.places))

    def set(self, values):
        bits = array.array("I", array.array("f", values).tobytes())
        for place, value in zip(self.places, round_to_bf16(values) if self.bf16 else bits):
            self.memory[place] = value

    def bits(self):
        return [self.memory[p] for p in self.places]

    def values(self):
        bits = self.bits()
        if self.bf16:
            return widen(bits)
        return array.array("f", array.array("I", bits).tobytes())

    def rounded(self, values):
        """The bits that this tensor has of FP32 values."""
        if self.bf16:
            return round_to_bf16(values)
        return list(array.array("I", array.array("f", values).tobytes()))

    def keeps_gaps(self):
        fill, inside = self.FILL[self.bf16], set(self.places)
        return all(
            v == fill for i, v in enumerate(self.memory) if i not in inside
        )


class Run(Artefact):
    """An artefact whose tensors are views: dense FP32, or as `generator` has them."""

    def __init__(self, folder, generator=None, updates=True, delta=False):
        self.generator = generator
        self.delta, self.want_updates = delta, updates or delta
        super().__init__(folder)
        self.reserve()

    def make_tensors(self, offset):
        generator = self.generator

        def views(shapes, may_be_bf16):
            return [
                View(s, generator, bool(generator and may_be_bf16 and generator.random() < 0.5))
                for s in shapes
            ]

        shapes = [p["shape"] for p in self.parameters]
        self.weights, self.gradients = views(shapes, True), views(shapes, True)
        self.updates = views(shapes, True)
        self.states = views([s["shape"] for p in self.parameters for s in p["states"]], False)
        self.masters = [
            View(s, generator) if w.bf16 else None for s, w in zip(shapes, self.weights)
        ]

    def reserve(self):
        """Exactly the workspace that plan asks for these tensors."""
        bindings = (Binding * len(self.parameters))()
        self.keep = []
        first = 0
        for i, (binding, p) in enumerate(zip(bindings, self.parameters)):
            states = self.states[first : first + len(p["states"])]
            first += len(states)
            binding.struct_size = c.sizeof(Binding)
            binding.name = p["name"].encode()
            binding.parameter = c.pointer(self.weights[i].tensor)
            binding.gradient = c.pointer(self.gradients[i].tensor)
            if self.masters[i]:
                binding.master = c.pointer(self.masters[i].tensor)
            if self.want_updates:
                binding.update = c.pointer(self.updates[i].tensor)
            binding.states = self.table(states)
        plan = PlanStruct12(c.sizeof(PlanStruct12))
        plan.bindings, plan.binding_count = bindings, len(bindings)
        plan.step_flags = int(self.delta)
        plan.message = c.cast(self.message, c.c_char_p)
        plan.message_bytes = len(self.message)
        code = self.entry("plan")(c.byref(plan))
        assert code == OK, self.message.value
        assert [b.index for b in bindings] == list(range(len(bindings)))
        self.plan = plan
        self.memory = (c.c_char * (plan.workspace_bytes + 64))()
        base = c.addressof(self.memory)
        self.workspace = base + -base % 64

    def arguments(self, **options):
        old = super().arguments(updates=self.want_updates, **options)
        new = Arguments12()
        c.memmove(c.byref(new), c.byref(old), c.sizeof(old))
        new.struct_size = c.sizeof(new)
        new.flags = int(self.delta)
        new.masters = self.table(self.masters)
        return new

    def fill(self, seed, first=True):
        """Values that BF16 holds where some run has them in BF16."""
        generator = random.Random(seed)
        for i, w in enumerate(self.weights):
            values = [generator.gauss(0, 0.1) for _ in w.places]
            if first:
                halves = widen(round_to_bf16(values))
                w.set(halves)
                if self.masters[i]:
                    self.masters[i].set(halves)
        for g in self.gradients:
            g.set(widen(round_to_bf16([generator.gauss(0, 1) for _ in g.places])))

    def full_weights(self):
        return [m or w for m, w in zip(self.masters, self.weights)]

    def everything(self):
        tensors = self.weights + self.states + self.gradients
        return [t.bits() for t in tensors + [m for m in self.masters if m]]


# --- a stack is its matrices ----------------------------------------------------

whole, apart = Run(stacks), Run(single)


def pairs(a, b):
    """(tensor of the stack, those of its matrices)"""
    return [(t, b[i * LAYERS : (i + 1) * LAYERS]) for i, t in enumerate(a)]


def pairs_of_states():
    first, found = 0, []
    for i, p in enumerate(whole.parameters):
        count = len(p["states"])
        for k in range(count):
            parts = [apart.states[(first + 0) * LAYERS + j * count + k] for j in range(LAYERS)]
            found.append((whole.states[first + k], parts))
        first += count
    return found


generator = random.Random(1)
for step in range(1, 4):
    for kind, scale in (("weights", 0.1), ("gradients", 1e-3)):
        for t, parts in pairs(getattr(whole, kind), getattr(apart, kind)):
            if kind == "weights" and step > 1:
                continue
            values = [generator.gauss(0, scale) for _ in t.places]
            t.set(values)
            for j, part in enumerate(parts):
                part.set(values[j * ROWS * COLUMNS : (j + 1) * ROWS * COLUMNS])
    reports = [run.step(step=step) for run in (whole, apart)]
    # Norms are added up in another order, so nothing may be clipped here.
    assert all(r.clip_factor == 1 for r in reports)
    for t, parts in (
        pairs(whole.weights, apart.weights)
        + pairs(whole.updates, apart.updates)
        + pairs_of_states()
    ):
        assert t.bits() == [b for part in parts for b in part.bits()]
        assert any(t.bits())
print("a stack is its matrices")


# --- any layout and type --------------------------------------------------------


def compare(odd, plain, before):
    for w, m, p, old in zip(odd.weights, odd.masters, plain.weights, before):
        fresh = p.values()
        if odd.delta:
            assert w.bits() == w.rounded(old) and (not m or m.bits() == m.rounded(old))
        else:
            assert (m or w).bits() == p.bits() and w.bits() == w.rounded(fresh)
    for u, p, w, old in zip(odd.updates, plain.updates, plain.weights, before):
        if odd.delta:
            # Both are FP32, so that the difference is rounded once to FP32.
            wanted = [x - y for x, y in zip(w.values(), old)]
            assert u.bits() == u.rounded(wanted)
        elif odd.want_updates:
            assert u.bits() == u.rounded(p.values())
    for s, p in zip(odd.states, plain.states):
        assert s.bits() == p.bits()
    views = odd.weights + odd.gradients + odd.updates + odd.states
    assert all(v.keeps_gaps() for v in views + [m for m in odd.masters if m])


def run_rounds(delta):
    steps = 0
    for round in range(9):
        generator = random.Random(100 + round)
        folder = (stacks, single, beside)[round % 3]
        odd = Run(folder, generator, updates=round % 4 < 2, delta=delta)
        plain = Run(folder)
        pool = odd.entry("pool_create")(2) if round % 2 else None
        for step in range(1, 3 if delta else 4):
            for run in (odd, plain):
                run.fill(1000 * round + step, first=step == 1)
            before = [w.values() for w in plain.weights]
            reports = [odd.step(step=step, pool=pool), plain.step(step=step)]
            assert reports[0].grad_norm == reports[1].grad_norm
            assert reports[0].clip_factor == reports[1].clip_factor < 1
            compare(odd, plain, before)
            if delta:  # so that both take the next step from the same weights
                for p, old in zip(plain.weights, before):
                    p.set(old)
            steps += 1
        if pool:
            odd.entry("pool_destroy")(pool)
    return steps


print(f"any layout and type: {run_rounds(False)} steps")
print(f"a delta is the difference, and weights stay: {run_rounds(True)} steps")


# --- scalars, and gradients that are not finite ----------------------------------

values, pointers = Run(stacks), Run(stacks, random.Random(7))
for run in (values, pointers):
    run.fill(5)
values.step(lr={r: 0.03125 for r in RULES}, wd={r: 0.25 for r in RULES}, grad_scale=0.5)
arguments = pointers.arguments()
numbers = (c.c_float * 3)(0.03125, 0.25, 0.5)


def point(scalar, index):
    scalar.value, scalar.flags = 1e30, 1
    scalar.pointer = c.cast(c.byref(numbers, 4 * index), c.POINTER(c.c_float))


for i in range(len(RULES)):
    point(arguments.lr[i], 0)
    point(arguments.wd[i], 1)
point(arguments.grad_scale, 2)
assert pointers.call("step", arguments) == OK, pointers.said
for a, b in zip(pointers.full_weights() + pointers.states, values.weights + values.states):
    assert a.bits() == b.bits()
print("scalars by pointer")

for delta in (False, True):
    for seed in range(4):
        run = Run(stacks, random.Random(20 + seed), delta=delta)
        run.fill(6)
        g = run.gradients[seed % len(RULES)]
        g.memory[g.places[-1]] = 0x7F80 if g.bf16 else 0x7FC00001
        before = run.everything(), [u.bits() for u in run.updates]
        arguments = run.arguments()
        assert run.call("step", arguments) == SKIPPED, run.said
        assert arguments.nonfinite_parameter == seed % len(RULES)
        assert f'gradient of "{RULES[seed % len(RULES)]}" is not finite' in run.said
        assert before == (run.everything(), [u.bits() for u in run.updates])
print("what is not finite is skipped")
