# A thin front for Meson. `make` builds, `make demo` shows, `make check` tests, `make install PREFIX=..` installs.
BUILD  ?= build
PREFIX ?= /usr/local
prefix  = $(shell realpath -m "$(PREFIX)")

# Meson's own words only when something is wrong. A build directory that was cut off, or that came from another place, is
# made anew. $(1): directory, $(2): options.
mine = grep -qsF '"source": "$(CURDIR)"' $(1)/meson-info/meson-info.json && test -f $(1)/build.ninja
stale = if test -d $(1)/meson-private && ! { $(call mine,$(1)); }; then echo "$(1): was cut off or moved; made anew"; rm -rf $(1); fi
configure = $(call stale,$(1)); test -f $(1)/build.ninja || { mkdir -p $(1); meson setup $(1) $(2) >$(1)/setup.log 2>&1 || { cat $(1)/setup.log >&2; false; }; }

.PHONY: all demo check check-quick check-clang check-threads check-hf check-hf-table bounds-pdf check-format check-long mutants proofs proofs-chk install clean bench format setup
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

# For everyday work: the suites of a few seconds each (tests/meson.build), of what was built already.
check-quick:
	@tools/setup.sh check
	@$(call configure,$(BUILD),--prefix "$(prefix)" -Dtests=enabled)
	@meson configure $(BUILD) -Dtests=enabled
	@meson test -C $(BUILD) --print-errorlogs --suite quick

# Continuous integration's (.ci/run). Program and libraries by another compiler, which warns of more; and what shares memory
# between threads, once under ThreadSanitizer: pool, training, the game in one process, sweeps. MPI has threads of its own,
# of which it knows nothing.
check-clang:
	@tools/setup.sh ci
	@export CC=clang; $(call configure,$(BUILD)-clang,-Dwerror=true -Doptimization=0 -Dc_args=-Wconversion -Dtests=disabled)
	@ninja -C $(BUILD)-clang $(NINJAFLAGS)

check-threads:
	@tools/setup.sh check
	@$(call configure,$(BUILD)-tsan,-Doptimization=1 -Dc_args=-g1 -Db_sanitize=thread -Dtests=enabled -Ddefault_library=static -Dmpi=disabled)
	@ninja -C $(BUILD)-tsan $(NINJAFLAGS) threads
	@meson test -C $(BUILD)-tsan --no-rebuild --print-errorlogs --timeout-multiplier 10 --suite threads

# Networks beside transformers, of which `make check` tries a sample: its logits and ours, every class's plan, and exact networks
# that it loads. check-hf-table writes what was found to docs/TRANSFORMERS.md, too.
check-hf:
	@tools/setup.sh hf
	@$(call configure,$(BUILD),--prefix "$(prefix)" -Dtests=enabled)
	@meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD) $(NINJAFLAGS)
	@HOPBOUND_LONG=1 meson test -C $(BUILD) --no-rebuild --print-errorlogs --suite hf

check-hf-table: check-hf
	@tests/hf/table.py $(BUILD)

# docs/BOUNDS.md as hopbound-bounds-VERSION.pdf.
bounds-pdf:
	@tools/setup.sh pdf
	@tools/bounds_pdf.py

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
	@HOPBOUND_LONG=1 meson test -C $(BUILD) --print-errorlogs --timeout-multiplier 20 prove_forged prove_walks prove_edges prove_scaled prove_contained bounds_law bounds_built check_certificates damages
	@$(MAKE) --no-print-directory mutants
	@if command -v coqc >/dev/null; then $(MAKE) --no-print-directory proofs-chk; else echo "check-long: no coqc, so no coqchk"; fi

install: all
	@meson configure $(BUILD) --prefix "$(prefix)"
	@meson install -C $(BUILD) $(if $(DESTDIR),--destdir "$(DESTDIR)")

bench: all
	$(BUILD)/hopbound bench

# clang-format of one version, in a directory of its own, since versions differ in what they make of a file.
format check-format:
	@tools/format.sh $(if $(filter check-format,$@),check,write)

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-clang $(BUILD)-tsan $(BUILD)-format
	@$(MAKE) --no-print-directory -C proofs clean
