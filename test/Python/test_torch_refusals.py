"""What a trainer may do to an optimizer's states, parameters, groups and rates by hand
is honoured, or refused in one line before anything is written."""

import copy

import pytest
import steep
import steep.torch
import torch

BF16 = torch.bfloat16
NAMES = ("embed.weight", "blocks.0.weight", "blocks.1.weight", "lm_head.weight")


def make(spec, shape=(6, 6), **options):
    """Parameters by name, and their optimizer."""
    torch.manual_seed(0)
    parameters = {name: torch.nn.Parameter(torch.randn(shape)) for name in NAMES}
    return parameters, steep.torch.Optimizer(parameters.items(), spec, **options)


def step(parameters, optimizer):
    for p in parameters.values():
        p.grad = torch.full_like(p, 0.25)
    optimizer.step()


def refuses(message, function, *arguments, **options):
    with pytest.raises(steep.SteepError, match=message) as raised:
        function(*arguments, **options)
    assert "\n" not in str(raised.value)


@pytest.fixture
def adamw(inputs):
    return inputs / "adamw.mlir"


@pytest.fixture
def paper(specs):
    return specs / "paper.mlir"


STATES = {
    "bf16": (lambda t: t.to(BF16), "got torch.bfloat16 of shape"),
    "double": (lambda t: t.double(), "got torch.float64 of"),
    "rows": (lambda t: t[:3], r"got torch.float32 of shape \(3, 6\)"),
    "columns": (lambda t: t.t(), r"with strides \(1, 6\)"),
    "flat": (lambda t: t.flatten(), r"shape \(36,\)"),
    "expanded": (lambda t: t[:1].expand(6, 6), r"with strides \(0, 1\)"),
    "meta": (lambda t: t.to("meta"), "on meta"),
    "sparse": (lambda t: t.to_sparse(), "torch.sparse_coo"),
    "none": (lambda t: None, "got NoneType"),
    "list": (lambda t: [1, 2], "got list"),
}


@pytest.mark.parametrize("how", STATES)
def test_states_that_are_replaced(adamw, how):
    parameters, optimizer = make(adamw)
    step(parameters, optimizer)
    change, got = STATES[how]
    state = optimizer.state[parameters["blocks.0.weight"]]
    state["exp_avg"] = change(state["exp_avg"])
    before = parameters["embed.weight"].clone()
    expected = r"state 'exp_avg' of 'blocks.0.weight': expected a contiguous FP32 "
    refuses(f"{expected}.*{got}", step, parameters, optimizer)
    assert torch.equal(parameters["embed.weight"], before)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: setattr(t, "data", t.data[:3]),
        lambda t: setattr(t, "data", t.data.to(BF16)),
        lambda t: t.resize_(2, 2),
        lambda t: t.t_(),
    ],
)
def test_states_that_change_in_place(adamw, change):
    parameters, optimizer = make(adamw)
    step(parameters, optimizer)
    change(optimizer.state[parameters["embed.weight"]]["exp_avg_sq"])
    refuses("'exp_avg_sq' of 'embed.weight': expected", step, parameters, optimizer)


def test_states_that_fit_are_taken(adamw):
    """Another tensor, the same one elsewhere, and none, as PyTorch takes them."""
    pairs = [make(adamw), make(adamw)]
    for parameters, optimizer in pairs:
        step(parameters, optimizer)
    parameters, optimizer = pairs[0]
    for state in optimizer.state.values():
        state["exp_avg"] = state["exp_avg"].clone()
        state["exp_avg_sq"].data = state["exp_avg_sq"].data.clone()
    for each in pairs:
        step(*each)
    for a, b in zip(parameters.values(), pairs[1][0].values(), strict=True):
        assert torch.equal(a, b)
    del optimizer.state[parameters["embed.weight"]]
    optimizer.state[parameters["lm_head.weight"]] = {}
    step(parameters, optimizer)
    steps = [optimizer.state[p]["step"].item() for p in parameters.values()]
    assert steps == [1, 3, 3, 1]


def test_states_that_are_missing(adamw):
    parameters, optimizer = make(adamw)
    step(parameters, optimizer)
    embed = parameters["embed.weight"]
    kept = optimizer.state[embed].pop("exp_avg")
    refuses("'exp_avg' of 'embed.weight'.*got none", step, parameters, optimizer)
    optimizer.state[embed]["exp_avg"] = kept
    step(parameters, optimizer)
    optimizer.state[embed] = None
    refuses("state of 'embed.weight': expected a dict", step, parameters, optimizer)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("shape", [(3, 6), (12, 6), (6, 6, 1), (36,), (1, 1)])
def test_parameters_that_change_their_shape(adamw, first, shape):
    parameters, optimizer = make(adamw)
    if first:
        step(parameters, optimizer)
    p = parameters["blocks.0.weight"]
    p.grad, p.data = None, torch.zeros(shape)
    message = f"parameter 'blocks.0.weight' is {shape}: compiled for (6, 6)"
    message = message.replace("(", r"\(").replace(")", r"\)")
    refuses(message, step, parameters, optimizer)
    refuses(message, optimizer.save_safetensors, "unwritten")


def test_vectors_keep_their_shape(adamw):
    """(6,) and (1, 6) are one matrix to the rule, not to the trainer."""
    p = torch.nn.Parameter(torch.ones(6))
    optimizer = steep.torch.Optimizer([("p", p)], adamw)
    p.data = torch.ones(1, 6)
    refuses(r"'p' is \(1, 6\): compiled for \(6,\)", step, {"p": p}, optimizer)


# --- groups --------------------------------------------------------------------


def test_groups_are_known_by_their_parameters(paper):
    pairs = [make(paper), make(paper)]
    pairs[0][1].param_groups.reverse()
    for parameters, optimizer in pairs:
        head = parameters["lm_head.weight"]
        for group in optimizer.param_groups:
            group["lr"] = 0.0 if group["params"][0] is head else group["lr"]
        before = head.clone()
        step(parameters, optimizer)
        assert torch.equal(head, before)
    for a, b in zip(pairs[0][0].values(), pairs[1][0].values(), strict=True):
        assert torch.equal(a, b)


def test_parameters_come_to_groups_that_were_moved_or_renamed(paper):
    parameters, optimizer = make(paper)
    optimizer.param_groups.reverse()
    optimizer.param_groups[-1]["name"] = "mine"
    parameters["blocks.2.weight"] = torch.nn.Parameter(torch.ones(6, 6))
    late = list(parameters.items())[-1:]
    optimizer.add_param_group({"params": late})
    assert optimizer.param_groups[-1]["params"][-1] is late[0][1]
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step(parameters, optimizer)


def test_parameters_that_move_between_groups(paper):
    parameters, optimizer = make(paper)
    step(parameters, optimizer)
    lists = [group["params"] for group in optimizer.param_groups]
    late = torch.nn.Parameter(torch.ones(6, 6))
    lists[0].append(late)
    refuses("'backbone' has one that has no name", step, parameters, optimizer)
    lists[0].pop()
    gone = lists[0].pop()
    refuses("'blocks.1.weight' is gone", step, parameters, optimizer)
    lists[1].append(gone)
    refuses("'blocks.1.weight' is in 'embedding'", step, parameters, optimizer)
    lists[1].pop()
    lists[0].append(gone)
    step(parameters, optimizer)
    group = optimizer.param_groups.pop()
    refuses("'lm_head.weight' is gone", step, parameters, optimizer)
    optimizer.param_groups.append(group)
    step(parameters, optimizer)


def test_parameters_that_come_twice(adamw):
    parameters, optimizer = make(adamw)
    embed = parameters["embed.weight"]
    late = torch.nn.Parameter(torch.ones(6, 6))
    add = optimizer.add_param_group
    refuses("'embed.weight' comes twice", add, {"params": [("embed.weight", embed)]})
    refuses("twice, once more as 'again'", add, {"params": [("again", embed)]})
    refuses("'embed.weight' comes twice", add, {"params": [("embed.weight", late)]})
    add({"params": [("late", late)]})
    refuses("'late' comes twice", add, {"params": [("late", late)]})
    step({**parameters, "late": late}, optimizer)


def test_groups_as_dicts_are_refused(adamw):
    p = torch.nn.Parameter(torch.ones(2, 2))
    refuses(
        "got dict: groups are the spec's",
        steep.torch.Optimizer,
        [{"params": [("p", p)], "lr": 1.0}],
        adamw,
    )


# --- the number of updates -----------------------------------------------------


def test_steps_that_are_replaced_are_read(adamw):
    """As torch.optim reads them."""
    parameters, optimizer = make(adamw)
    others = [torch.nn.Parameter(p.detach().clone()) for p in parameters.values()]
    theirs = torch.optim.AdamW(others, lr=1e-3, weight_decay=0.01)
    for given in (None, torch.tensor(7.0), torch.tensor(2.0), None):
        for p in others:
            p.grad = torch.full_like(p, 0.25)
        if given is not None:
            optimizer.state[parameters["embed.weight"]]["step"] = given
            theirs.state[others[0]]["step"] = given.clone()
        step(parameters, optimizer)
        theirs.step()
    for a, b in zip(parameters.values(), others, strict=True):
        torch.testing.assert_close(a.detach(), b.detach(), rtol=1e-6, atol=1e-7)
    steps = [optimizer.state[p]["step"].item() for p in parameters.values()]
    assert steps == [4, 4, 4, 4]
    optimizer.state[parameters["embed.weight"]]["step"].data = torch.tensor(9.0)
    step(parameters, optimizer)
    assert optimizer.state[parameters["embed.weight"]]["step"] == 10


@pytest.mark.parametrize("value", [-3, -1.0, 2.5, float("nan"), float("inf"), "1"])
def test_steps_that_count_nothing(adamw, value):
    parameters, optimizer = make(adamw)
    step(parameters, optimizer)
    state = optimizer.state[parameters["blocks.0.weight"]]
    message = "state 'step' of 'blocks.0.weight': expected a whole number"
    kept = state["step"]
    values = [value] if isinstance(value, str) else [value, torch.tensor(value)]
    for each in values:
        state["step"] = each
        refuses(message, step, parameters, optimizer)
    state["step"] = kept
    if not isinstance(value, str):
        kept.fill_(value)
        refuses(message, step, parameters, optimizer)


# --- rates ---------------------------------------------------------------------

RATES = [-1.0, float("nan"), float("inf"), 1e300, "1e-3", [1.0]]


@pytest.mark.parametrize("value", RATES)
@pytest.mark.parametrize("rate", ["lr", "weight_decay"])
def test_rates_are_finite_numbers(paper, rate, value):
    refuses(f"group 'backbone': {rate} is", make, paper, (6, 6), **{rate: value})
    by_name = {rate: {"head": value}}
    refuses(f"group 'head': {rate} is", make, paper, (6, 6), **by_name)
    parameters, optimizer = make(paper)
    optimizer.param_groups[2][rate] = value
    refuses(f"group 'head': {rate} is", step, parameters, optimizer)
    del optimizer.param_groups[2][rate]
    refuses(f"group 'head': {rate} is missing", step, parameters, optimizer)


def test_rates_that_a_scheduler_rounds_below_zero(adamw):
    parameters, optimizer = make(adamw)
    optimizer.param_groups[0]["lr"] = -1e-19
    before = parameters["embed.weight"].clone()
    step(parameters, optimizer)
    assert torch.equal(parameters["embed.weight"], before)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads_are_counted_from_one(adamw, threads):
    refuses("threads is .*at least 1", make, adamw, (6, 6), **{"threads": threads})


# --- state dicts ---------------------------------------------------------------


def test_what_is_no_state_dict(adamw):
    parameters, optimizer = make(adamw)
    model = dict(parameters)
    for what, got in (({}, "an empty one"), (model, "'embed.weight'"), (None, "None")):
        refuses(f"state dict of an opt.*{got}", optimizer.load_state_dict, what)
        refuses(f"state dict of an opt.*{got}", optimizer.load_torch_state_dicts, what)


def test_a_state_dict_is_checked_before_anything_is_replaced(adamw):
    parameters, optimizer = make(adamw)
    step(parameters, optimizer)
    good = copy.deepcopy(optimizer.state_dict())

    def spoiled(change):
        saved = copy.deepcopy(good)
        change(saved)
        return saved

    def refused(message, change):
        refuses(message, optimizer.load_state_dict, spoiled(change))

    last = 3
    refused(
        r"'exp_avg' of 'lm_head.weight'.*got torch.float32 of shape \(3,\)",
        lambda d: d["state"][last].update(exp_avg=torch.zeros(3)),
    )
    refused(
        "'exp_avg' of 'lm_head.weight'.*got torch.int32",
        lambda d: d["state"][last].update(exp_avg=torch.ones(6, 6).int()),
    )
    refused(
        "'exp_avg' of 'lm_head.weight'.*got none",
        lambda d: d["state"][last].pop("exp_avg"),
    )
    refused("'step' of 'lm_head.w.*none", lambda d: d["state"][last].pop("step"))
    refused("'step' of.*-3", lambda d: d["state"][last].update(step=-3))
    refused("of 'lm_head.weight'.*int", lambda d: d["state"].update({last: 1}))
    refused("has 0 groups, expected 1: all", lambda d: d["param_groups"].clear())
    refused(
        "group 'all': .*parameters \\['x'\\], expected",
        lambda d: d["param_groups"][0].update(param_names=["x"]),
    )
    refused("lr is missing", lambda d: d["param_groups"][0].pop("lr"))
    after = optimizer.state_dict()
    torch.testing.assert_close(after["state"], good["state"], rtol=0, atol=0)
    assert after["param_groups"] == good["param_groups"]
    # Other floating types and strides are no other numbers.
    fine = spoiled(lambda d: d["state"][last].update(exp_avg=torch.ones(6, 6).double()))
    optimizer.load_state_dict(fine)
    step(parameters, optimizer)
