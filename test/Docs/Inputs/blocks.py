"""blocks.py ROOT PAGE: checks a guide's code against what the tests run.

A code block behind a comment `<!-- FILE -->` must stand in that file of the
project, line by line. Blocks of commands (sh) are printed: a test runs them.
Every other block must have its file.
"""

import os
import re
import sys

root, page = sys.argv[1:]
with open(page) as file:
    text = file.read()
blocks = re.findall(r"(?:<!-- (\S+) -->\n)?```(\w*)\n(.*?)```", text, re.S)
if not blocks:
    sys.exit(f"{page}: it has no code blocks")
for path, language, code in blocks:
    if language == "sh":
        print(code, end="")
        continue
    if not path:
        sys.exit(f"{page}: the {language} block that begins with "
                 f"{code.splitlines()[0]!r} names no file of the project")
    with open(os.path.join(root, path)) as file:
        if code not in file.read():
            sys.exit(f"{page}: the block that begins with {code.splitlines()[0]!r} "
                     f"is not in {path}, line by line")
