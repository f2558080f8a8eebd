#!/usr/bin/env python3
"""build.py static|deb|npm|wheel|image|all [--out DIR]: makes packages of this tree, into dist/.

What a package holds is what Meson installs, chosen by its tags; nothing here lists files. The same tree on the same
system gives the same bytes, wherever it lies and whenever it is built: paths are mapped away, times come from the
changelog of packaging/debian.
"""
import argparse
import email.utils
import os
import platform
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = os.path.join(TOP, "packaging")
WORK = os.path.join(TOP, "build-packages")
sys.path.insert(0, HERE)
import archives  # noqa: E402
import sbom  # noqa: E402

MACHINE = platform.machine()


def version():
    with open(os.path.join(TOP, "meson.build"), encoding="utf-8") as file:
        return re.search(r"^  version: '([^']+)'", file.read(), re.M).group(1)


def release_time():
    """Seconds since 1970 of the changelog's newest entry: the time of everything in a package."""
    with open(os.path.join(HERE, "debian", "changelog"), encoding="utf-8") as file:
        date = re.search(r"^ -- .*>  (.+)$", file.read(), re.M).group(1)
    return int(email.utils.parsedate_to_datetime(date).timestamp())


def run(argv, **more):
    """Runs a command quietly; shows what it printed when it fails, and ends."""
    done = subprocess.run(argv, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-6000:]}\ncallgate: this failed: {' '.join(argv)}")
    return done.stdout


def fresh(*parts):
    folder = os.path.join(WORK, *parts)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def copy(source, target, mode=0o644):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, mode)


def build():
    """The programs without debugging symbols, installed below WORK/root. Returns the build folder and that root."""
    folder = os.path.join(WORK, "meson")
    # Nothing of the caller's environment gets into the programs.
    env = {key: value for key, value in os.environ.items() if key not in ("CFLAGS", "CPPFLAGS", "LDFLAGS")}
    env.update(SOURCE_DATE_EPOCH=str(release_time()), LC_ALL="C.UTF-8")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        # A linker's map beside each program tells the SBOM what the linker took.
        run(["meson", "setup", folder, "--prefix", "/usr/local", "--strip", "-Dtests=false",
             f"-Dc_args=-ffile-prefix-map={TOP}=.", "-Dc_link_args=-Wl,-Map=%.map"], cwd=TOP, env=env)
    run(["ninja", "-C", folder, "--quiet"], env=env)
    root = fresh("root")
    run(["meson", "install", "-C", folder, "--no-rebuild", "--quiet", "--destdir", root], env=env)
    return folder, root


def static_program(root):
    program = os.path.join(root, "usr", "local", "bin", "callgate-static")
    if not os.path.exists(program):
        sys.exit("callgate: a static program cannot be linked here: one of the libraries has no archive")
    return program


def library(folder):
    """libcallgate for the wheel: with utf8proc in it, because no other system need have that one. Stripped."""
    target = os.path.join(WORK, "libcallgate.so")
    run(["cc", "-shared", "-o", target, "-Wl,-soname,libcallgate.so.1", "-Wl,-z,relro,-z,now", "-Wl,-Map=%.map",
         "-Wl,--whole-archive", os.path.join(folder, "src", "api", "libcallgate.a"), "-Wl,--no-whole-archive",
         "-l:libutf8proc.a", f"-Wl,--version-script={TOP}/src/api/callgate.map"])
    run(["strip", target])
    return target


def declarations():
    """callgate.h without what a preprocessor takes."""
    with open(os.path.join(TOP, "include", "callgate.h"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    text = text.replace('extern "C" {\n#endif', "").replace("#ifdef __cplusplus\n}\n", "")
    text = re.sub(r"^#.*\n|\b(CG_API|CG_MUST_USE)\b *", "", text, flags=re.M)
    return re.sub(r"\n\s*\n+", "\n", text).strip()


def write_sbom(target, package, files, maps):
    """files: name in the package -> file here. The maps are looked for below the folder `maps`."""
    sbom.write(target, package, version(), release_time(), files, maps)


def notes(folder):
    """What every package says of itself."""
    for source in ("LICENSE", "CHANGELOG.md", "docs/upgrading.md"):
        copy(os.path.join(TOP, source), os.path.join(folder, os.path.basename(source)))


def out_file(out, name):
    os.makedirs(out, exist_ok=True)
    return os.path.join(out, name)


def make_static(out):
    """The static file, and an archive of it with man pages, completions and documents: a prefix to unpack into."""
    folder, root = build()
    name = f"callgate-{version()}-linux-{MACHINE}"
    program = static_program(root)
    prefix = fresh("static", name)
    run(["meson", "install", "-C", folder, "--no-rebuild", "--quiet", "--tags", "man,doc,completion",
         "--destdir", os.path.join(WORK, "static", "root")])
    shutil.copytree(os.path.join(WORK, "static", "root", "usr", "local"), prefix, symlinks=True, dirs_exist_ok=True)
    copy(program, os.path.join(prefix, "bin", "callgate"), 0o755)
    write_sbom(os.path.join(prefix, "share", "doc", "callgate", "sbom.cdx.json"), "callgate-static",
               {"bin/callgate": program}, folder)
    copy(program, out_file(out, name), 0o755)
    archives.write_tar(out_file(out, name + ".tar.gz"), os.path.dirname(prefix), name, release_time())
    return [name, name + ".tar.gz"]


def make_deb(out):
    """Debian's packages for the system that this runs on, by dpkg-buildpackage, in a copy of the tree."""
    source = fresh("deb", f"callgate-{version()}")
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            text=True, capture_output=True)
    if listed.returncode == 0:
        files = [name for name in listed.stdout.split("\0") if os.path.isfile(os.path.join(TOP, name))]
    else:
        files = [os.path.relpath(os.path.join(at, name), TOP) for at, folders, names in os.walk(TOP)
                 if not folders.__setitem__(slice(None), [d for d in folders if not re.match(r"build|dist$|\.", d)])
                 for name in names]
    for name in files:
        target = os.path.join(source, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(os.path.join(TOP, name), target)
    shutil.copytree(os.path.join(source, "packaging", "debian"), os.path.join(source, "debian"))
    needed = run([os.path.join(TOP, "tools", "deps.sh"), "list"]).split()
    control = os.path.join(source, "debian", "control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(text.replace("@needed-for-a-build@", ",\n ".join(needed)))
    env = {key: value for key, value in os.environ.items() if not key.startswith("DEB_") and
           key not in ("CFLAGS", "CPPFLAGS", "LDFLAGS", "SOURCE_DATE_EPOCH")}
    run(["dpkg-buildpackage", "--build=binary", "--unsigned-changes", "--no-pre-clean"], cwd=source, env=env)
    made = [name for name in sorted(os.listdir(os.path.dirname(source))) if re.search(r"\.(deb|changes|buildinfo)$", name)]
    for name in made:
        copy(os.path.join(os.path.dirname(source), name), out_file(out, name))
    return made


def make_npm(out):
    folder, root = build()
    package = fresh("npm")
    archives.copy_template(os.path.join(HERE, "npm"), package, {
        "@version@": version(), "@cpu@": {"x86_64": "x64", "aarch64": "arm64"}.get(MACHINE, MACHINE)})
    program = static_program(root)
    copy(program, os.path.join(package, "bin", "callgate"), 0o755)
    notes(package)
    write_sbom(os.path.join(package, "sbom.cdx.json"), "callgate-npm", {"bin/callgate": program}, folder)
    # npm sets every time in the archive itself.
    name = run(["npm", "pack", "--silent", "--pack-destination", WORK], cwd=package).split()[-1]
    copy(os.path.join(WORK, name), out_file(out, f"callgate-npm-{version()}-{MACHINE}.tgz"))
    return [f"callgate-npm-{version()}-{MACHINE}.tgz"]


def make_wheel(out):
    folder, root = build()
    package = fresh("wheel")
    shared = library(folder)
    archives.copy_template(os.path.join(HERE, "python"), package, {
        "@version@": version(), "@declarations@": declarations()})
    copy(shared, os.path.join(package, "callgate", "libcallgate.so"), 0o755)
    program = static_program(root)
    name = archives.write_wheel(
        out_file(out, ""), package, program, version(), release_time(),
        f"manylinux_{'_'.join(archives.newest_glibc(shared))}_{MACHINE}",
        lambda info: (notes(info), write_sbom(
            os.path.join(info, "sboms", "callgate.cdx.json"), "callgate-python",
            {"bin/callgate": program, "callgate/libcallgate.so": shared}, WORK)))
    return [name]


def make_image(out):
    """The image's context, and with buildah the image itself, as an archive that any engine loads."""
    folder, root = build()
    context = fresh("image")
    program = static_program(root)
    archives.copy_template(os.path.join(HERE, "image"), context, {"@version@": version()})
    tree = os.path.join(context, "root")
    os.makedirs(os.path.join(context, "home", ".local", "state"), 0o755)
    copy(program, os.path.join(tree, "usr", "bin", "callgate"), 0o755)
    notes(os.path.join(tree, "usr", "share", "doc", "callgate"))
    write_sbom(os.path.join(tree, "usr", "share", "doc", "callgate", "sbom.cdx.json"), "callgate-image",
               {"usr/bin/callgate": program}, folder)
    name = f"callgate-image-{version()}-{MACHINE}.tar"
    archives.write_tar(out_file(out, name.replace(".tar", "-context.tar.gz")), context, ".", release_time())
    made = [name.replace(".tar", "-context.tar.gz")]
    if shutil.which("buildah"):
        tag = f"callgate:{version()}"
        run(["buildah", "build", "--isolation", "chroot", "--storage-driver", "vfs", "--timestamp",
             str(release_time()), "--tag", tag, context])
        target = out_file(out, name)
        if os.path.exists(target):
            os.remove(target)
        run(["buildah", "push", "--storage-driver", "vfs", tag, f"oci-archive:{target}:{tag}"])
        run(["buildah", "rmi", "--storage-driver", "vfs", tag])
        made.append(name)
    else:
        print("callgate: no buildah here: the image is left as its context", file=sys.stderr)
    return made


MAKERS = {"static": make_static, "deb": make_deb, "npm": make_npm, "wheel": make_wheel, "image": make_image}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", nargs="+", choices=[*MAKERS, "all"])
    options.add_argument("--out", default=os.path.join(TOP, "dist"))
    args = options.parse_args()
    os.umask(0o022)
    out = os.path.abspath(args.out)
    for what in MAKERS if "all" in args.what else args.what:
        for name in MAKERS[what](out):
            path = os.path.join(out, name)
            print(f"{os.path.getsize(path):>10,} bytes  {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
