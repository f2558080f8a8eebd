# The targets a person types. Meson and Ninja do the work in build/.
.PHONY: all deps
all: build/build.ninja
	@ninja -C build

build/build.ninja:
	@meson setup build >/dev/null
