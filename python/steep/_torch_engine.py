"""What steps the parameters of a torch optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from . import _parameters
from ._artefact import Report, Stepper, is_count

if TYPE_CHECKING:
    from .torch import Optimizer


class _MeanRow:
    """The mean row of an average. A step believes it unless it is zeros, so zeros it
    becomes where somebody else wrote to the average or put another in its place."""

    def __init__(self, average: torch.Tensor, row: torch.Tensor):
        self.average, self.row = average, row
        self.versions = self._versions()

    def _versions(self) -> list[int]:
        # Steps write through pointers, which PyTorch does not see and count.
        both = (self.average, self.row)
        return [0 if t.is_inference() else t._version for t in both]

    def look(self, average: torch.Tensor) -> None:
        versions = self._versions()
        if average is self.average and versions == self.versions:
            return
        is_changed = average is not self.average or versions[0] != self.versions[0]
        if is_changed and versions[1] == self.versions[1]:
            self.row.zero_()
        self.average = average
        self.versions = self._versions()


class _Checked(NamedTuple):
    """A parameter's states that may be pointed at, while they stay what they are:
    `step` at its place, and the others with names and shapes."""

    step: Any
    place: int
    states: list[tuple[str, torch.Tensor, torch.Size]]
    means: list[_MeanRow]


# No `step` is this one.
_UNCHECKED = _Checked(object(), 0, [], [])


class Engine:
    """An optimizer's parameters in the artefact's order, and what steps them."""

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        artefact = optimizer.artefact
        threads = optimizer._threads or torch.get_num_threads()
        self.stepper = Stepper(artefact, threads)
        tensors = dict(optimizer._members)
        self.parameters = [tensors[p.name] for p in artefact.parameters]
        self.compiled = artefact.parameters
        self.names = [[s.name for s in p.states] for p in artefact.parameters]
        self.shapes = [torch.Size(optimizer._shapes[p.name]) for p in self.compiled]
        # What param_groups held when they were last looked at, and the spec's groups
        # that these are.
        self.held: list[list[int]] = []
        self.groups: list[int] = []
        # Whose weight or gradient is BF16 or strided, as `lay` has said of tensors
        # that are as in `seen`.
        self.staged = [False] * len(self.parameters)
        self.seen: list[Any] = [None] * len(self.parameters)
        # The gradients that the workspace was planned for; none: for no layout.
        self.planned = b""
        # One tensor, of which every state's `step` is an element: they count in
        # one operation.
        self.steps = torch.zeros(len(self.parameters), dtype=torch.float32)
        self.checked = [_UNCHECKED] * len(self.parameters)

    def step(self) -> Report:
        self._set_rates()
        scale, inf = self._amp()
        if inf:
            return Report(float("inf"), 1.0, True, None)
        gradients = self._point()
        counts = self.steps.tolist()
        if not all(map(is_count, counts)):
            for i, count in enumerate(counts):
                _parameters.read_step(self.compiled[i].name, count)
        steps = [
            int(count) + 1 if gradient else 0
            for count, gradient in zip(counts, gradients, strict=True)
        ]
        different = set(steps)
        if different == {0}:
            return Report(0.0, 1.0, False, None)
        if len(different - {0}) == 1:
            report = self._run("step", max(steps), scale)
        else:
            report = self._apply_apart(gradients, steps, scale)
        if report.skipped:
            return report
        if 0 not in different:
            self.steps.add_(1)
        else:
            self.steps.add_(torch.tensor([step > 0 for step in steps]))
        return report

    def _set_rates(self) -> None:
        optimizer = self.optimizer
        held = [list(map(id, group["params"])) for group in optimizer.param_groups]
        if held != self.held:
            self.groups = _parameters.match_groups(
                optimizer.param_groups, optimizer._members, optimizer.artefact
            )
            self.held = held
        for i, group in zip(self.groups, optimizer.param_groups, strict=True):
            name = self.stepper.artefact.groups[i].name
            lr, wd = (
                _parameters.read_rate(name, rate, group.get(rate))
                for rate in ("lr", "weight_decay")
            )
            self.stepper.set_group(i, lr, wd)

    def _check_states(self, index: int) -> None:
        """Begins or checks a parameter's states, and has its updates counted with
        those of the others."""
        compiled, parameter = self.compiled[index], self.parameters[index]
        state = self.optimizer.state[parameter]
        if state == {}:
            _parameters.start(state, compiled, parameter)
        shapes = _parameters.check_states(state, compiled, parameter)
        own = self.steps[index]
        own.fill_(_parameters.read_step(compiled.name, state["step"]))
        state["step"] = own
        states = [(n, state[n], torch.Size(shape)) for n, shape in shapes.items()]
        self.checked[index] = _Checked(
            own, own.data_ptr(), states, self._find_means(index, state)
        )

    def _find_means(self, index: int, state: dict[str, Any]) -> list[_MeanRow]:
        """The mean rows among a parameter's states, each looked at."""
        known = {id(mean.row): mean for mean in self.checked[index].means}
        means = []
        for s in self.compiled[index].states:
            if s.is_mean:
                average, row = state[s.name.removesuffix("_mean")], state[s.name]
                mean = known.get(id(row)) or _MeanRow(average, row)
                mean.look(average)
                means.append(mean)
        return means

    def _amp(self) -> tuple[float, bool]:
        """What a GradScaler left: the gradients' scale, and whether one overflowed."""
        scale = getattr(self.optimizer, "grad_scale", None)
        inf = getattr(self.optimizer, "found_inf", None)
        return (
            1.0 if scale is None else 1.0 / float(scale),
            inf is not None and bool(inf.item()),
        )

    def _run(self, entry: str, step: int, scale: float) -> Report:
        if any(self.staged):
            there = (self.stepper.gradients.table != 0).tobytes()
            if there != self.planned:
                self.stepper.fit()
                self.planned = there
        return self.stepper.run(entry, step, scale)

    def _point(self) -> list[int]:
        """Hands over where the tensors are now. Returns where the gradients are; 0:
        there is none."""
        state = self.optimizer.state
        fp32, bf16, strided = torch.float32, torch.bfloat16, torch.strided
        weights, gradients, masters, states = [], [], [], []
        # All that is done here is done for every parameter in every step.
        for i, parameter in enumerate(self.parameters):
            gradient = parameter.grad
            if gradient is None:
                weights.append(0)
                gradients.append(0)
                masters.append(0)
                states += [0] * len(self.names[i])
                continue
            shape = self.shapes[i]
            if (
                self.staged[i]
                or gradient.dtype is not fp32
                or parameter.dtype is not fp32
                or not parameter.is_cpu
                or gradient.layout is not strided
                or not gradient.is_contiguous()
                or not parameter.is_contiguous()
                or gradient.shape != shape
                or parameter.shape != shape
            ):
                self._lay(i, parameter, gradient)
            own = state[parameter]
            step, place, checked, means = self.checked[i]
            good = isinstance(own, dict) and own.get("step") is step
            if good and step.data_ptr() == place:
                for name, tensor, size in checked:
                    if (
                        own.get(name) is not tensor
                        or tensor.dtype is not fp32
                        or tensor.shape != size
                        or not tensor.is_contiguous()
                    ):
                        self._check_states(i)
                        break
            else:
                self._check_states(i)
            for mean in means:
                mean.look(mean.average)
            weights.append(parameter.data_ptr())
            gradients.append(gradient.data_ptr())
            own = [tensor.data_ptr() for _, tensor, _ in self.checked[i].states]
            masters.append(own.pop() if parameter.dtype is bf16 else 0)
            states += own
        self.stepper.weights.set(weights)
        self.stepper.gradients.set(gradients)
        self.stepper.masters.set(masters)
        self.stepper.states.set(states)
        return gradients

    def _lay(self, index: int, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Says how a weight and its gradient lie, where they are not dense FP32 or
        were not before."""
        compiled = self.compiled[index]
        pair = p, g = parameter, gradient
        seen = None
        if p.layout is torch.strided and g.layout is torch.strided:
            a = (p.dtype, p.is_cpu, p.shape, p.stride(), p.is_neg())
            seen = a, (g.dtype, g.is_cpu, g.shape, g.stride(), g.is_neg())
            if seen == self.seen[index]:
                return
        _parameters.check(compiled.name, parameter)
        _parameters.check_shape(compiled.name, parameter, self.shapes[index])
        _parameters.check_gradient(compiled.name, parameter, gradient)
        # The weight's type may ask for others.
        self.checked[index] = _UNCHECKED._replace(means=self.checked[index].means)
        layouts = [(t.dtype is torch.bfloat16, _parameters.strides(t)) for t in pair]
        self.stepper.weights.lay(index, *layouts[0])
        self.stepper.gradients.lay(index, *layouts[1])
        self.staged[index] = layouts != [(False, None)] * 2
        self.seen[index], self.planned = seen, b""

    def _apply_apart(
        self, gradients: list[int], steps: list[int], scale: float
    ) -> Report:
        """Parameters that missed gradients are at another step than the others:
        one norm over all, then one update a step number."""
        report = self._run("prepare", 1, scale)
        if report.skipped:
            return report
        for step in sorted(set(steps) - {0}):
            self.stepper.gradients.set(
                [g if s == step else 0 for g, s in zip(gradients, steps, strict=True)]
            )
            self._run("apply", step, scale)
        return report
