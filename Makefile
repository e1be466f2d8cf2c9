# A thin front for Meson. `make` builds, `make demo` shows, `make check` tests, `make install PREFIX=..` installs.
BUILD  ?= build
PREFIX ?= /usr/local

.PHONY: all demo check install clean asan fuzz bench format setup
all: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix $(PREFIX) >/dev/null
	@ninja -C $(BUILD) $(NINJAFLAGS)

setup:
	@tools/setup.sh build

demo: all
	$(BUILD)/hopbound ladder -o ladder

# All tests, then the memory and undefined-behaviour checkers over the tests that read hostile input.
check:
	@tools/setup.sh check
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix $(PREFIX) >/dev/null
	@meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@meson test -C $(BUILD) --print-errorlogs
	@test -f $(BUILD)-asan/build.ninja || \
	  meson setup $(BUILD)-asan --buildtype=debugoptimized -Db_sanitize=address,undefined -Dtests=enabled -Ddefault_library=static >/dev/null
	@ninja -C $(BUILD)-asan $(NINJAFLAGS)
	@meson test -C $(BUILD)-asan --print-errorlogs --suite sanitize
	@tools/count_tests.sh $(BUILD) $(BUILD)-asan

install: all
	@meson configure $(BUILD) --prefix $(abspath $(PREFIX)) && meson install -C $(BUILD) $(if $(DESTDIR),--destdir $(DESTDIR))

bench: all
	$(BUILD)/hopbound bench

format:
	clang-format -i $$(git ls-files '*.[ch]')

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz
