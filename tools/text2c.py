#!/usr/bin/env python3
"""text2c.py NAME FILE: a text file as the initialiser of a C string, `static const char NAME[]`."""
import sys

name, path = sys.argv[1:]
print(f"static const char {name}[] =")
for line in open(path, encoding="utf-8"):
    print('    "' + line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"') + '\\n"')
print("    ;")
