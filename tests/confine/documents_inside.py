#!/usr/bin/env python3
"""documents_inside.py HOME DIR...: which of these directories, below HOME, a confined program can write to."""
import os
import sys

for name in sys.argv[2:]:
    path = os.path.join(sys.argv[1], name, "made-inside")
    try:
        with open(path, "x"):
            print(name, "written")
    except OSError as error:
        print(name, os.strerror(error.errno))
# A read-only directory does not become another one by a new name of what is above it.
try:
    os.rename(sys.argv[1] + "/proj/deep", sys.argv[1] + "/proj/deep2")
    os.rename(sys.argv[1] + "/proj/deep2", sys.argv[1] + "/proj/deep")
    print("renamed")
except OSError as error:
    print("rename", os.strerror(error.errno))
