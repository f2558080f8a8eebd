"""Instructions of one evaluation, as callgrind counts them: these repeat exactly."""
import os
import re
import subprocess

from .common import SIZES, count, row, tool

TITLE = "Instructions of one evaluation"
NOTE = ("`valgrind --tool=callgrind` over 2,000 calls, as above; looking the call's strings up included. Not a time, but "
        "the same on every machine with this compiler.")
CALLS = 2000


def rows(folder):
    for size in SIZES:
        argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.path.join(folder, 'callgrind.out')}",
                "--instr-atstart=no", "--toggle-collect=measured*", tool("evaluation"), str(size), str(CALLS)]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        total = int(re.search(r"Collected : (\d+)", done.stderr).group(1))
        if total == 0:
            raise RuntimeError("callgrind counted nothing: is valgrind/callgrind.h missing where this was built?")
        yield row(f"{count(size)} rules", {"instructions": total / CALLS}, count(total / CALLS))
