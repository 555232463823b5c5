# Tandem: a terminal chat program with its own inference engine.   `make help` explains the targets.
#
# Every .c file below engine/, ui/, src/ and tests/ is found by its place; nothing has to be listed here.
#   engine/*/X_avx2.c, X_avx512.c ...  are compiled for that instruction set (see ISA below)
#   tests/**/test_X.c                  is one test program, linked with the engine, ui/ and src/ (less each main.c)
#   tests/**/fake_X.c                  stands in for other code in all test programs of its folder
#   tests/**/fuzz_X.c                  is one fuzz target (make fuzz)
#   tests/server/*.c                   are the server of models that tests talk to
#   tests/**/test_X.sh                 is one end-to-end test, run with TANDEM=the program

.DEFAULT_GOAL := all

# ---- What has to be installed -----------------------------------------------------------------------------------
#
# To build and to run; to test and to measure as well; for the other architecture. What pkg-config calls the libraries
# stands further down (PKGS). OpenBLAS is loaded while the program runs, and only for units of kind `blas`.
DEBIAN     := gcc libc6-dev make pkg-config libjson-c-dev libutf8proc-dev libncurses-dev libmd4c-dev libreadline-dev \
	libopenblas0 libvterm-dev libcurl4-openssl-dev libssl-dev libvulkan-dev glslc
FEDORA     := gcc make pkgconf-pkg-config json-c-devel utf8proc-devel ncurses-devel md4c-devel readline-devel \
	openblas-devel libvterm-devel libcurl-devel openssl-devel vulkan-headers vulkan-loader glslc
ARCH_LINUX := gcc make pkgconf json-c libutf8proc ncurses md4c readline openblas libvterm curl openssl vulkan-headers \
	vulkan-icd-loader shaderc
HOMEBREW   := pkgconf json-c utf8proc ncurses md4c readline openblas libvterm curl openssl vulkan-headers vulkan-loader shaderc
CROSS      := gcc-aarch64-linux-gnu qemu-user $(addsuffix :arm64,$(filter lib%,$(DEBIAN)))

TESTING    := test test-long unit bench bench-smoke figures tables measured measured-join
DEBIAN_TESTING     := python3 libmicrohttpd-dev mesa-vulkan-drivers vulkan-validationlayers
FEDORA_TESTING     := python3 libmicrohttpd-devel mesa-vulkan-drivers vulkan-validation-layers
ARCH_LINUX_TESTING := python libmicrohttpd vulkan-swrast vulkan-validation-layers
HOMEBREW_TESTING   := python libmicrohttpd

INSTALLING := $(filter deps deps-cross,$(MAKECMDGOALS))
AFTERWARDS := $(filter-out $(INSTALLING),$(MAKECMDGOALS))
packages    = $($(1)) $(if $(filter $(TESTING),$(AFTERWARDS)),$($(1)_TESTING))

ifneq ($(INSTALLING),)
# The compiler and pkg-config are asked while the rest of this file is read, and are there only after `deps`. So the other
# goals are made by a make that starts anew.
.PHONY: deps deps-cross afterwards $(AFTERWARDS)

deps: ## install what building and running need, and with `test` or `bench` what they do (apt-get; elsewhere names it)
	@tests/deps '$(call packages,DEBIAN)' '$(call packages,FEDORA)' '$(call packages,ARCH_LINUX)' '$(call packages,HOMEBREW)'

deps-cross: | $(filter deps,$(INSTALLING)) ## install the arm64 compiler, its libraries and qemu-user
	@tests/deps --cross '$(CROSS)'

afterwards: $(INSTALLING)
	+@$(MAKE) --no-print-directory $(AFTERWARDS)

$(AFTERWARDS): afterwards
	@:

else

# ---- What is there ----------------------------------------------------------------------------------------------

PREFIX  ?= /usr/local
DESTDIR ?=
CFLAGS  ?= -O2 -g
V       ?= 0
CCACHE  := $(shell command -v ccache 2>/dev/null)

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
ARCH := $(firstword $(subst -, ,$(MACHINE)))
# Sanitizers and compilers get a build folder each, so that switching does not rebuild the world.
comma := ,
B := build$(if $(SANITIZER),/$(subst $(comma),-,$(SANITIZER)))$(if $(findstring clang,$(notdir $(CC))),/clang)$(if \
	$(filter-out $(shell uname -m),$(ARCH)),/$(ARCH))

VERSION := 0.1.0

# -ffp-contract=off: a fused multiply-add is written out where it is meant (exactness, engine/kernel/README.md).
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-ffp-contract=off -fno-math-errno -fvisibility=hidden -pthread -MMD -MP -D_GNU_SOURCE -DTANDEM_VERSION='"$(VERSION)"' \
	-DTANDEM_DATADIR='"$(PREFIX)/share/tandem"' -I. $(if $(WERROR),-Werror) \
	$(if $(SANITIZER),-fsanitize=$(SANITIZER) -fno-omit-frame-pointer $(if $(findstring undefined,$(SANITIZER)),-fno-sanitize-recover=all)) \
	$(CFLAGS)
# Against what a mistake in the C could be used for: for all but the kernels, whose loops check what they are given once,
# outside, and which call nothing. clang has -fstack-clash-protection for x86-64 alone; FORTIFY works where the compiler
# optimises, and sanitizers say more.
OPTIMISED  := $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
HARDENED   := -fstack-protector-strong $(if $(filter x86_64,$(ARCH)),-fcf-protection -fstack-clash-protection,$(if \
	$(findstring clang,$(notdir $(CC))),,-fstack-clash-protection)) $(if $(OPTIMISED),$(if $(SANITIZER)$(findstring \
	_FORTIFY_SOURCE,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
PIE        := -pie -Wl,-z,relro,-z,now
PKGS_ENGINE := json-c libutf8proc
PKGS_UI     := ncursesw md4c readline
PKGS_PULL   := libcurl libcrypto
PKGS_BENCH  := vterm
PKGS_SERVE  := libmicrohttpd libcrypto
PKG_CONFIG  ?= $(if $(filter-out $(shell uname -m),$(ARCH)),PKG_CONFIG_LIBDIR=/usr/lib/$(MACHINE)/pkgconfig) pkg-config
PKG_CFLAGS  := $(shell $(PKG_CONFIG) --cflags $(PKGS_ENGINE) $(PKGS_UI) 2>/dev/null)
ENGINE_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS_ENGINE) 2>/dev/null) -lm -pthread
UI_LIBS     := $(shell $(PKG_CONFIG) --libs $(PKGS_UI) 2>/dev/null)

# Those of the packages $(1) that pkg-config doesn't know.
lacking     = $(shell for p in $(1); do $(PKG_CONFIG) --exists $$p || echo $$p; done 2>/dev/null)
have        = $(shell command -v $(1) 2>/dev/null)
# What their libraries are missing for is left out: tandem-pull, tandem-net and tandem-bench. PULL=, NET= and BENCH= leave
# them out too.
ifeq ($(origin PULL),undefined)
PULL        := $(if $(call lacking,$(PKGS_PULL)),,$(B)/tandem-pull)
endif
ifeq ($(origin NET),undefined)
NET         := $(if $(call lacking,libcurl),,$(B)/tandem-net)
endif
ifeq ($(origin BENCH),undefined)
BENCH       := $(if $(call lacking,$(PKGS_BENCH)),,$(B)/tandem-bench)
endif
# The tests that want a server of models are skipped without it.
ifeq ($(origin SERVE),undefined)
SERVE       := $(if $(call lacking,$(PKGS_SERVE)),,$(B)/tests/server/serve)
endif
PROGRAMS    := $(B)/tandem $(PULL) $(NET) $(BENCH)
PULL_LIBS   := $(if $(PULL),$(shell $(PKG_CONFIG) --libs $(PKGS_PULL) json-c 2>/dev/null))
NET_LIBS    := $(if $(NET),$(shell $(PKG_CONFIG) --libs libcurl json-c 2>/dev/null))
SERVE_LIBS  := $(if $(SERVE),$(shell $(PKG_CONFIG) --libs $(PKGS_SERVE) 2>/dev/null))
BENCH_LIBS  := $(shell $(PKG_CONFIG) --libs $(PKGS_BENCH) 2>/dev/null)
PKG_CFLAGS  += $(if $(PULL)$(NET),$(shell $(PKG_CONFIG) --cflags $(PKGS_PULL) 2>/dev/null)) $(shell $(PKG_CONFIG) --cflags \
	$(PKGS_BENCH) $(if $(SERVE),$(PKGS_SERVE)) 2>/dev/null)
# What keeps the program from being built is said in one line, before anything is compiled. Tests and measurements can't do
# without what tandem-bench needs.
ifneq ($(filter-out help clean uninstall,$(or $(MAKECMDGOALS),all)),)
PKGS_NEEDED := $(PKGS_ENGINE) $(PKGS_UI) $(if $(filter-out help clean uninstall all run install $(B)/tandem,$(MAKECMDGOALS)),$(PKGS_BENCH))
MISSING := $(if $(MACHINE),,$(CC)) $(if $(call have,$(lastword $(PKG_CONFIG))),$(call \
	lacking,$(PKGS_NEEDED)),$(lastword $(PKG_CONFIG)))
ifneq ($(strip $(MISSING)),)
$(error not found: $(strip $(MISSING)); `make deps` installs what building needs)
endif
endif

# The GPU is left out where its shaders can't be compiled or Vulkan's headers are not there. GPU= leaves it out too.
GLSLC      ?= glslc
ifeq ($(origin GPU),undefined)
GPU        := $(if $(call have,$(GLSLC)),$(shell echo '\#include <vulkan/vulkan_core.h>' | $(CC) -E - >/dev/null 2>&1 && echo yes))
endif
ALL_CFLAGS += $(if $(GPU),-DTANDEM_GPU)

KERNEL_O   ?= $(if $(SANITIZER),-O1,-O3)
ISA_avx2   := $(KERNEL_O) -mavx2 -mfma -mf16c
ISA_avx512 := $(KERNEL_O) -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma -mf16c
ISA_bf16   := $(ISA_avx512) -mavx512bf16
ISA_amx    := $(ISA_bf16) -mamx-tile -mamx-int8 -mamx-bf16
ISA_vnni   := $(ISA_avx2) -mavxvnni
ISA_neon   := $(KERNEL_O)
ISA_dotprod := $(KERNEL_O) -march=armv8.2-a+dotprod
ISA_i8mm   := $(KERNEL_O) -march=armv8.2-a+dotprod+i8mm

find       = $(sort $(shell find $(1) -name '$(2)' 2>/dev/null))

X86_ONLY  := %_avx2.c %_avx512.c %_bf16.c %_amx.c %_vnni.c
ARM_ONLY  := %_neon.c %_dotprod.c %_i8mm.c
OTHER     := $(if $(filter x86_64,$(ARCH)),$(ARM_ONLY),$(if $(filter aarch64,$(ARCH)),$(X86_ONLY),$(X86_ONLY) $(ARM_ONLY)))
NO_GPU    := engine/gpu/absent.c
GPU_C     := $(filter-out $(NO_GPU),$(wildcard engine/gpu/*.c))
ENGINE_C  := $(filter-out $(OTHER) $(if $(GPU),$(NO_GPU),$(GPU_C)),$(call find,engine,*.c))
SHADERS   := $(patsubst engine/gpu/%.comp,$(B)/%.inc,$(wildcard engine/gpu/shaders/*.comp))
UI_C      := $(call find,ui,*.c)
# tandem-pull is what src/pull/main.c needs, tandem-net what src/net/main.c does. These of their files need libraries of
# their own; the others are compiled and tested everywhere.
PULL_ONLY := $(addprefix src/pull/,main.c transfer.c digest.c download.c) src/net/https.c
NET_ONLY  := $(addprefix src/net/,main.c request.c https.c)
BENCH_C   := $(call find,src/bench,*.c)
# tandem-gpu, which measures a GPU, is carried to machines that have one.
GPU_ONLY  := src/gpu/main.c
SRC_C     := $(filter-out $(GPU_ONLY) $(PULL_ONLY) $(NET_ONLY) $(BENCH_C),$(call find,src,*.c))
TEST_C    := $(call find,tests,test_*.c)
FUZZ_C    := $(call find,tests,fuzz_*.c)
FAKE_C    := $(call find,tests,fake_*.c)
SERVE_C   := $(call find,tests/server,*.c)
# Shared libraries that the tests of their folder load in place of others.
SHARED_C  := $(call find,tests,shared_*.c)
TESTLIB_C := $(filter-out $(TEST_C) $(FUZZ_C) $(FAKE_C) $(SERVE_C) $(SHARED_C),$(call find,tests,*.c))

obj        = $(patsubst %.c,$(B)/obj/%.o,$(1))
shared     = $(patsubst %.c,$(B)/%.so,$(1))
# Those whose path contains one of the words of T, or all.
chosen     = $(if $(T),$(foreach c,$(1),$(if $(strip $(foreach word,$(T),$(findstring $(word),$(c)))),$(c))),$(1))
TESTS     := $(patsubst %.c,$(B)/%,$(call chosen,$(TEST_C)))

.PHONY: all help run test test-long test-programs objects unit fuzz fuzz-programs device-kit bench bench-smoke transcript figures tables measured measured-join goldens-update install uninstall clean
.SECONDARY:

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $@)

all: $(PROGRAMS)
ifeq ($(PULL),)
	@echo '  tandem pull is left out: it needs $(PKGS_PULL) (make deps)'
endif
ifeq ($(NET),)
	@echo '  servers as models are left out: tandem-net needs libcurl (make deps)'
endif
ifeq ($(BENCH),)
	@echo '  tandem bench is left out: it needs $(PKGS_BENCH) (make deps)'
endif
ifeq ($(GPU),)
	@echo '  the GPU is left out: it needs glslc and the headers of Vulkan (make deps)'
endif

$(B)/libtandem.a: $(call obj,$(ENGINE_C))
	$(call say,AR)
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(B)/libui.a: $(call obj,$(UI_C))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(B)/libsrc.a: $(call obj,$(filter-out src/main.c,$(SRC_C)))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(B)/libbench.a: $(call obj,$(filter-out src/bench/main.c,$(BENCH_C)))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(B)/libtest.a: $(call obj,$(TESTLIB_C))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(B)/tandem: $(B)/obj/src/main.o $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(UI_LIBS) $(ENGINE_LIBS)

$(B)/tandem-pull: $(call obj,$(PULL_ONLY)) $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(PULL_LIBS) -lm

$(B)/tandem-net: $(call obj,$(NET_ONLY)) $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(NET_LIBS)

$(B)/tandem-bench: $(B)/obj/src/bench/main.o $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(BENCH_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

$(B)/tests/server/serve: $(call obj,$(SERVE_C)) $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(SERVE_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

# What is carried to another machine: libraries that it may lack are linked in, libvulkan lies beside. At a fixed address a
# program is smaller by its relocations, and what travels is counted.
CARRIED = -no-pie -Wl,-rpath,'$$ORIGIN/lib' -Wl,-Bstatic -lvterm -ljson-c -lutf8proc -Wl,-Bdynamic -lm -pthread
$(B)/tandem-gpu: $(call obj,src/gpu/main.c) $(B)/libtandem.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(CARRIED)

$(B)/tandem-bench-alone: $(B)/obj/src/bench/main.o $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(CARRIED)

.SECONDEXPANSION:
$(B)/tests/%: $(B)/obj/tests/%.o $$(call obj,$$(wildcard $$(dir tests/$$*)fake_*.c)) $(B)/libtest.a $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a \
	| $$(call shared,$$(wildcard $$(dir tests/$$*)shared_*.c))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(BENCH_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

$(call shared,$(SHARED_C)): $(B)/%.so: %.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fPIC -shared -o $@ $<

# The kernel sets are templates spread out: with every check in them a file takes minutes to compile. The vector sets, and
# all sets in fuzz targets, which try parsers, do without checks; the scalar and reference sets, from the same templates,
# without the undefined sanitizer's checks of each pointer, and with calls for the address sanitizer's.
NO_CHECKS  := -fno-sanitize=all
FEW_CHECKS := -fno-sanitize=alignment,null,pointer-overflow,object-size $(if $(findstring clang,$(notdir \
	$(CC))),,--param asan-instrumentation-with-call-threshold=0)
checks = $(if $(SANITIZER),$(if $(filter engine/kernel/set_%,$(1)),$(if $(findstring fuzzer,$(SANITIZER))$(call \
	isa,$(1)),$(NO_CHECKS),$(FEW_CHECKS))))

# The file's last _word picks its instruction set.
isa = $(ISA_$(lastword $(subst _, ,$(basename $(notdir $(1))))))
hardened = $(if $(filter engine/kernel/set_%,$(1))$(call isa,$(1)),,$(HARDENED))
# The vectoriser of gcc 12 for arm64 fails on reductions by fmax in two tests.
$(B)/obj/tests/%.o: TESTS_CFLAGS := -fno-tree-vectorize
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CCACHE) $(CC) $(ALL_CFLAGS) -fPIE $(call hardened,$<) $(TESTS_CFLAGS) $(call isa,$<) $(call checks,$<) $(PKG_CFLAGS) -c -o $@ $<

# ---- Shaders, embedded as lists of words -------------------------------------------------------------------------
#
# Not optimised here: glslc's optimiser forgets, where it unrolls a loop, which results are `precise`.

$(B)/shaders/%.inc: engine/gpu/shaders/%.comp $(wildcard engine/gpu/shaders/*.glsl) engine/gpu/shaders/strip.awk
	@mkdir -p $(@D)
	$(call say,GLSLC)
	$(Q)$(GLSLC) --target-env=vulkan1.3 -Werror -mfmt=c -o $@.all $<
	$(Q)awk -f engine/gpu/shaders/strip.awk $@.all >$@.tmp && mv $@.tmp $@

$(call obj,engine/gpu/shaders.c): $(SHADERS)
$(call obj,engine/gpu/shaders.c): ALL_CFLAGS += -I$(B)

# ---- Generated from the table of options -------------------------------------------------------------------------

$(B)/tandem.1: $(B)/tandem
	$(Q)$(B)/tandem --man >$@
$(B)/tandem.bash: $(B)/tandem
	$(Q)$(B)/tandem --completion-bash >$@
$(B)/_tandem: $(B)/tandem
	$(Q)$(B)/tandem --completion-zsh >$@

# ---- Fuzz targets: tests/DIR/fuzz_X.c with its corpus in tests/DIR/corpus/X --------------------------------------

FUZZERS := $(patsubst %.c,$(B)/%,$(FUZZ_C))
$(FUZZERS): $(B)/tests/%: $(B)/obj/tests/%.o $(B)/libtest.a $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(B)/libtandem.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(PIE) $(LDFLAGS) -o $@ $^ $(BENCH_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

# ---- What make is asked for --------------------------------------------------------------------------------------

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  variables: SANITIZER=address|undefined|thread  V=1  WERROR=1  CC=clang  CFLAGS=...  PREFIX=  DESTDIR='

run: all ## a conversation with the built-in model
	@$(B)/tandem

unit: $(TESTS) $(PROGRAMS) $(SERVE) ## build and run the tests (T='a b' those whose path contains a or b)
	@TANDEM=$(B)/tandem BUILD=$(B) tests/run $(T)

test-programs: $(TESTS) $(PROGRAMS) $(SERVE)

# Everything compiled, nothing linked: for another compiler's warnings.
objects: $(call obj,src/main.c $(ENGINE_C) $(UI_C) $(SRC_C) $(BENCH_C) $(TESTLIB_C) $(TEST_C) $(FAKE_C) $(FUZZ_C) \
	$(if $(PULL),$(PULL_ONLY)) $(if $(NET),$(NET_ONLY)) $(if $(SERVE),$(SERVE_C)) $(GPU_ONLY))

test: ## everything that CI runs, with a short form of every long test
	@$(MAKE) --no-print-directory WERROR=1 all
	@tests/all

test-long: ## the full form of the long tests
	@TANDEM_LONG=1 tests/all

fuzz: ## run every fuzz target (FUZZ_RUNS=N each, default a million; T=name picks)
	@tests/fuzz $(T)

fuzz-programs: $(FUZZERS)

# What is carried counts, and only debuggers and exceptions look at how calls are unwound.
KIT_LESS := -R .eh_frame -R .eh_frame_hdr -R .comment
device-kit: $(B)/tandem-gpu $(B)/tandem-bench-alone ## a GPU's measurements to carry to another machine: build/kit
	@rm -rf $(B)/kit; mkdir -p $(B)/kit/lib
	strip $(KIT_LESS) -o $(B)/kit/tandem-gpu.out $(B)/tandem-gpu
	strip $(KIT_LESS) -o $(B)/kit/tandem-bench.out $(B)/tandem-bench-alone
	cp -L $$(ldconfig -p | awk '/libvulkan.so.1 /{print $$NF; exit}') $(B)/kit/lib/libvulkan.so.1
	gzip -9 $(B)/kit/*.out $(B)/kit/lib/libvulkan.so.1
	for program in tandem-gpu tandem-bench; do install -m755 src/gpu/kit.sh $(B)/kit/$$program; done

bench: all ## every measurement (tandem bench)
	$(B)/tandem bench

bench-smoke: all ## the kernels and the built-in model against this machine's ceilings, in less than a minute
	$(B)/tandem bench kernels model -m builtin --quick --budget 40s

include assets/measured.mk

goldens-update: $(B)/tests/ui/test_screen $(B)/tests/screens/test_screens ## write the golden screens anew (read the diff)
	GOLDEN_UPDATE=1 $(B)/tests/ui/test_screen
	GOLDEN_UPDATE=1 $(B)/tests/screens/test_screens

figures: $(addprefix $(B)/tests/src/,tui/test_tui tui/test_demo tui/test_gpu plain/test_terminal server/test_walk) $(SERVE) $(B)/tandem $(BENCH) ## the README's first conversation and pictures; demo, server and GPU as text
	TANDEM=$(B)/tandem TANDEM_CONVERSATION=README.md $(B)/tests/src/plain/test_terminal the_first_conversation
	TANDEM=$(B)/tandem TANDEM_FIGURE=assets/screen.svg $(B)/tests/src/tui/test_tui picture
	TANDEM=$(B)/tandem TANDEM_DEMO=assets/demo.md $(B)/tests/src/tui/test_demo frames
	TANDEM=$(B)/tandem TANDEM_WALK=assets/server-walk.md $(B)/tests/src/server/test_walk
	TANDEM=$(B)/tandem TANDEM_GPU=assets/gpu.md $(B)/tests/src/tui/test_gpu
	$(call joined,measured)
	$(MEASURED) bars turns/pipelines synthetic:0.8b:q8_0 <$(ROWS) >$(B)/turns.svg
	mv $(B)/turns.svg assets
	$(B)/tandem run -m synthetic:0.8b:q8_0 --script assets/timeline.json --trace $(B)/timeline.trace >/dev/null
	$(MEASURED) timeline synthetic:0.8b:q8_0 <$(B)/timeline.trace >$(B)/timeline.svg
	mv $(B)/timeline.svg assets

transcript: all ## a pull that is stopped and cut, for assets/pull.md
	TANDEM=$(B)/tandem tests/src/pull/transcript.sh >$(B)/pull.md
	mv $(B)/pull.md assets/pull.md

install: all $(B)/tandem.1 $(B)/tandem.bash $(B)/_tandem ## programs, model with its card, prompts, man page, completions (PREFIX, DESTDIR)
	install -Dm755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS)
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tandem assets/*.gguf assets/demo.json assets/tandem-demo-*.md assets/*.txt
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tandem/prompts assets/prompts/*.md
	install -Dm644 $(B)/tandem.1 $(DESTDIR)$(PREFIX)/share/man/man1/tandem.1
	install -Dm644 $(B)/tandem.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tandem
	install -Dm644 $(B)/_tandem $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tandem
	install -Dm644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/tandem/LICENSE

uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,tandem tandem-pull tandem-net tandem-bench) $(DESTDIR)$(PREFIX)/share/man/man1/tandem.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tandem
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tandem
	rm -rf $(DESTDIR)$(PREFIX)/share/tandem $(DESTDIR)$(PREFIX)/share/doc/tandem

clean: ## remove what was built
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

endif
