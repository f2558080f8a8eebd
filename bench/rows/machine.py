"""What the figures were measured on and with."""
import datetime
import json
import os
import platform
import subprocess

from .common import BUILD, CALLGATE, TOP, run


def first_line(argv):
    try:
        return run(argv, stderr=subprocess.DEVNULL).split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cpu():
    fields = {}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name", platform.machine())
    if "cpu family" in fields:
        name += f", family {fields['cpu family']} model {fields.get('model')}"
    return name, "hypervisor" in fields.get("flags", "").split()


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def file_system(folder):
    """The type and the device of the mount that a folder is on."""
    best = ("", "unknown", "")
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            device, point, kind = line.split()[:3]
            inside = point == "/" or (folder + "/").startswith(point + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, kind, device)
    return f"{best[1]} on {best[2]}"


def build_options():
    options = {option["name"]: option["value"]
               for option in json.loads(run(["meson", "introspect", "--buildoptions", BUILD]))}
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        compiler = json.load(file)[0]["command"].split()[0]
    return options, first_line([compiler, "--version"])


def describe(folder):
    name, virtual = cpu()
    options, compiler = build_options()
    return {
        "cpu": name,
        "cores": len(os.sched_getaffinity(0)),
        "virtual": virtual,
        "memory_gib": round(memory_gib(), 1),
        "kernel": platform.release(),
        "file_system": file_system(os.path.realpath(folder)),
        "compiler": compiler,
        "buildtype": options["buildtype"],
        "optimization": options["optimization"],
        "sanitize": options.get("b_sanitize", "none"),
        "version": first_line([CALLGATE, "--version"]),
        "commit": first_line(["git", "-C", TOP, "describe", "--always", "--dirty", "--exclude=*"]),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def lines(machine):
    """For people."""
    return [
        f"{machine['cores']} cores of {machine['cpu']}{' (virtual)' if machine['virtual'] else ''}, "
        f"{machine['memory_gib']} GiB; Linux {machine['kernel']}; journals on {machine['file_system']}",
        f"{machine['version']}, commit {machine['commit']}; {machine['compiler']}, build type {machine['buildtype']}, "
        f"optimization {machine['optimization']}",
        f"{machine['date']}; load average at the start {machine['load_at_start']}",
    ]


def warnings(machine):
    """Why the figures may not be what they seem."""
    found = []
    if machine["optimization"] not in ("2", "3", "s") or machine["sanitize"] != "none":
        found.append(f"this build is not optimised (optimization {machine['optimization']}, sanitize "
                     f"{machine['sanitize']}): `meson configure build -Dbuildtype=debugoptimized -Db_sanitize=none`")
    if machine["load_at_start"] > machine["cores"] / 4:
        found.append(f"the machine is busy (load average {machine['load_at_start']}): times are longer than they need be")
    if machine["file_system"].split()[0] in ("tmpfs", "ramfs"):
        found.append("journals are on a file system in memory: flushing costs nothing there")
    return found
