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


def version(top=TOP):
    with open(os.path.join(top, "meson.build"), encoding="utf-8") as file:
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


def copy(source, target, mode=0o644):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, mode)


class Release:
    """A tree, built without debugging symbols and installed below `root`. Another tree than this one is an older release,
    of which the same packages are made, to upgrade from."""

    def __init__(self, top=TOP, work=WORK):
        self.top, self.work, self.version = top, work, version(top)
        self.folder, self.root = os.path.join(work, "meson"), os.path.join(work, "root")
        # Nothing of the caller's environment gets into the programs.
        env = {key: value for key, value in os.environ.items() if key not in ("CFLAGS", "CPPFLAGS", "LDFLAGS")}
        self.env = dict(env, SOURCE_DATE_EPOCH=str(release_time()), LC_ALL="C.UTF-8")
        if not os.path.exists(os.path.join(self.folder, "build.ninja")):
            # A linker's map beside each program tells the SBOM what the linker took.
            run(["meson", "setup", self.folder, "--prefix", "/usr/local", "--strip", "-Dwerror=false",
                 f"-Dc_args=['-ffile-prefix-map={top}=.']", "-Dc_link_args=-Wl,-Map=%.map"] +
                (["-Dtests=false"] if top == TOP else []), cwd=top, env=self.env)
        run(["ninja", "-C", self.folder, "--quiet"], env=self.env)
        shutil.rmtree(self.root, ignore_errors=True)
        self.install(self.root)
        self.program = os.path.join(self.root, "usr", "local", "bin", "callgate-static")
        if not os.path.exists(self.program):
            sys.exit("callgate: a static program cannot be linked here: one of the libraries has no archive")

    def install(self, root, *more):
        run(["meson", "install", "-C", self.folder, "--no-rebuild", "--quiet", "--destdir", root, *more], env=self.env)

    def fresh(self, *parts):
        folder = os.path.join(self.work, *parts)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder

    def library(self):
        """libcallgate for the wheel: with utf8proc in it, because no other system need have that one. Stripped."""
        target = os.path.join(self.folder, "wheel", "libcallgate.so")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        run(["cc", "-shared", "-o", target, "-Wl,-soname,libcallgate.so.1", "-Wl,-z,relro,-z,now", "-Wl,-Map=%.map",
             "-Wl,--whole-archive", os.path.join(self.folder, "src", "api", "libcallgate.a"), "-Wl,--no-whole-archive",
             "-l:libutf8proc.a", f"-Wl,--version-script={self.top}/src/api/callgate.map"])
        run(["strip", target])
        return target

    def sbom(self, target, package, files):
        """files: name in the package -> file here."""
        sbom.write(target, package, self.version, release_time(), files, self.folder)

    def declarations(self):
        """callgate.h without what a preprocessor takes."""
        with open(os.path.join(self.top, "include", "callgate.h"), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        text = text.replace('extern "C" {\n#endif', "").replace("#ifdef __cplusplus\n}\n", "")
        text = re.sub(r"^#.*\n|\b(CG_API|CG_MUST_USE)\b *", "", text, flags=re.M)
        return re.sub(r"\n\s*\n+", "\n", text).strip()


def notes(folder):
    """What every package says of itself."""
    for source in ("LICENSE", "CHANGELOG.md", "docs/upgrading.md"):
        copy(os.path.join(TOP, source), os.path.join(folder, os.path.basename(source)))


def out_file(out, name):
    os.makedirs(out, exist_ok=True)
    return os.path.join(out, name)


def make_static(out, release=None):
    """The static file, and an archive of it with man pages, completions and documents: a prefix to unpack into."""
    release = release or Release()
    name = f"callgate-{release.version}-linux-{MACHINE}"
    release.fresh("static")
    os.makedirs(os.path.join(release.work, "static", "root", "usr", "local"))
    prefix = os.path.join(release.work, "static", name)
    release.install(os.path.join(release.work, "static", "root"), "--tags", "man,doc,completion")
    os.rename(os.path.join(release.work, "static", "root", "usr", "local"), prefix)
    copy(release.program, os.path.join(prefix, "bin", "callgate"), 0o755)
    release.sbom(os.path.join(prefix, "share", "doc", "callgate", "sbom.cdx.json"), "callgate-static",
                 {"bin/callgate": release.program})
    copy(release.program, out_file(out, name), 0o755)
    archives.write_tar(out_file(out, name + ".tar.gz"), os.path.dirname(prefix), name, release_time())
    return [name, name + ".tar.gz"]


def make_deb(out):
    """Debian's packages for the system that this runs on, by dpkg-buildpackage, in a copy of the tree."""
    shutil.rmtree(os.path.join(WORK, "deb"), ignore_errors=True)
    source = os.path.join(WORK, "deb", f"callgate-{version()}")
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
    archives.set_times(source, release_time())  # dpkg only takes down what is newer
    env = {key: value for key, value in os.environ.items() if not key.startswith("DEB_") and
           key not in ("CFLAGS", "CPPFLAGS", "LDFLAGS", "SOURCE_DATE_EPOCH")}
    run(["dpkg-buildpackage", "--build=binary", "--unsigned-changes", "--no-pre-clean"], cwd=source, env=env)
    made = [name for name in sorted(os.listdir(os.path.dirname(source))) if re.search(r"\.(deb|changes|buildinfo)$", name)]
    for name in made:
        copy(os.path.join(os.path.dirname(source), name), out_file(out, name))
    return made


def make_npm(out, release=None):
    if shutil.which("npm") is None:
        sys.exit("callgate: npm packs this one: install npm")
    release = release or Release()
    package = release.fresh("npm")
    archives.copy_template(os.path.join(HERE, "npm"), package, {
        "@version@": release.version, "@cpu@": {"x86_64": "x64", "aarch64": "arm64"}.get(MACHINE, MACHINE)})
    copy(release.program, os.path.join(package, "bin", "callgate"), 0o755)
    notes(package)
    release.sbom(os.path.join(package, "sbom.cdx.json"), "callgate-npm", {"bin/callgate": release.program})
    # npm sets every time in the archive itself.
    made = run(["npm", "pack", "--silent", "--pack-destination", release.work], cwd=package).split()[-1]
    name = f"callgate-npm-{release.version}-{MACHINE}.tgz"
    copy(os.path.join(release.work, made), out_file(out, name))
    return [name]


def make_wheel(out, release=None):
    release = release or Release()
    package = release.fresh("wheel")
    shared = release.library()
    archives.copy_template(os.path.join(HERE, "python"), package, {
        "@version@": release.version, "@declarations@": release.declarations()})
    copy(shared, os.path.join(package, "callgate", "libcallgate.so"), 0o755)

    def add_notes(info):
        notes(info)
        release.sbom(os.path.join(info, "sboms", "callgate.cdx.json"), "callgate-python",
                     {"bin/callgate": release.program, "callgate/libcallgate.so": shared})

    platform_tag = f"manylinux_{'_'.join(archives.newest_glibc(shared))}_{MACHINE}"
    return [archives.write_wheel(out_file(out, ""), package, release.program, release.version, release_time(),
                                 platform_tag, add_notes)]


def make_image(out, release=None):
    """The image's context, and with buildah the image itself, as an archive that any engine loads."""
    release = release or Release()
    context = release.fresh("image")
    archives.copy_template(os.path.join(HERE, "image"), context, {"@version@": release.version})
    tree = os.path.join(context, "root")
    doc = os.path.join(tree, "usr", "share", "doc", "callgate")
    os.makedirs(os.path.join(context, "home", ".local", "state"), 0o755)
    copy(release.program, os.path.join(tree, "usr", "bin", "callgate"), 0o755)
    notes(doc)
    release.sbom(os.path.join(doc, "sbom.cdx.json"), "callgate-image", {"usr/bin/callgate": release.program})
    name = f"callgate-image-{release.version}-{MACHINE}.tar"
    made = [name.replace(".tar", "-context.tar.gz")]
    archives.write_tar(out_file(out, made[0]), context, ".", release_time())
    if shutil.which("buildah"):
        tag = f"callgate:{release.version}"
        store = ["--storage-driver", "vfs", "--root", os.path.join(release.work, "images"),
                 "--runroot", os.path.join(release.work, "images-run")]
        archives.set_times(context, release_time())
        run(["buildah", *store, "build", "--isolation", "chroot", "--timestamp", str(release_time()), "--tag", tag, context])
        target = out_file(out, name)
        # Packed here, because buildah's own archive has the time of its making in it.
        layout = release.fresh("layout")
        run(["buildah", *store, "push", tag, f"oci:{layout}:{tag}"])
        archives.write_tar(target, layout, ".", release_time(), packed=False)
        run(["buildah", *store, "rmi", tag])
        made.append(name)
    else:
        print("callgate: no buildah here: the image is left as its context, for 'docker build -'", file=sys.stderr)
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
