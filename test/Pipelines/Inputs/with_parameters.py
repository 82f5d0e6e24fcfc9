#!/usr/bin/env python3
"""Prints a spec with parameters, as steepc adds them: SPEC NAME=MxN..."""

import sys

spec, *parameters = sys.argv[1:]
text = open(spec, encoding="utf-8").read()
lines = []
for parameter in parameters:
    name, shape = parameter.split("=")
    lines.append(f'  optim.parameter "{name}" : tensor<{shape}xf32>\n')
begin = text.index("optim.spec")
end = text.index("\n}\n", begin) + 1
print(text[:end] + "".join(lines) + text[end:])
