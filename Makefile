# The targets a person types. Meson and Ninja do the work; `make deps` installs what they need.

PREFIX ?= /usr/local
.PHONY: all deps deps-build demo check soak bench fuzz install format clean

all: deps-build build/build.ninja
	@ninja -C build

build/build.ninja: | deps-build
	@meson setup build --prefix $(PREFIX) >/dev/null

deps-build:
	@tools/deps.sh build

deps:
	@tools/deps.sh check

# The gate in front of a real MCP server, on real files.
demo: deps all
	@tools/demo.sh

# Everything that must hold; ends with "N passed, N failed".
check: deps
	@tools/check.py

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

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf build build-*
