"""Archives whose bytes follow from their content alone: sorted names, one time, no owner, two modes."""
import base64
import contextlib
import csv
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import time
import zipfile


def walk(folder):
    """Every file, link and folder below, as names relative to it, sorted."""
    names = []
    for at, folders, files in os.walk(folder):
        names += [os.path.relpath(os.path.join(at, name), folder) for name in folders + files]
    return sorted(names)


def write_tar(target, folder, name, when, packed=True):
    """folder/name and what is below it, as a .tar.gz (or .tar); name "." for the folder's content alone."""
    start = os.path.normpath(os.path.join(folder, name))
    with contextlib.ExitStack() as closing:
        file = closing.enter_context(open(target, "wb"))
        if packed:
            file = closing.enter_context(gzip.GzipFile("", "wb", 9, file, mtime=when))
        tar = closing.enter_context(tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT))
        for inner in ([""] if name != "." else []) + walk(start):
            path = os.path.join(start, inner) if inner else start
            info = tar.gettarinfo(path, os.path.normpath(os.path.join(name, inner)))
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            info.mtime = when
            info.mode = 0o755 if info.isdir() or info.issym() or info.mode & 0o100 else 0o644
            if info.isreg():
                with open(path, "rb") as content:
                    tar.addfile(info, content)
            else:
                tar.addfile(info)


def set_times(folder, when):
    """For programs that pack a folder with the times that they find."""
    for name in walk(folder) + ["."]:
        os.utime(os.path.join(folder, name), (when, when), follow_symlinks=False)


def copy_template(source, target, words):
    """A folder of texts, with @words@ in them replaced; a file's .in goes from its name."""
    for name in walk(source):
        path = os.path.join(source, name)
        if os.path.isfile(path) and "__pycache__" not in name:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for word, value in words.items():
                text = text.replace(word, value)
            copy = os.path.join(target, name.removesuffix(".in"))
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(copy, "w", encoding="utf-8") as file:
                file.write(text)
            shutil.copymode(path, copy)


def newest_glibc(library):
    """The newest version of glibc's symbols that a library asks for, as ["2", "33"]."""
    asked = subprocess.run(["readelf", "-V", "-W", library], text=True, capture_output=True, check=True).stdout
    return [str(n) for n in max(tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_(2\.\d+)", asked))]


def write_wheel(out, package, program, version, when, platform, add_notes):
    """A wheel of the folder `package` (its METADATA is beside the module's folder) with the program among its scripts."""
    stem = f"callgate-{version}"
    name = f"{stem}-py3-none-{platform}.whl"
    info = os.path.join(package, f"{stem}.dist-info")
    os.makedirs(info)
    shutil.move(os.path.join(package, "METADATA"), info)
    with open(os.path.join(info, "WHEEL"), "w", encoding="utf-8") as file:
        file.write(f"Wheel-Version: 1.0\nGenerator: callgate\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n")
    add_notes(info)
    scripts = os.path.join(package, f"{stem}.data", "scripts")
    os.makedirs(scripts)
    shutil.copy(program, scripts)
    os.rename(os.path.join(scripts, os.path.basename(program)), os.path.join(scripts, "callgate"))
    record = io.StringIO()
    lines = csv.writer(record, lineterminator="\n")
    stamp = max(time.gmtime(when)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(os.path.join(out, name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(inner, data, mode):
            entry = zipfile.ZipInfo(inner, stamp)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
        for inner in walk(package):
            path = os.path.join(package, inner)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.writerow([inner, f"sha256={digest}", len(data)])
                add(inner, data, 0o755 if os.access(path, os.X_OK) and os.stat(path).st_mode & 0o100 else 0o644)
        lines.writerow([f"{stem}.dist-info/RECORD", "", ""])
        add(f"{stem}.dist-info/RECORD", record.getvalue().encode(), 0o644)
    return name
