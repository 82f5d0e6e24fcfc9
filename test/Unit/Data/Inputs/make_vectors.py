#!/usr/bin/env python3
"""Writes vectors.txt: texts and their ids by tiktoken (PyPI, MIT), for
TokenizerTest.cpp. Usage: make_vectors.py gpt2.tiktoken (the whole file; its
first 1500 lines are first1500.tiktoken, MIT licence, OpenAI).

A line: the text in hexadecimal, its ids by the first 1500 ranks, its ids by all.
"""

import base64
import os
import random
import sys
import unicodedata

import tiktoken

PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
TEXTS = [
    "Hello world",
    "hello  world",
    "Hello, world! 123 4567 \u00bd",
    "we've don't I'll it'd he's 'tis I'm you're ''s ' s 'S DON'T '",
    "a\n\nb \n c\t\td\r\n  e   ",
    "   ",
    " \n",
    "\n \n x",
    "tab\ttab \t tab",
    "<|endoftext|> is plain text",
    "na\u00efve caf\u00e9 e\u0301 \u00df\u1e9e",
    "\u4f60\u597d\uff0c\u4e16\u754c \u3000 \u3053\u3093\u306b\u3061\u306f",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947",
    "\u2160\u2161 \u00b2\u00b3 \u0661\u0662\u0663 x\u00b2",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001d400",
    "a\u00a0b\u2003c\u2028d\u0085e\u180ef\u200bg\ufeffh",
    "x" * 70 + " " * 40 + "y" * 3,
    "ababababababababababababababababababab " * 4,
    "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; } // 0x1F",
    "\x00\x01\x1c\x1f\x7f",
]


def load(path):
    with open(path, "rb") as file:
        return {
            base64.b64decode(token): int(rank)
            for token, rank in (line.split() for line in file)
        }


def encoding(ranks):
    return tiktoken.Encoding(
        "ranks", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}
    )


def texts():
    yield from TEXTS
    random.seed(1)
    # Assigned since Unicode 13: every library knows them.
    assigned = [
        c
        for c in range(0x30000)
        if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")
    ]
    for _ in range(20):
        yield "".join(chr(random.choice(assigned)) for _ in range(40))
        yield "".join(random.choice(" \n\t'stdmrevl019.,aAbé") for _ in range(60))


def main():
    ranks = load(sys.argv[1])
    few = encoding({token: rank for token, rank in ranks.items() if rank < 1500})
    all_ranks = encoding(ranks)
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "vectors.txt"), "w") as file:
        for text in texts():
            columns = [text.encode().hex()]
            for codec in (few, all_ranks):
                columns.append(",".join(map(str, codec.encode_ordinary(text))))
            file.write("\t".join(columns) + "\n")


if __name__ == "__main__":
    main()
