# A thin front for Meson. `make` builds, `make demo` shows, `make check` tests, `make install PREFIX=..` installs.
BUILD  ?= build
PREFIX ?= /usr/local
prefix  = $(shell realpath -m "$(PREFIX)")

# Meson's own words only when something is wrong. A build directory that was cut off, or that came from another place, is
# made anew. $(1): directory, $(2): options.
mine = grep -qsF '"source": "$(CURDIR)"' $(1)/meson-info/meson-info.json && test -f $(1)/build.ninja
stale = if test -d $(1)/meson-private && ! { $(call mine,$(1)); }; then echo "$(1): was cut off or moved; made anew"; rm -rf $(1); fi
configure = $(call stale,$(1)); test -f $(1)/build.ninja || { mkdir -p $(1); meson setup $(1) $(2) >$(1)/setup.log 2>&1 || { cat $(1)/setup.log >&2; false; }; }

.PHONY: all demo check check-long mutants proofs proofs-chk install clean bench format setup
all: setup
	@$(call configure,$(BUILD),--prefix "$(prefix)")
	@ninja -C $(BUILD) $(NINJAFLAGS)

setup:
	@tools/setup.sh build

demo: all
	$(BUILD)/hopbound ladder -o ladder

# All tests; then those of everything that reads foreign input once more, under the memory and undefined-behaviour checkers,
# in a build of no more than these. -O1 compiles in half the time, and lines are all that reports name (-g1).
check:
	@tools/setup.sh check
	@$(call configure,$(BUILD),--prefix "$(prefix)" -Dtests=enabled)
	@meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@meson test -C $(BUILD) --print-errorlogs
	@$(call configure,$(BUILD)-asan,-Doptimization=1 -Dc_args=-g1 -Db_sanitize=address$(comma)undefined -Dtests=enabled -Ddefault_library=static)
	@ninja -C $(BUILD)-asan $(NINJAFLAGS) sanitize
	@meson test -C $(BUILD)-asan --no-rebuild --print-errorlogs --suite sanitize
	@tools/count_tests.sh $(BUILD) $(BUILD)-asan

comma := ,

# The theorems in Coq (docs/PROOFS.md): compiles them all and prints what each rests on. proofs-chk: once more, by the kernel alone.
proofs proofs-chk:
	@command -v coqc >/dev/null || { echo "proofs: no coqc; on Debian: apt-get install coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra ocaml-findlib ocaml" >&2; exit 1; }
	@$(MAKE) --no-print-directory -C proofs $(if $(filter proofs-chk,$@),coqchk)

# Each rule of the prover weakened by itself: which test catches it (tests/mutants.txt).
mutants: all
	@meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@tests/mutants.py $(BUILD) --baseline && tests/mutants.py $(BUILD)

# Hours: all of what the campaigns can make, all mutants, and the proofs once more.
check-long: check
	@HOPBOUND_LONG=1 meson test -C $(BUILD) --print-errorlogs --timeout-multiplier 20 forged walks edges prove_scaled prove_contained bounds_law bounds_built certificates damages
	@$(MAKE) --no-print-directory mutants
	@if command -v coqc >/dev/null; then $(MAKE) --no-print-directory proofs-chk; else echo "check-long: no coqc, so no coqchk"; fi

install: all
	@meson configure $(BUILD) --prefix "$(prefix)"
	@meson install -C $(BUILD) $(if $(DESTDIR),--destdir "$(DESTDIR)")

bench: all
	$(BUILD)/hopbound bench

format:
	clang-format -i $$(git ls-files '*.[ch]')

clean:
	rm -rf $(BUILD) $(BUILD)-asan
	@$(MAKE) --no-print-directory -C proofs clean
