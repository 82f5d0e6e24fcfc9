"""Two processes under DDP give the bits of one that accumulates their batches."""

import multiprocessing

import steep.torch
import torch
from test_torch import VOCABULARY, make_model

STEPS = 3


def loss_of(model, step, part):
    generator = torch.Generator().manual_seed(10 * step + part)
    tokens = torch.randint(VOCABULARY, (4, 9), generator=generator)
    logits = model(tokens[:, :-1]).flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())


def worker(rank, folder, spec, results):
    torch.set_num_threads(1)
    import torch.distributed as dist

    store = dist.FileStore(f"{folder}/store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(make_model())
    optimizer = steep.torch.Optimizer(model.module.named_parameters(), spec)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, step, rank).backward()
        optimizer.step()
    weights = {n: p.detach().numpy() for n, p in model.module.named_parameters()}
    results.put((rank, weights))
    dist.barrier()
    dist.destroy_process_group()


def test_two_processes(specs, tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    spec = specs / "paper.mlir"
    processes = [
        context.Process(target=worker, args=(rank, str(tmp_path), spec, results))
        for rank in range(2)
    ]
    for process in processes:
        process.start()
    weights = dict(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join(60)
        assert process.exitcode == 0

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = make_model()
    optimizer = steep.torch.Optimizer(model.named_parameters(), spec, threads=2)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(2):
            (loss_of(model, step, part) / 2).backward()
        optimizer.step()
    torch.set_num_threads(threads)
    for name, p in model.named_parameters():
        for rank in range(2):
            expected = torch.from_numpy(weights[rank][name])
            assert torch.equal(p, expected), f"{name}, rank {rank}"
