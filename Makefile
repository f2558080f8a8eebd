# The targets a person types. Meson and Ninja do the work; `make deps` installs what they need.

PREFIX ?= /usr/local
# Not every shell makes a home directory of the ~ in PREFIX=~/.local.
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))
.PHONY: all deps deps-build deps-demo deps-packages demo minutes check tidy soak bench fuzz install uninstall static deb npm wheel image \
	packages packages-check format clean

all: deps-build build/build.ninja
	@ninja -C build

build/build.ninja: | deps-build
	@said=$$(meson setup build --prefix $(PREFIX)) || { echo "$$said" >&2; exit 1; }

deps-build:
	@tools/deps.sh build

deps-demo:
	@tools/deps.sh demo

deps:
	@tools/deps.sh check

# The gate in front of a real MCP server, on real files.
demo: deps-demo build/build.ninja
	@echo "callgate: building build/callgate"
	@ninja -C build --quiet
	@tools/demo.sh

# docs/first-ten-minutes.md on a system of its own: tools/fresh.sh --only minutes SUITE.
minutes: deps-demo install
	@node tools/minutes.mjs

# Everything that must hold; ends with "N passed, N failed".
check: deps
	@tools/check.py

# clang-tidy alone, over every file, as make check runs it; the soak looks deeper.
tidy: deps
	@tools/check.py --tidy

# The long ones: whole enumerations, 100,000 random calls, long fuzzing, valgrind over all.
soak: deps
	@tools/check.py --soak

# One table of what everything costs, also in build/bench.json. ONLY=decisions measures one group.
bench: deps all
	@tools/bench.py $(addprefix --only ,$(ONLY))

# FUZZ_SECONDS for each parser.
fuzz: deps
	@tools/check.py --fuzz $(or $(FUZZ_SECONDS),60)

install: all
	@meson configure build --prefix $(PREFIX) >/dev/null
	@ninja -C build --quiet # or the prefix of the last time is what is installed
	@DESTDIR=$(DESTDIR) meson install -C build --no-rebuild --quiet

# What the last `make install` of this build folder has put where it is.
uninstall:
	@DESTDIR=$(DESTDIR) ninja -C build --quiet uninstall

# Packages, into dist/: docs/packages.md. Each holds what `make install` would.
static: deps-build
	@packaging/build.py static

deb:
	@tools/deps.sh deb
	@packaging/build.py deb

npm wheel image: deps-build
	@packaging/build.py $@

packages: deps-packages
	@packaging/build.py all

deps-packages:
	@tools/deps.sh packages

# Builds every package, twice, and installs, uses, upgrades and removes it; ONLY=npm for one. Needs root.
packages-check: deps-packages
	@tests/packages/check.py $(addprefix --only ,$(ONLY))

format: deps
	@.venv/bin/clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf build build-* dist
