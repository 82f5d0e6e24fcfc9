"""What ptxas makes of a kernel, as one line: `sass.py FILE.ptx ARCH NAME`. Runs ptxas
and cuobjdump; counts instructions up to the first EXIT, and those of the longest
loop."""

import collections
import re
import subprocess
import sys


def main():
    ptx, arch, name = sys.argv[1:]
    cubin = ptx + "." + arch + ".cubin"
    log = subprocess.run(
        ["ptxas", "-v", "-O3", f"-arch={arch}", ptx, "-o", cubin],
        check=True, capture_output=True, text=True,
    ).stderr
    entry = log[log.index(f"'{name}'") :]
    spills = re.search(r"(\d+) bytes spill stores", entry).group(1)
    registers = re.search(r"Used (\d+) registers", entry).group(1)
    sass = subprocess.run(
        ["cuobjdump", "-sass", cubin], check=True, capture_output=True, text=True
    ).stdout
    body = sass[re.search(rf"Function : {name}\n", sass).end() :].split("Function :")[0]
    lines = [(int(a, 16), t) for a, t in re.findall(r"/\*([0-9a-f]{4,5})\*/\s+([^;]+);", body)]
    words = [re.sub(r"^@!?U?P\w+ ", "", text).split()[0] for _, text in lines]
    end = words.index("EXIT") + 1
    print(f"{name} {arch}: registers {registers} spilled {spills} instructions {end}")
    for word, count in sorted(collections.Counter(words[:end]).items()):
        if re.match("LDG|STG|SHFL|BAR|LDL|STL", word):
            print(f"  {word} {count}")
    loops = [
        words[next(i for i, line in enumerate(lines) if line[0] == int(to, 16)) : at + 1]
        for at, (address, text) in enumerate(lines)
        for to in re.findall(r"BRA(?:\.U)? (?:U?P\d, )?(0x[0-9a-f]+)", text)
        if int(to, 16) < address
    ]
    if loops:
        loop = max(loops, key=len)
        products = sum(word.startswith(("HMMA", "FFMA")) for word in loop)
        print(f"  loop of {len(loop)} with {products} products")


main()
