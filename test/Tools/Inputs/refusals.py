"""Helpers for tests of what steepc refuses: exit status 1, one line on standard
error that holds what is expected, nothing on standard output, no output folder
and no temporary file."""

import os
import shutil
import subprocess
import sys

count = 0


def refuses(folder, arguments, expected, name=None):
    """`arguments` as for steepc; '-o' is added where there is none."""
    global count
    count += 1
    work = os.path.join(folder, "work")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    command = ["steepc", *arguments]
    if "-o" not in arguments:
        command += ["-o", os.path.join(work, "out")]
    run = subprocess.run(command, capture_output=True, timeout=120)
    error = run.stderr.decode("utf-8", "backslashreplace")
    what = f"{name or arguments}\n{error}"
    assert run.returncode == 1, f"status {run.returncode}: {what}"
    assert run.stdout == b"", f"standard output: {what}"
    assert error.startswith("steepc: error: ") and error.count("\n") == 1, what
    for text in [expected] if isinstance(expected, str) else expected:
        assert text in error, f"expected {text!r}: {what}"
    assert not any(ord(c) < 32 for c in error[:-1]), f"control characters: {what}"
    assert os.listdir(work) == [], f"left {os.listdir(work)}: {what}"
    print(f"ok: {error[:-1]}")


def done(least):
    assert count >= least, f"only {count} cases ran"
    print(f"{count} refusals")
