"""spills.py TARGETS SPEC...: no kernel of any rule spills on any of the targets.

The PTX of each rule for sm_80 is cut into kernels, and those that differ by more than
their names and constants are assembled together, once a target; products of one rule
only, in each precision. ptxas may spill for
the sake of occupancy; steepc then lets it take twice the registers, and so does this:
a kernel fails that spills nevertheless."""

import json
import os
import re
import subprocess
import sys
import tempfile

# What the passes treat alike: a row a warp, with a tail, and in loops of a block.
ROWS = [(64, 1000), (64, 11008), (64, 32768)]
# Rules with products have many kernels: a row of many chunks alone.
PRODUCTS = [(24, 4096)]
# Small tiles, and the largest.
TILES = [(96, 768), (2048, 2048)]


def compile_ptx(folder, spec, rule, shapes):
    params = os.path.join(folder, "params.json")
    with open(params, "w") as file:
        json.dump({"tensors": [{"name": f"w{r}x{c}", "shape": [r, c], "dtype": "F32"}
                               for r, c in shapes]}, file)
    return subprocess.run(["steepc", spec, "--only-rule", rule, "--params", params, "--target",
                           "x86-64,sm_80", "--emit=ptx"], check=True, capture_output=True,
                          text=True).stdout


class Kernels:
    """Kernels by what they do."""

    def __init__(self):
        self.head, self.texts, self.labels = "", {}, {}

    def add(self, ptx, label, products=False):
        head, *parts = re.split(r"(?=^(?:\.visible |\.extern )?\.(?:entry|shared|global|const) )",
                                ptx, flags=re.M)
        self.head = re.match(r"(?s).*?\.address_size 64\n", head)[0]
        added = 0
        for part in parts:
            name = re.match(r"\.visible \.entry (\w+)\(", part)
            if not name or "_update_k" in name[1] or name[1].startswith("steep_prelude"):
                continue
            added += 1
            if "_operands" in part and not products:
                continue
            text = re.sub(r"\b" + name[1] + r"(?=\W|_)", "NAME", part)
            key = re.sub(r"0[fd][0-9A-F]+|\$L__BB\d+", "#", text)
            # Numbers of instructions, not those of directives; the comment that names
            # the next kernel.
            key = re.sub(r"\+?(?<=[ +])-?\d+(?=[;,\]])|\s*//.*", "", key)
            if key not in self.texts:
                self.texts[key] = text
                self.labels[key] = f"{label} {name[1]}"
        assert added, label

    def assemble(self, target, folder, registers):
        """(registers, spilled bytes) by kernel; `registers` has a bound for each, or None."""
        path = os.path.join(folder, target + ".ptx")
        chosen = list(registers)
        with open(path, "w") as file:
            file.write(self.head)
            for i, key in enumerate(chosen):
                text = self.texts[key].replace("NAME", f"kernel{i}")
                if registers[key]:
                    text = text.replace("\n{", f"\n.maxnreg {registers[key]}\n{{", 1)
                # Dynamic shared memory is declared outside of its kernel.
                for symbol in sorted(set(re.findall(rf"\b(kernel{i}_(?!param)\w+)", text))):
                    if f" {symbol}[" not in text.replace(f"[{symbol}", ""):
                        file.write(f".extern .shared .align 128 .b8 {symbol}[];\n")
                file.write(text + "\n")
        done = subprocess.run(["ptxas", "-v", "-O3", "-arch=" + target, "-o", os.devnull, path],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = re.findall(r"Function properties for kernel(\d+)\n.* (\d+) bytes spill stores, "
                           r"(\d+) bytes spill loads\n.*Used (\d+) registers", done.stderr)
        assert len(found) == len(chosen), done.stderr
        return {chosen[int(i)]: (int(used), int(stores) + int(loads))
                for i, stores, loads, used in found}


def shorten(folder, spec, steps, dot=None):
    """The spec with so many steps of Newton-Schulz, whose kernels are alike, and a `dot`."""
    path = os.path.join(folder, f"{dot or 'short'}.mlir")
    with open(spec) as source:
        text = re.sub(r'schedule = "(?!samuon)\w+",\s*steps = \d+(,\s*safety = [\d.]+)?',
                      f'schedule = "jordan", steps = {steps}', source.read())
    if dot:
        text = re.sub(r"(geo.spectral %\w+ radius\(%\w+\))", rf"\1 dot({dot})", text)
    with open(path, "w") as file:
        file.write(text)
    return path


kernels, known = Kernels(), set()
with tempfile.TemporaryDirectory() as folder:
    for spec in sys.argv[2:]:
        with open(spec) as file:
            text = file.read()
        for rule, body in re.findall(r"^optim.rule @(\w+)(.*?)^}", text, re.M | re.S):
            # Functions of the host have no kernels here.
            if body in known or ("geo.row_diameter" in body and "relax" not in body):
                continue
            known.add(body)
            multiplies = "geo.spectral" in body or "geo.equidistant" in body
            kernels.add(compile_ptx(folder, shorten(folder, spec, 1) if multiplies else spec, rule,
                                    PRODUCTS if multiplies else ROWS),
                        os.path.basename(spec))
        if os.path.basename(spec) == "paper.mlir":
            for dot in "ieee", "tf32x3", "bf16":
                kernels.add(compile_ptx(folder, shorten(folder, spec, 2, dot), "muon", TILES), dot,
                            products=True)
    for target in sys.argv[1].split(","):
        facts = kernels.assemble(target, folder, dict.fromkeys(kernels.texts))
        raised = {key: min(255, 2 * used) for key, (used, spilled) in facts.items() if spilled}
        again = kernels.assemble(target, folder, raised) if raised else {}
        for key, (used, spilled) in again.items():
            assert not spilled, f"{target} {kernels.labels[key]} spills {spilled} bytes"
        print(f"{target}: {len(facts)} kernels, none spills, {len(raised)} of them with more registers "
              "than ptxas would give them")
