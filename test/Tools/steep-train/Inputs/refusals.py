"""refusals.py CASES DIR: command lines that must be refused.

CASES holds pairs of lines, a command and the message it must print after
"PROGRAM: error: "; @DIR@ in both is replaced. Each must end with status 1 and
print that one line to stderr, and nothing to stdout.
"""

import shlex
import subprocess
import sys
from pathlib import Path

folder = sys.argv[2]
text = Path(sys.argv[1]).read_text().replace("@DIR@", folder)
lines = [line for line in text.splitlines() if line and not line.startswith("#")]
failures = 0
for command, message in zip(lines[::2], lines[1::2]):
    words = shlex.split(command)
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    expected = f"{words[0]}: error: {message}\n"
    if done.returncode != 1 or done.stdout or done.stderr != expected:
        failures += 1
        print(f"$ {command}\n  status {done.returncode}\n  stdout {done.stdout!r}")
        print(f"  stderr   {done.stderr!r}\n  expected {expected!r}")
print(len(lines) // 2, "command lines,", failures, "failures")
sys.exit(failures > 0)
