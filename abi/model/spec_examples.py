# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles the C blocks of abi/SPEC.md, and runs those that have a main.

A block is preceded by `<!-- example NAME [after NAME...] [run] -->`: the named blocks come in front of it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
BLOCK = re.compile(r"(?:<!-- example (.*?) -->\n)?```c\n(.*?)\n```\n", re.S)


ABI = pathlib.Path(__file__).resolve().parent.parent


def main():
    cc, texts, bad = os.environ.get("CC", "cc").split(), {}, 0
    for tag, text in BLOCK.findall((ABI / "SPEC.md").read_text()):
        if not tag:
            print("a block without a name: " + text.split("\n")[0])
            bad += 1
            continue
        words = tag.split()
        run = words[-1] == "run"
        name, after = words[0], words[2:len(words) - run]
        texts[name] = text
        with tempfile.TemporaryDirectory() as folder:
            vendored = pathlib.Path(folder, "vendored")
            vendored.mkdir()
            shutil.copy(ABI / "toft_abi.h", vendored)  # version 1 never changes
            source, program = pathlib.Path(folder, name + ".c"), str(pathlib.Path(folder, name))
            source.write_text("\n".join([texts[n] for n in after] + [text, ""]))
            # other blocks use some of its functions
            quiet = ["-fsyntax-only", "-Wno-unused-function", "-Wno-unused-const-variable"]
            how = ["-o", program] if run else quiet
            failed = subprocess.call(cc + FLAGS + ["-I", str(ABI), "-I", folder] + how + [str(source)])
            failed = failed or run and subprocess.call([program])
        print("%s: %s" % (name, "FAILED" if failed else "runs" if run else "compiles"))
        bad += bool(failed)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
