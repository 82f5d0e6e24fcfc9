"""steep.torch.Optimizer does what PyTorch asks of any optimizer."""

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
import steep  # noqa: E402
import steep.torch  # noqa: E402

VOCABULARY, WIDTH = 50, 16


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList(
            torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2)
        )
        self.lm_head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = x + torch.tanh(block(x))
        return self.lm_head(x)


def make_model(seed=0):
    torch.manual_seed(seed)
    return Model()


def loss_of(model, step=0):
    tokens = torch.randint(
        VOCABULARY, (4, 9), generator=torch.Generator().manual_seed(step)
    )
    logits = model(tokens[:, :-1]).flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())


def train(model, optimizer, steps, first=0, scheduler=None):
    for step in range(first, first + steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        if scheduler:
            scheduler.step()


def assert_same(a, b):
    for (name, x), (_, y) in zip(
        a.named_parameters(), b.named_parameters(), strict=True
    ):
        assert torch.equal(x, y), name


@pytest.fixture
def spec(specs):
    return specs / "paper.mlir"


@pytest.fixture
def pair(spec):
    model = make_model()
    return model, steep.torch.Optimizer(model.named_parameters(), spec)


def test_it_learns(pair):
    model, optimizer = pair
    before = loss_of(model).item()
    for _ in range(30):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    assert loss_of(model).item() < 0.85 * before
    assert optimizer.last_step.grad_norm > 0 and not optimizer.last_step.skipped


def test_groups_states_and_names(pair):
    model, optimizer = pair
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert [g["name"] for g in optimizer.param_groups] == [
        "backbone",
        "embedding",
        "head",
    ]
    assert [g["lr"] for g in optimizer.param_groups] == [8e-3, 4e-3, 3.2e-3]
    assert [g["weight_decay"] for g in optimizer.param_groups] == [0.1, 0.1, 0.0]
    train(model, optimizer, 1)
    state = optimizer.state[model.embed.weight]
    assert set(state) == {"step", "exp_avg", "exp_avg_sq"}
    assert state["exp_avg"].dtype == state["step"].dtype == torch.float32
    assert state["step"].item() == 1 and state["step"].shape == ()
    assert set(optimizer.state[model.lm_head.weight]) == {"step", "momentum_buffer"}
    assert "lm_head.weight" in optimizer.artefact.routing()
    assert "rownorm" in repr(optimizer)


def test_nothing_is_copied(pair):
    model, optimizer = pair
    loss_of(model).backward()
    before = {n: (p.data_ptr(), p.grad.clone()) for n, p in model.named_parameters()}
    optimizer.step()
    for name, p in model.named_parameters():
        assert p.data_ptr() == before[name][0]
        assert torch.equal(p.grad, before[name][1])


@pytest.mark.parametrize("saved", ["before", "after"])
def test_state_dict_round_trip(pair, spec, saved):
    """Before any state exists, and after."""
    model, optimizer = pair
    train(model, optimizer, 0 if saved == "before" else 3)
    file = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict()], file)
    train(model, optimizer, 3, first=3)
    file.seek(0)
    weights, states = torch.load(file, weights_only=True)
    other = make_model(1)
    other.load_state_dict(weights)
    resumed = steep.torch.Optimizer(other.named_parameters(), spec)
    resumed.load_state_dict(states)
    train(other, resumed, 3, first=3)
    assert_same(model, other)


def test_another_convention_is_refused(pair, spec):
    model, optimizer = pair
    state = optimizer.state_dict()
    state["param_groups"][0]["conventions"] = {"momentum_buffer": "ema"}
    with pytest.raises(steep.SteepError, match="backbone.*sum.*ema"):
        optimizer.load_state_dict(state)
    del state["param_groups"][0]["conventions"]
    with pytest.raises(steep.SteepError, match="does not say"):
        optimizer.load_state_dict(state)


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies_go_on_alike(pair, how):
    model, optimizer = pair
    train(model, optimizer, 2)
    copied = (
        copy.deepcopy([model, optimizer])
        if how == "deepcopy"
        else pickle.loads(pickle.dumps([model, optimizer]))
    )
    public = {key for key in optimizer.__dict__ if not key.startswith("_")}
    assert {key for key in copied[1].__dict__ if not key.startswith("_")} == public
    train(model, optimizer, 2, first=2)
    train(*copied, 2, first=2)
    assert_same(model, copied[0])


def test_live_rates(pair):
    model, optimizer = pair
    before = copy.deepcopy(model.state_dict())
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.param_groups[2]["lr"] = torch.tensor(1e-2)
    train(model, optimizer, 1)
    after = model.state_dict()
    assert torch.equal(after["embed.weight"], before["embed.weight"])
    assert torch.equal(after["blocks.0.weight"], before["blocks.0.weight"])
    assert not torch.equal(after["lm_head.weight"], before["lm_head.weight"])


def test_rates_of_groups(spec):
    model = make_model()
    optimizer = steep.torch.Optimizer(
        model.named_parameters(), spec, lr={"head": 1.0}, weight_decay=0.0
    )
    assert [g["lr"] for g in optimizer.param_groups] == [8e-3, 4e-3, 1.0]
    assert [g["weight_decay"] for g in optimizer.param_groups] == [0.0] * 3
    with pytest.raises(steep.SteepError, match="'heads'.*backbone, embedding, head"):
        steep.torch.Optimizer(model.named_parameters(), spec, lr={"heads": 1.0})


def test_schedulers(pair):
    model, optimizer = pair
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, optimizer.schedule(20))
    rates = []
    for _ in range(4):
        rates.append(optimizer.param_groups[0]["lr"])
        train(model, optimizer, 1, scheduler=schedule)
    assert rates[:3] == [0.0, 4e-3, 8e-3] and rates[3] < 8e-3
    copied = pickle.loads(pickle.dumps(schedule))
    assert copied.get_last_lr() == schedule.get_last_lr()
    assert copied.lr_lambdas[0] == optimizer.schedule(20)
    other = torch.optim.lr_scheduler.LambdaLR(optimizer, optimizer.schedule(7))
    other.load_state_dict(schedule.state_dict())
    assert other.lr_lambdas[0](3) == optimizer.schedule(20)(3)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    train(model, optimizer, 3, scheduler=cosine)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0, abs=1e-9)


def test_every_scheduler_sets_what_the_next_step_takes(inputs):
    """Beside AdamW, with the same scheduler on both."""
    schedulers = torch.optim.lr_scheduler
    kinds = [
        lambda o: schedulers.OneCycleLR(o, 1e-2, total_steps=9, cycle_momentum=False),
        lambda o: schedulers.SequentialLR(
            o, [schedulers.LinearLR(o), schedulers.ExponentialLR(o, 0.5)], [3]
        ),
        lambda o: schedulers.CosineAnnealingWarmRestarts(o, 3),
        lambda o: schedulers.ReduceLROnPlateau(o, factor=0.5, patience=0),
    ]
    for kind in kinds:
        weights = [torch.nn.Parameter(torch.ones(3, 4)) for _ in range(2)]
        own = steep.torch.Optimizer([("p", weights[0])], inputs / "adamw.mlir")
        other = torch.optim.AdamW([weights[1]], lr=1e-3, weight_decay=0.01)
        pairs = [(each, kind(each)) for each in (own, other)]
        rates = set()
        for step in range(8):
            for p, (optimizer, scheduler) in zip(weights, pairs, strict=True):
                p.grad = torch.full((3, 4), 0.1 * (step + 1))
                optimizer.step()
                plateau = isinstance(scheduler, schedulers.ReduceLROnPlateau)
                scheduler.step(*[1.0] if plateau else [])
            lr = own.param_groups[0]["lr"]
            assert lr == other.param_groups[0]["lr"]
            rates.add(lr)
        assert len(rates) > 2
        torch.testing.assert_close(*weights, rtol=1e-6, atol=0)
        restored = kind(own)
        restored.load_state_dict(pairs[0][1].state_dict())


def test_hooks_of_state_dicts(pair):
    model, optimizer = pair
    train(model, optimizer, 1)
    seen = []

    def saving(_, state_dict):
        state_dict["note"] = "mine"
        seen.append("saved")
        return state_dict

    optimizer.register_state_dict_pre_hook(lambda _: seen.append("saving"))
    optimizer.register_state_dict_post_hook(saving)
    optimizer.register_load_state_dict_pre_hook(lambda _, d: seen.append(d["note"]))
    optimizer.register_load_state_dict_post_hook(lambda _: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["saving", "saved", "mine", "loaded"]
    train(model, optimizer, 1)


def test_steps_that_are_numbers(pair, spec):
    """As old checkpoints have them."""
    model, optimizer = pair
    train(model, optimizer, 2)
    saved = copy.deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        state["step"] = state["step"].item()
    other = copy.deepcopy(model)
    resumed = steep.torch.Optimizer(other.named_parameters(), spec)
    resumed.load_state_dict(saved)
    for each, its in ((model, optimizer), (other, resumed)):
        train(each, its, 2, first=2)
    assert_same(model, other)


def test_another_default_type(inputs):
    torch.set_default_dtype(torch.float64)
    try:
        pair = [torch.nn.Parameter(torch.ones(3, 4, dtype=torch.float32)) for _ in "ab"]
        optimizer = steep.torch.Optimizer(
            zip("ab", pair, strict=True), inputs / "adamw.mlir"
        )
        for step in range(2):
            pair[step].grad = torch.ones(3, 4, dtype=torch.float32)
            optimizer.step()
        states = [t for state in optimizer.state.values() for t in state.values()]
        assert all(t.dtype is torch.float32 for t in states)
        assert [optimizer.state[p]["step"].item() for p in pair] == [2, 1]
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    "option", ["maximize", "foreach", "fused", "capturable", "differentiable", "betas"]
)
def test_options_of_other_optimizers_are_refused(inputs, option):
    p = torch.nn.Parameter(torch.ones(3, 4))
    with pytest.raises(steep.SteepError, match=f"no option '{option}'.*the spec's"):
        steep.torch.Optimizer([("p", p)], inputs / "adamw.mlir", **{option: True})


def test_closure_and_hooks(pair):
    model, optimizer = pair
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("pre"))
    optimizer.register_step_post_hook(lambda *_: seen.append("post"))

    def closure():
        assert torch.is_grad_enabled()
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        seen.append("closure")
        return loss

    assert optimizer.step(closure).item() == pytest.approx(loss_of(make_model()).item())
    assert seen == ["pre", "closure", "post"]


def test_missing_gradients(pair, spec):
    """A parameter that misses a gradient stays, and counts its own updates."""
    model, optimizer = pair
    model.blocks[1].weight.requires_grad_(False)
    before = model.blocks[1].weight.clone()
    train(model, optimizer, 2)
    assert torch.equal(model.blocks[1].weight, before)
    assert model.blocks[1].weight not in optimizer.state

    optimizer.zero_grad()
    loss_of(model, 2).backward()
    model.lm_head.weight.grad = None
    optimizer.step()
    loss_of(model, 3).backward()
    optimizer.step()
    steps = {
        n: optimizer.state[p]["step"].item()
        for n, p in model.named_parameters()
        if p in optimizer.state
    }
    assert steps == {
        "embed.weight": 4,
        "blocks.0.weight": 4,
        "lm_head.weight": 3,
    }


def test_updates_apart_are_those_of_optimizers_apart(inputs):
    """Bias corrections of parameters at different steps, one by one."""
    torch.manual_seed(3)
    a, b = (torch.nn.Parameter(torch.randn(6, 5)) for _ in range(2))
    own = [torch.nn.Parameter(p.detach().clone()) for p in (a, b)]
    spec = inputs / "adamw.mlir"
    both = steep.torch.Optimizer([("a", a), ("b", b)], spec)
    alone = [steep.torch.Optimizer([("p", p)], spec) for p in own]
    for step in range(4):
        for p, copied in zip((a, b), own, strict=True):
            p.grad = torch.randn(6, 5)
            copied.grad = p.grad.clone()
        if step % 2:
            a.grad = None
        else:
            alone[0].step()
        both.step()
        alone[1].step()
    assert torch.equal(a, own[0]) and torch.equal(b, own[1])
    assert both.state[a]["step"] == 2 and both.state[b]["step"] == 4


def test_no_gradient_at_all(pair):
    model, optimizer = pair
    optimizer.step()
    assert not optimizer.state


def test_vectors_numbers_and_nothing(inputs):
    shapes = {"vector": (7,), "number": (), "none": (0, 4), "matrix": (3, 4)}
    parameters = {n: torch.nn.Parameter(torch.ones(s)) for n, s in shapes.items()}
    optimizer = steep.torch.Optimizer(parameters.items(), inputs / "adamw.mlir")
    reference = {n: torch.nn.Parameter(torch.ones(s)) for n, s in shapes.items()}
    torchs = torch.optim.AdamW(reference.values(), lr=1e-3, weight_decay=0.01)
    for _ in range(3):
        for name in shapes:
            parameters[name].grad = torch.full(shapes[name], 0.25)
            reference[name].grad = torch.full(shapes[name], 0.25)
        optimizer.step()
        torchs.step()
    for name in shapes:
        torch.testing.assert_close(parameters[name], reference[name])
    assert optimizer.state[parameters["vector"]]["exp_avg"].shape == (7,)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step()


def test_adding_parameters(pair, spec):
    model, optimizer = pair
    train(model, optimizer, 1)
    late = torch.nn.Parameter(torch.randn(WIDTH, WIDTH))
    optimizer.add_param_group({"params": [("blocks.2.weight", late)]})
    assert optimizer.param_groups[0]["params"][-1] is late
    late.grad = torch.randn(WIDTH, WIDTH)
    train(model, optimizer, 1)
    with pytest.raises(steep.SteepError, match="the spec's"):
        optimizer.add_param_group({"params": [], "lr": 1.0})


def test_a_gradient_that_is_not_finite(pair):
    model, optimizer = pair
    train(model, optimizer, 1)
    before = copy.deepcopy([model.state_dict(), optimizer.state_dict()["state"]])
    loss_of(model).backward()
    model.lm_head.weight.grad[3, 4] = float("inf")
    optimizer.step()
    assert optimizer.last_step.skipped
    assert optimizer.last_step.nonfinite == "lm_head.weight"
    after = [model.state_dict(), optimizer.state_dict()["state"]]
    torch.testing.assert_close(after, before, rtol=0, atol=0)


def test_grad_scaler(pair, spec):
    """The scale goes into the step; gradients are not rewritten."""
    model, optimizer = pair
    other = make_model()
    plain = steep.torch.Optimizer(other.named_parameters(), spec)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    for step in range(4):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, step)).backward()
        scaled = model.lm_head.weight.grad.clone()
        if step == 3:
            model.lm_head.weight.grad[0, 0] = float("inf")
            before = model.lm_head.weight.clone()
        scaler.step(optimizer)
        scaler.update()
        if step < 3:
            assert torch.equal(model.lm_head.weight.grad, scaled)
            train(other, plain, 1, first=step)
    assert optimizer.last_step.skipped and scaler.get_scale() == 1024.0
    assert torch.equal(before, model.lm_head.weight)
    assert_same(model, other)


def test_unscaled_before(pair):
    """unscale_, then clipping by hand, as trainers do."""
    model, optimizer = pair
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(loss_of(model)).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
    scaler.step(optimizer)
    assert optimizer.last_step.grad_norm == pytest.approx(norm.item(), rel=1e-5)


def test_tied_weights(specs):
    model = make_model()
    model.lm_head.weight = model.embed.weight
    named = list(model.named_parameters(remove_duplicate=False))
    with (
        pytest.raises(steep.SteepError, match="shares its storage with 'embed"),
        pytest.warns(UserWarning),
    ):
        steep.torch.Optimizer(named, specs / "paper.mlir")
    once = model.named_parameters()
    with pytest.raises(steep.SteepError, match="@head matches no.*remove_duplicate=F"):
        steep.torch.Optimizer(once, specs / "paper.mlir")
    spec = (specs / "muon.mlir").read_text()
    with pytest.warns(UserWarning, match="'lm_head.weight' shares its storage"):
        optimizer = steep.torch.Optimizer(named, spec)
    assert optimizer.tied == {"lm_head.weight": "embed.weight"}
    train(model, optimizer, 2)
    copied = pickle.loads(pickle.dumps([model, optimizer]))
    train(*copied, 1)


def test_what_cannot_be_served_is_refused_by_name(inputs):
    def refuses(message, tensor, name="bad.weight"):
        with pytest.raises(steep.SteepError, match=f"'{name}' {message}"):
            steep.torch.Optimizer([(name, tensor)], inputs / "adamw.mlir")

    matrix = torch.zeros(4, 4)
    refuses("is sparse", matrix.to_sparse())
    refuses("is complex", matrix.to(torch.complex64))
    refuses("is torch.float64", matrix.double())
    refuses("is on meta", matrix.to("meta"))
    refuses("is torch.float16", matrix.half())
    refuses("has strides", torch.zeros(4, 1).expand(4, 6))
    refuses("has strides", torch.zeros(12).as_strided((4, 4), (2, 1)))
    refuses("is a negated view", torch._neg_view(matrix))
    with pytest.raises(steep.SteepError, match="pairs of name and tensor"):
        steep.torch.Optimizer([matrix], inputs / "adamw.mlir")
    with pytest.raises(steep.SteepError, match="'a' comes twice"):
        steep.torch.Optimizer(
            [("a", matrix), ("a", torch.zeros(2, 2))], inputs / "adamw.mlir"
        )
    p = torch.nn.Parameter(matrix)
    optimizer = steep.torch.Optimizer([("p", p)], inputs / "adamw.mlir")
    p.grad = torch.zeros(4, 4).to_sparse()
    with pytest.raises(steep.SteepError, match="gradient of 'p' is sparse"):
        optimizer.step()


def test_shards_are_refused(inputs):
    distributed = pytest.importorskip("torch.distributed.tensor")
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = distributed.init_device_mesh("cpu", (1,))
        shard = distributed.distribute_tensor(
            torch.zeros(4, 4), mesh, [distributed.Shard(0)]
        )
        with pytest.raises(steep.SteepError, match="'w' is a shard"):
            steep.torch.Optimizer([("w", shard)], inputs / "adamw.mlir")
    finally:
        dist.destroy_process_group()


def test_strided_gradients(inputs):
    torch.manual_seed(0)
    a, b = (torch.nn.Parameter(torch.ones(5, 7)) for _ in range(2))
    optimizer = steep.torch.Optimizer([("a", a), ("b", b)], inputs / "adamw.mlir")
    a.grad = torch.randn(7, 5).t()
    b.grad = a.grad.contiguous()
    optimizer.step()
    assert torch.equal(a, b)


def test_states_of_another_shape_are_refused(inputs):
    def make(shape):
        p = torch.nn.Parameter(torch.ones(shape))
        p.grad = torch.ones(shape)
        optimizer = steep.torch.Optimizer([("p", p)], inputs / "adamw.mlir")
        optimizer.step()
        return optimizer

    small, large = make((2, 3)), make((4, 5))
    with pytest.raises(steep.SteepError, match=r"'exp_avg' of 'p'.*\(4, 5\)"):
        large.load_state_dict(small.state_dict())
    large.step()
