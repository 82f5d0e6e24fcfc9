"""What ptxas makes of a kernel: `sass.py FILE.ptx ARCH NAME`. Runs ptxas and
cuobjdump; counts instructions up to the first EXIT, and those of the longest loop."""

import collections
import dataclasses
import re
import subprocess
import sys

PRODUCTS = ("HMMA", "HGMMA", "FFMA")


@dataclasses.dataclass
class Code:
    """Of one kernel: instructions are words like LDG.E.128."""

    registers: int
    spilled: int  # bytes
    instructions: list  # up to EXIT
    loop: list  # the longest; empty if there is none

    def count(self, pattern):
        """Instructions whose words begin with a pattern, by word."""
        found = collections.Counter(word for word in self.instructions if re.match(pattern, word))
        return sorted(found.items())

    def products(self):
        """How many products the loop has, and of what kind: "64 HMMA"."""
        found = collections.Counter(word.split(".")[0] for word in self.loop)
        return " and ".join(f"{found[word]} {word}" for word in PRODUCTS if found[word])


def assemble(ptx, arch):
    """The path of the cubin, and what ptxas says of it."""
    cubin = f"{ptx}.{arch}.cubin"
    command = ["ptxas", "-v", "-O3", f"-arch={arch}", ptx, "-o", cubin]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {run.stderr}")
    return cubin, run.stderr


def disassemble(cubin, log, name):
    """The Code of kernel `name`, from ptxas's log and the cubin."""
    entry = log[log.index(f"'{name}'") :]
    spilled = re.search(r"(\d+) bytes spill stores", entry).group(1)
    registers = re.search(r"Used (\d+) registers", entry).group(1)
    sass = subprocess.run(
        ["cuobjdump", "-sass", cubin], check=True, capture_output=True, text=True
    ).stdout
    body = sass[re.search(rf"Function : {name}\n", sass).end() :].split("Function :")[0]
    lines = [(int(a, 16), t) for a, t in re.findall(r"/\*([0-9a-f]{4,5})\*/\s+([^;]+);", body)]
    words = [re.sub(r"^@!?U?P\w+ ", "", text).split()[0] for _, text in lines]
    loops = [
        words[next(i for i, line in enumerate(lines) if line[0] == int(to, 16)) : at + 1]
        for at, (address, text) in enumerate(lines)
        for to in re.findall(r"BRA(?:\.U)? (?:!?U?P\d, )?(0x[0-9a-f]+)", text)
        if int(to, 16) < address
    ]
    end = words.index("EXIT") + 1
    return Code(int(registers), int(spilled), words[:end], max(loops, key=len, default=[]))


def main():
    ptx, arch, name = sys.argv[1:]
    code = disassemble(*assemble(ptx, arch), name)
    print(
        f"{name} {arch}: registers {code.registers} spilled {code.spilled} "
        f"instructions {len(code.instructions)}"
    )
    for word, count in code.count("LDG|STG|SHFL|BAR|LDL|STL"):
        print(f"  {word} {count}")
    if code.products():
        print(f"  loop of {len(code.loop)} with {code.products()}")


if __name__ == "__main__":
    main()
