# The targets a person types. Meson and Ninja do the work; `make deps` installs what they need.

PREFIX ?= /usr/local
.PHONY: all deps deps-build deps-demo demo check tidy soak bench fuzz install format clean

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

# Everything that must hold; ends with "N passed, N failed".
check: deps
	@tools/check.py

# clang-tidy over every file; the soak does it too, and deeper.
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

format: deps
	@.venv/bin/clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf build build-*
