"""model.py DRIVER FOLDER: whole steps of a model's optimizer, on a GPU and on the host.

The norm that clips and the step's number are the device's own; the second step's rates
and the gradients' scale are read from its memory, as a captured graph has them.
Everything must agree to 1e-4; a gradient that is not finite must change nothing."""

import sys

from artefact_device import *

import random

driver = Driver(sys.argv[1])
host = Artefact(sys.argv[2])
device = DeviceArtefact(sys.argv[2], driver)
driver.write(device.device_counter, bytes(8))
generator = random.Random(5)
for here, there in zip(host.weights, device.weights):
    here.set([generator.gauss(0, 0.05) for _ in here.values()])
    there.set(here.values())
device.upload()
for step in (1, 2):
    for here, there in zip(host.gradients, device.gradients):
        here.set([generator.gauss(0, 0.1) for _ in here.values()])
        there.set(here.values())
        driver.write(device.there[id(there)], there.bytes())
    rates = {g["name"]: g["lr"] * 0.5 * step for g in host.manifest["groups"]}
    arguments = host.step(step=step, lr=rates, grad_scale=0.5)
    report = device.device_step(step=0, lr=rates, grad_scale=0.5, counter=True,
                                placed=step == 2)
    assert report.code == OK and report.step == step, report.code
    assert abs(report.grad_norm / arguments.grad_norm - 1) < 1e-12
    assert abs(report.clip_factor / arguments.clip_factor - 1) < 1e-6
    assert report.clip_factor < 1
    device.download()
worst = 0
for here, there in zip(host.weights + host.states + host.updates,
                       device.weights + device.states + device.updates):
    worst = max(worst, relative(there.values(), here.values()))
assert worst < 1e-4, worst
print(f"agrees, {worst:.1e} at most")

before = device.snapshot()
for index in (0, len(device.gradients) - 1):
    old = device.gradients[index].bytes()
    device.gradients[index].memory[3] = math.nan
    driver.write(device.there[id(device.gradients[index])], device.gradients[index].bytes())
    report = device.device_step(step=0, counter=True)
    assert report.code == SKIPPED and report.nonfinite_parameter == index
    device.download()
    assert device.snapshot() == before
    device.gradients[index].memory[:] = array.array("f", old)
    driver.write(device.there[id(device.gradients[index])], old)
counter = int.from_bytes(driver.read(device.device_counter, 8), "little")
assert counter == 2, counter
device.close()
print("a gradient that is not finite changes nothing")
