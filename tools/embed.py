#!/usr/bin/env python3
"""embed.py OUTPUT FOLDER FILE...: writes C that holds the files of the page, under their paths below FOLDER."""
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".json": "application/json; charset=utf-8", ".svg": "image/svg+xml"}


def literal(data):
    """Lines of hexadecimal escapes: no byte of a file means anything to the compiler."""
    return "\n".join('    "' + "".join(f"\\x{b:02x}" for b in data[i:i + 32]) + '"' for i in range(0, len(data), 32)) or '    ""'


def main():
    output, folder, *files = sys.argv[1:]
    parts = ["/* Made by tools/embed.py. */", '#include "console/internal.h"', "", "extern const struct asset console_assets[];",
             "extern const size_t console_asset_count;", "", "const struct asset console_assets[] = {"]
    for name in files:
        with open(name, "rb") as file:
            data = file.read()
        path = "/" + os.path.relpath(name, folder)
        tag = hashlib.sha256(data).hexdigest()[:16]
        parts.append(f'{{"{path}", "{TYPES[os.path.splitext(name)[1]]}", "\\"{tag}\\"", {{\n{literal(data)},\n    {len(data)}}}}},')
    parts += ["};", "const size_t console_asset_count = sizeof(console_assets) / sizeof(console_assets[0]);", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(parts))


main()
