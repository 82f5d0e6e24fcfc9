"""make_shards.py DIR VOCAB: token shards for tests of steep-train.

The text repeats itself with noise, so that a small model learns it.
"""

import random
import struct
import sys
from pathlib import Path

folder, vocabulary = Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir(parents=True)
generator = random.Random(1)
phrase = [generator.randrange(vocabulary) for _ in range(23)]


def shard(name, count):
    tokens = [
        phrase[i % 23] if generator.random() < 0.9 else generator.randrange(vocabulary)
        for i in range(count)
    ]
    header = struct.pack("<256i", 20240520, 1, count, *[0] * 253)
    (folder / name).write_bytes(header + struct.pack(f"<{count}H", *tokens))


shard("text_train_000.bin", 1500)
shard("text_train_001.bin", 900)
shard("text_val_000.bin", 700)
