#!/usr/bin/env python3
"""sbom.py --package NAME --version V --maps DIR --out FILE ROOT: what the programs below ROOT are made of.

Writes CycloneDX 1.5. Not from a list of what might be linked: archives are those of which the linker took something, as
its map says (-Wl,-Map=%.map beside each program, somewhere below DIR); shared objects are those that the program asks
for. Each is named by the package of the system that it came from.
"""
import argparse
import functools
import glob
import hashlib
import json
import os
import re
import subprocess
import time
import uuid

# Debian's texts about these two are no machine's to read.
LICENSES = {"glibc": "LGPL-2.1-or-later", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1"}


def said(argv):
    """What a command prints; nothing where there is no such command."""
    try:
        return subprocess.run(argv, text=True, capture_output=True).stdout
    except FileNotFoundError:
        return ""


@functools.lru_cache(None)
def licence(package, source):
    for name, text in LICENSES.items():
        if re.fullmatch(name + r"(-\d+)?", source):
            return text
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^License: *(\S.*)$", file.read(), re.M)
    except OSError:
        return None
    return found.group(1) if found else None


@functools.lru_cache(None)
def distribution():
    with open("/etc/os-release", encoding="utf-8") as file:
        words = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    return words.get("ID", "linux").strip('"'), words.get("VERSION_ID", "").strip('"')


@functools.lru_cache(None)
def component(path):
    """The component that a library's file belongs to, or None for a file that is no system's."""
    path = os.path.realpath(path)
    for name in (path, path.removeprefix("/usr"), "/usr" + path):
        owner = said(["dpkg-query", "-S", name]).split(": ")[0].split(",")[0]
        if owner:
            break
    if not owner:
        return None if not path.startswith(("/usr/lib", "/lib")) else {
            "type": "library", "bom-ref": path, "name": os.path.basename(path)}
    package, release, source, arch = said(["dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package} "
                                           "${Architecture}", owner]).split()
    system, number = distribution()
    found = {"type": "library", "bom-ref": f"pkg:deb/{system}/{package}@{release}?arch={arch}&distro={system}-{number}",
             "name": source, "version": release}
    found["purl"] = found["bom-ref"].replace("+", "%2B")
    if licence(package, source):
        found["licenses"] = [{"license": {"name": licence(package, source)}}]
    return found


def linked(path, maps):
    """(file of a library, "static" or "dynamic") for everything that a program was linked with."""
    name = os.path.basename(os.path.realpath(path))
    for file in sorted(glob.glob(f"{glob.escape(maps)}/**/{glob.escape(name)}.map", recursive=True))[:1]:
        with open(file, encoding="utf-8", errors="replace") as text:
            members = text.read().split("\n\nAs-needed", 1)[0].split("\n\nDiscarded", 1)[0]
        for archive in sorted(set(re.findall(r"^(/\S+\.a)\(", members, re.M))):
            yield archive, "static"
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", said(["readelf", "-d", "-W", path])):
        found = said(["cc", f"-print-file-name={needed}"]).strip()
        if os.path.isabs(found):
            yield found, "dynamic"


def of_pkgconfig(path):
    """What a program that links our archive links as well."""
    with open(path, encoding="utf-8") as file:
        for line in re.findall(r"^Requires(?:\.private)?: *(.*)$", file.read(), re.M):
            for name in re.findall(r"[A-Za-z][\w.+-]*", line):
                folder = said(["pkg-config", "--variable=libdir", name]).strip()
                for found in glob.glob(f"{folder}/{name}.so")[:1]:
                    yield found, "required"


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def write(target, package, version, when, files, maps):
    """files: name in the package -> file here."""
    components, dependencies, used = {}, [], set()
    root = f"{package}@{version}"
    for name, path in sorted(files.items()):
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        own = {"type": "file", "bom-ref": name, "name": name, "version": version,
               "hashes": [{"alg": "SHA-256", "content": digest}],
               "licenses": [{"license": {"id": "Apache-2.0"}}]}
        components[name] = own
        needs = set()
        for library, how in of_pkgconfig(path) if name.endswith(".pc") else linked(path, maps):
            found = component(library)
            if found is not None:
                entry = components.setdefault(found["bom-ref"], dict(found))
                hows = {p["value"] for p in entry.get("properties", [])} | {how}
                entry["properties"] = [{"name": "callgate:linked", "value": value} for value in sorted(hows)]
                needs.add(found["bom-ref"])
        dependencies.append({"ref": name, "dependsOn": sorted(needs)})
        used.add(name)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    bill = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": stamp, "component": {
            "type": "application", "bom-ref": root, "name": package, "version": version,
            "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [components[key] for key in sorted(components)],
        "dependencies": [{"ref": root, "dependsOn": sorted(used)}] + dependencies,
    }
    # Its number follows from what it says, so that two builds of the same are one bill.
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(bill, sort_keys=True))}"
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(bill, file, indent=1, ensure_ascii=False)
        file.write("\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--package", required=True)
    options.add_argument("--version", required=True)
    options.add_argument("--maps", required=True)
    options.add_argument("--out", required=True)
    options.add_argument("root")
    args = options.parse_args()
    files = {}
    for at, _, names in os.walk(args.root):
        for path in (os.path.join(at, name) for name in names):
            if not os.path.islink(path) and (is_program(path) or path.endswith((".pc", ".a"))):
                files[os.path.relpath(path, args.root)] = path
    write(args.out, args.package, args.version, int(os.environ["SOURCE_DATE_EPOCH"]), files, args.maps)


if __name__ == "__main__":
    main()
