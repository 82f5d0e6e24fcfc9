"""interrupt.py SIGNAL EXPECTED-STATUS METRICS COMMAND...

Runs the command, sends it the signal when the metrics file has three lines,
and checks its exit status. With SIGNAL twice ("INT,INT") the second follows
the first at once.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

names, expected, metrics = sys.argv[1].split(","), int(sys.argv[2]), Path(sys.argv[3])
process = subprocess.Popen(sys.argv[4:], stdout=subprocess.DEVNULL)
deadline = time.time() + 120
while not (metrics.exists() and metrics.read_bytes().count(b"\n") >= 3):
    assert process.poll() is None, f"ended with {process.returncode}"
    assert time.time() < deadline, "no three steps within two minutes"
    time.sleep(0.01)
for name in names:
    os.kill(process.pid, getattr(signal, "SIG" + name))
status = process.wait(timeout=120)
assert status == expected, f"exit status {status}, expected {expected}"
