# Tandem: a terminal chat program with its own inference engine.   `make help` explains the targets.
#
# Every .c file below engine/, ui/, src/ and tests/ is found by its place; nothing has to be listed here.
#   engine/*/X_avx2.c, X_avx512.c ...  are compiled for that instruction set (see ISA below)
#   tests/**/test_X.c                  is one test program, linked with the engine, ui/ and src/ (less each main.c)
#   tests/**/test_X_work.c             counts the basic blocks that it runs (tests/work.h)
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
	libopenblas0 libvterm-dev libcurl4-openssl-dev libssl-dev libvulkan-dev glslc libpng-dev libjpeg-dev libwebp-dev
FEDORA     := gcc make pkgconf-pkg-config json-c-devel utf8proc-devel ncurses-devel md4c-devel readline-devel \
	openblas-devel libvterm-devel libcurl-devel openssl-devel vulkan-headers vulkan-loader glslc libpng-devel \
	libjpeg-turbo-devel libwebp-devel
ARCH_LINUX := gcc make pkgconf json-c libutf8proc ncurses md4c readline openblas libvterm curl openssl vulkan-headers \
	vulkan-icd-loader shaderc libpng libjpeg-turbo libwebp
HOMEBREW   := pkgconf json-c utf8proc ncurses md4c readline openblas libvterm curl openssl vulkan-headers vulkan-loader shaderc \
	libpng jpeg-turbo webp
CROSS      := gcc-aarch64-linux-gnu qemu-user $(addsuffix :arm64,$(filter lib%,$(DEBIAN)))

TESTING    := test test-long test-busy test-arm64 land unit fuzz bench bench-smoke figures tables measured measured-join
DEBIAN_TESTING     := python3 libmicrohttpd-dev mesa-vulkan-drivers vulkan-validationlayers clang lld libclang-rt-dev
FEDORA_TESTING     := python3 libmicrohttpd-devel mesa-vulkan-drivers vulkan-validation-layers clang lld compiler-rt
ARCH_LINUX_TESTING := python libmicrohttpd vulkan-swrast vulkan-validation-layers clang lld compiler-rt
HOMEBREW_TESTING   := python libmicrohttpd llvm

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
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
SMOKE_BUDGET ?= 40s
# Lines and names for backtraces. With -g, for a debugger's variables, the sets of kernels take twice as long to compile.
CFLAGS  ?= $(if $(SANITIZER),-O1,-O2) -g1
V       ?= 0
CCACHE  := $(shell command -v ccache 2>/dev/null)

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
ARCH := $(firstword $(subst -, ,$(MACHINE)))
# Sanitizers and compilers get a build folder each, so that switching does not rebuild the world.
comma := ,
B := build$(if $(SANITIZER),/$(subst $(comma),-,$(SANITIZER)))$(if $(findstring clang,$(notdir $(CC))),/clang)$(if \
	$(filter-out $(shell uname -m),$(ARCH)),/$(ARCH))

# -ffp-contract=off: a fused multiply-add is written out where it is meant (exactness, engine/kernel/README.md).
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-ffp-contract=off -fno-math-errno -fvisibility=hidden -pthread -MMD -MP -D_GNU_SOURCE \
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
# A program with sanitizers in it is linked by lld in half of the time.
LINKER     := $(if $(and $(SANITIZER),$(findstring clang,$(notdir $(CC))),$(shell command -v ld.lld)),-fuse-ld=lld)
PIE        := -pie -Wl,-z,relro,-z,now $(LINKER)
PKGS_ENGINE := json-c libutf8proc
PKGS_UI     := ncursesw md4c readline
PKGS_PULL   := libcurl libcrypto
PKGS_IMAGE  := libpng libjpeg libwebp
PKGS_BENCH  := vterm
PKGS_SERVE  := libmicrohttpd libcrypto
PKG_CONFIG  ?= $(if $(filter-out $(shell uname -m),$(ARCH)),PKG_CONFIG_LIBDIR=/usr/lib/$(MACHINE)/pkgconfig) pkg-config
PKG_CFLAGS  := $(shell $(PKG_CONFIG) --cflags $(PKGS_ENGINE) $(PKGS_UI) 2>/dev/null)
ENGINE_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS_ENGINE) 2>/dev/null) -lm -pthread
UI_LIBS     := $(shell $(PKG_CONFIG) --libs $(PKGS_UI) 2>/dev/null)

# Those of the packages $(1) that pkg-config doesn't know.
lacking     = $(shell for p in $(1); do $(PKG_CONFIG) --exists $$p || echo $$p; done 2>/dev/null)
have        = $(shell command -v $(1) 2>/dev/null)
# What their libraries are missing for is left out: tandem-pull, tandem-net, tandem-image and tandem-bench. PULL=, NET=,
# IMAGE= and BENCH= leave them out too.
ifeq ($(origin PULL),undefined)
PULL        := $(if $(call lacking,$(PKGS_PULL)),,$(B)/tandem-pull)
endif
ifeq ($(origin NET),undefined)
NET         := $(if $(call lacking,libcurl),,$(B)/tandem-net)
endif
ifeq ($(origin IMAGE),undefined)
IMAGE       := $(if $(call lacking,$(PKGS_IMAGE)),,$(B)/tandem-image)
endif
ifeq ($(origin BENCH),undefined)
BENCH       := $(if $(call lacking,$(PKGS_BENCH)),,$(B)/tandem-bench)
endif
# The tests that want a server of models are skipped without it.
ifeq ($(origin SERVE),undefined)
SERVE       := $(if $(call lacking,$(PKGS_SERVE)),,$(B)/tests/server/serve)
endif
PROGRAMS    := $(B)/tandem $(PULL) $(NET) $(IMAGE) $(BENCH)
PULL_LIBS   := $(if $(PULL),$(shell $(PKG_CONFIG) --libs $(PKGS_PULL) json-c 2>/dev/null))
NET_LIBS    := $(if $(NET),$(shell $(PKG_CONFIG) --libs libcurl json-c 2>/dev/null))
IMAGE_LIBS  := $(if $(IMAGE),$(shell $(PKG_CONFIG) --libs $(PKGS_IMAGE) 2>/dev/null))
SERVE_LIBS  := $(if $(SERVE),$(shell $(PKG_CONFIG) --libs $(PKGS_SERVE) 2>/dev/null))
BENCH_LIBS  := $(shell $(PKG_CONFIG) --libs $(PKGS_BENCH) 2>/dev/null)
PKG_CFLAGS  += $(if $(PULL)$(NET),$(shell $(PKG_CONFIG) --cflags $(PKGS_PULL) 2>/dev/null)) $(shell $(PKG_CONFIG) --cflags \
	$(PKGS_BENCH) $(if $(IMAGE),$(PKGS_IMAGE)) $(if $(SERVE),$(PKGS_SERVE)) 2>/dev/null)
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
ISA_avx2    = $(KERNEL_O) -mavx2 -mfma -mf16c
ISA_avx512  = $(KERNEL_O) -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma -mf16c
ISA_bf16    = $(ISA_avx512) -mavx512bf16
ISA_amx     = $(ISA_bf16) -mamx-tile -mamx-int8 -mamx-bf16
ISA_vnni    = $(ISA_avx2) -mavxvnni
ISA_neon    = $(KERNEL_O)
ISA_dotprod = $(KERNEL_O) -march=armv8.2-a+dotprod
ISA_i8mm    = $(KERNEL_O) -march=armv8.2-a+dotprod+i8mm

find       = $(sort $(shell find $(1) -name '$(2)' 2>/dev/null))

X86_ONLY  := %_avx2.c %_avx512.c %_bf16.c %_amx.c %_vnni.c
ARM_ONLY  := %_neon.c %_dotprod.c %_i8mm.c
OTHER     := $(if $(filter x86_64,$(ARCH)),$(ARM_ONLY),$(if $(filter aarch64,$(ARCH)),$(X86_ONLY),$(X86_ONLY) $(ARM_ONLY)))
NO_GPU    := engine/gpu/device/absent.c
GPU_C     := $(filter-out $(NO_GPU),$(call find,engine/gpu,*.c))
ENGINE_C  := $(filter-out $(OTHER) $(if $(GPU),$(NO_GPU),$(GPU_C)),$(call find,engine,*.c))
BASE_C    := $(call find,engine/base engine/os,*.c)
ENGINE_A  := $(B)/libtandem.a $(B)/libbase.a
SHADERS   := $(patsubst engine/gpu/%.comp,build/%.inc,$(call find,engine/gpu/shaders,*.comp))
UI_C      := $(call find,ui,*.c)
# tandem-pull is what src/pull/main.c needs, tandem-net what src/net/main.c does, tandem-image what src/image/main.c does.
# These of their files need libraries of their own; the others are compiled and tested everywhere.
PULL_ONLY := $(addprefix src/pull/,main.c transfer.c digest.c download.c) src/net/https.c
NET_ONLY  := $(addprefix src/net/,main.c request.c https.c)
IMAGE_ONLY := $(addprefix src/image/,main.c decode.c png.c jpeg.c webp.c)
BENCH_C   := $(call find,src/bench,*.c)
SRC_C     := $(filter-out $(PULL_ONLY) $(NET_ONLY) $(IMAGE_ONLY) $(BENCH_C),$(call find,src,*.c))
TEST_C    := $(call find,tests,test_*.c)
FUZZ_C    := $(call find,tests,fuzz_*.c)
FAKE_C    := $(call find,tests,fake_*.c)
SERVE_C   := $(call find,tests/server,*.c)
DEVICE_C  := $(call find,tests/device,*.c)
# Shared libraries that the tests of their folder load in place of others.
SHARED_C  := $(call find,tests,shared_*.c)
TESTLIB_C := $(filter-out $(OTHER) $(TEST_C) $(FUZZ_C) $(FAKE_C) $(SERVE_C) $(DEVICE_C) $(SHARED_C),$(call find,tests,*.c))

obj        = $(patsubst %.c,$(B)/obj/%.o,$(1))
shared     = $(patsubst %.c,$(B)/%.so,$(1))
# Those whose path contains one of the words of T, or all.
chosen     = $(if $(T),$(foreach c,$(1),$(if $(strip $(foreach word,$(T),$(findstring $(word),$(c)))),$(c))),$(1))
TESTS     := $(patsubst %.c,$(B)/%,$(call chosen,$(TEST_C)))

.PHONY: all help run test test-long test-busy test-arm64 land test-programs objects unit fuzz fuzz-programs bench bench-smoke transcript figures tables measured measured-join goldens-update library install-library install uninstall clean FORCE
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
ifeq ($(IMAGE),)
	@echo '  pictures are left out: tandem-image needs $(PKGS_IMAGE) (make deps)'
endif
ifeq ($(BENCH),)
	@echo '  tandem bench is left out: it needs $(PKGS_BENCH) (make deps)'
endif
ifeq ($(GPU),)
	@echo '  the GPU is left out: it needs glslc and the headers of Vulkan (make deps)'
endif

# The base is an archive of its own: a front end on the shared engine (make library) needs no more of the tree's engine.
$(B)/libbase.a: $(call obj,$(BASE_C))
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(B)/libtandem.a: $(call obj,$(filter-out $(BASE_C),$(ENGINE_C)))
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

$(B)/tandem: $(B)/obj/src/main.o $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(UI_LIBS) $(ENGINE_LIBS)

$(B)/tandem-pull: $(call obj,$(PULL_ONLY)) $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(PULL_LIBS) -lm

$(B)/tandem-net: $(call obj,$(NET_ONLY)) $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(NET_LIBS)

$(B)/tandem-image: $(call obj,$(IMAGE_ONLY)) $(B)/libsrc.a $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(IMAGE_LIBS)

$(B)/tandem-bench: $(B)/obj/src/bench/main.o $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(BENCH_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

$(B)/tests/server/serve: $(call obj,$(SERVE_C)) $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(SERVE_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

.SECONDEXPANSION:
# The engine's tests need no more than the engine. (A function: in the rule itself the first % would stand for the stem.)
above_engine = $(if $(filter-out engine/%,$(1)),$(B)/libbench.a $(B)/libsrc.a $(B)/libui.a)
$(B)/tests/%: $(B)/obj/tests/%.o $$(call obj,$$(wildcard $$(dir tests/$$*)fake_*.c)) $(B)/libtest.a \
	$$(call above_engine,$$*) $(ENGINE_A) | $$(call shared,$$(wildcard $$(dir tests/$$*)shared_*.c))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE) $(LDFLAGS) -o $@ $^ $(BENCH_LIBS) $(UI_LIBS) $(ENGINE_LIBS)

$(call shared,$(SHARED_C)): $(B)/%.so: %.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fPIC -shared -o $@ $<

# The kernel sets are templates spread out: with every check in them a file takes minutes to compile. The vector sets do
# without checks; the scalar and reference sets, from the same templates, without the undefined sanitizer's checks of each
# pointer, and with calls for the address sanitizer's.
NO_CHECKS  := -fno-sanitize=all
FEW_CHECKS := -fno-sanitize=alignment,null,pointer-overflow,object-size $(if $(findstring clang,$(notdir \
	$(CC))),,--param asan-instrumentation-with-call-threshold=0)
# Each load of a model packs its weights a byte at a time: with checks of each pointer's sum this takes four times as long as
# all else at a start. What is read and written there is checked.
PACKING    := -O2 -fno-sanitize=pointer-overflow
set = $(filter engine/kernel/sets/set_% tests/engine/kernel/set_%,$(1))
vector_set = $(and $(call set,$(1)),$(call isa,$(1)))
checks = $(if $(SANITIZER),$(if $(call vector_set,$(1)),$(NO_CHECKS),$(if $(call set,$(1)),$(FEW_CHECKS),$(if $(filter \
	engine/kernel/layout.c,$(1)),$(PACKING)))))

# The file's last _word picks its instruction set.
isa = $(ISA_$(lastword $(subst _, ,$(basename $(notdir $(1))))))
hardened = $(if $(filter tests/% engine/kernel/sets/set_%,$(1))$(call isa,$(1)),,$(HARDENED))
# (The vectoriser of gcc 12 for arm64 fails on reductions by fmax in two tests.)
$(B)/obj/tests/%.o: TESTS_CFLAGS := $(if $(OPTIMISED),-fno-tree-vectorize)
$(B)/obj/tests/%.o: KERNEL_O := -O1
$(B)/obj/tests/%_work.o: TESTS_CFLAGS := -fsanitize-coverage=trace-pc
# Tests spend their time in what they test, so compiling them is what takes long. With the checks of sanitizers in it, a file
# takes three times as long to optimise as to compile: only those are optimised there in which tests are busy.
BUSY       := ui/% $(addprefix engine/,base/% forward/% json/% kernel/% model/% os/% state/% text/% thread/% vision/%)
level = $(if $(filter file,$(origin CFLAGS)),$(if $(filter $(if $(SANITIZER),$(BUSY),engine/% src/% ui/%),$(1)),,-O0))
# Where no fuzz target comes, what libFuzzer counts of the code only costs.
UNFUZZED   := tests/% $(addprefix engine/,api/% backend/% gpu/% kernel/% thread/% unit/%) $(addprefix \
	src/,bench/% commands/% demo/% plain/% slash/% tui/%)
uncounted  = $(if $(findstring fuzzer-no-link,$(SANITIZER)),$(if $(findstring /fuzz_,$(1)),,$(if $(filter \
	$(UNFUZZED),$(1)),-fno-sanitize=fuzzer-no-link)))
compile = $(CCACHE) $(CC) $(ALL_CFLAGS) $(call level,$<) -fPIC $(call hardened,$<) $(TESTS_CFLAGS) $(call isa,$<) $(call checks,$<) \
	$(call uncounted,$<) $(PKG_CFLAGS) -c -o $@ $<
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(compile)

# Having no checks in them, the vector sets of a build without sanitizers serve one with them: SETS=build takes them from
# there (they are there already).
SETS ?=
ifneq ($(and $(SETS),$(SANITIZER)),)
$(call obj,$(foreach c,$(ENGINE_C) $(TESTLIB_C),$(if $(call vector_set,$(c)),$(c)))): $(B)/%.o: $(SETS)/%.o
	@mkdir -p $(@D)
	$(Q)sed 's|^$(SETS)/|$(B)/|' $(<:.o=.d) >$(@:.o=.d)
	$(Q)cp -p $< $@
endif

# ---- Shaders, embedded as lists of words -------------------------------------------------------------------------
#
# The same for all builds. Not optimised here: glslc's optimiser forgets, where it unrolls a loop, which results are `precise`.

build/shaders/%.inc: engine/gpu/shaders/%.comp $(call find,engine/gpu/shaders,*.glsl) engine/gpu/shaders/strip.awk
	@mkdir -p $(@D)
	$(call say,GLSLC)
	$(Q)$(GLSLC) --target-env=vulkan1.3 -Iengine/gpu/shaders -Werror -mfmt=c -o $@.all $<
	$(Q)awk -f engine/gpu/shaders/strip.awk $@.all >$@.tmp && mv $@.tmp $@

SHADERS_O := $(call obj,engine/gpu/device/shaders.c)
$(SHADERS_O): $(SHADERS)
$(SHADERS_O): ALL_CFLAGS += -Ibuild

# ---- The engine as a library for other programs -------------------------------------------------------------------
#
# Of the objects of the programs above. Both forms show only what engine/tandem.h declares: the archive has one object, in
# which all other names are local.

LIBRARY  := $(B)/lib/libtandem.a $(B)/lib/libtandem.so $(B)/lib/tandem.pc
VERSION  := $(shell sed -n 's/^.define TDM_VERSION "\(.*\)"/\1/p' engine/tandem/base.h 2>/dev/null)
# Until 1.0 a minor version may change the interface.
SONAME   := libtandem.so.$(basename $(VERSION))
OBJCOPY  ?= $(if $(filter-out $(shell uname -m),$(ARCH)),$(MACHINE)-)objcopy
PC_LIBDIR := $(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))

$(B)/lib/libtandem.a: $(call obj,$(ENGINE_C))
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)$(CC) -r -nostdlib -o $(@D)/all.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(@D)/all.o $(@D)/tandem.o
	$(Q)rm -f $@ $(@D)/all.o; $(AR) rcs $@ $(@D)/tandem.o

$(B)/lib/libtandem.so: $(call obj,$(ENGINE_C)) engine/libtandem.map
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-z,relro,-z,now -Wl,-soname,$(SONAME) \
		-Wl,--version-script=engine/libtandem.map -o $@ $(filter %.o,$^) $(ENGINE_LIBS)

$(B)/lib/tandem.pc: engine/tandem.pc.in engine/tandem/base.h FORCE
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(PC_LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@PACKAGES@|$(PKGS_ENGINE)|' $< >$@

# ---- Generated from the table of options -------------------------------------------------------------------------

$(B)/tandem.1: $(B)/tandem
	$(Q)$(B)/tandem --man >$@
$(B)/tandem.bash: $(B)/tandem
	$(Q)$(B)/tandem --completion-bash >$@
$(B)/_tandem: $(B)/tandem
	$(Q)$(B)/tandem --completion-zsh >$@
$(B)/tandem.fish: $(B)/tandem
	$(Q)$(B)/tandem --completion-fish >$@

# ---- Fuzz targets: tests/DIR/fuzz_X.c with its corpus in tests/DIR/corpus/X --------------------------------------

FUZZERS := $(patsubst %.c,$(B)/%,$(if $(IMAGE),$(FUZZ_C),$(filter-out tests/src/image/fuzz_decode.c,$(FUZZ_C))))
$(FUZZERS): $(B)/tests/%: $(B)/obj/tests/%.o $(B)/libtest.a $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(PIE) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(FUZZ_LIBS) $(BENCH_LIBS) \
	$(UI_LIBS) $(ENGINE_LIBS)
# The decoders of pictures are in no library of the tree's.
$(B)/tests/src/image/fuzz_decode: FUZZ_LIBS := $(IMAGE_LIBS)
$(B)/tests/src/image/fuzz_decode: $(call obj,$(filter-out src/image/main.c,$(IMAGE_ONLY)))

# ---- What make is asked for --------------------------------------------------------------------------------------

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  variables: SANITIZER=address|undefined|thread  V=1  WERROR=1  CC=clang  CFLAGS=...  PREFIX=  DESTDIR='

run: all ## a conversation with the built-in model
	@$(B)/tandem

unit: $(TESTS) $(PROGRAMS) $(SERVE) ## build and run the tests (T='a b' those whose path contains a or b)
	@TANDEM=$(B)/tandem BUILD=$(B) tests/run $(T)

# The C programs below tests/engine run no program.
test-programs: $(TESTS) $(if $(filter-out tests/engine/%,$(call chosen,$(TEST_C))),$(PROGRAMS) $(SERVE))

# Everything compiled, nothing linked: for another compiler's warnings.
objects: $(call obj,src/main.c $(ENGINE_C) $(UI_C) $(SRC_C) $(BENCH_C) $(TESTLIB_C) $(TEST_C) $(FAKE_C) $(FUZZ_C) \
	$(if $(PULL),$(PULL_ONLY)) $(if $(NET),$(NET_ONLY)) $(if $(IMAGE),$(IMAGE_ONLY)) $(if $(SERVE),$(SERVE_C)) $(DEVICE_C))

test: ## everything that CI runs, with a short form of every long test
	@$(MAKE) --no-print-directory -j$(or $(shell nproc 2>/dev/null),2) WERROR=1 all
	@tests/all

test-long: ## the full form of the long tests, and each program many times
	@TANDEM_LONG=1 tests/all

test-busy: ## the tests beside programs that keep the cores and the disk busy
	@tests/all busy

test-arm64: ## the tests for arm64, under an emulator (make deps-cross)
	@tests/all arm64

land: ## prove HEAD in a fresh clone as CI does, then move main forward to it
	@tests/land

fuzz: ## run every fuzz target (FUZZ_RUNS=N each, default a million; T=name picks)
	@tests/fuzz $(T)

fuzz-programs: $(FUZZERS)

bench: all ## every measurement (tandem bench)
	$(B)/tandem bench

bench-smoke: all ## the kernels and the built-in model against this machine's ceilings, in less than a minute
	$(B)/tandem bench kernels model -m builtin --quick --budget $(SMOKE_BUDGET)

include assets/measured.mk tests/device/kit.mk

goldens-update: $(B)/tests/ui/test_screen $(B)/tests/screens/test_screens ## write the golden screens anew (read the diff)
	GOLDEN_UPDATE=1 $(B)/tests/ui/test_screen
	GOLDEN_UPDATE=1 $(B)/tests/screens/test_screens

figures: $(addprefix $(B)/tests/src/,tui/test_tui tui/test_demo tui/test_gpu plain/test_first server/test_walk) $(SERVE) $(B)/tandem $(BENCH) ## the README's first conversation and pictures; demo, server and GPU as text
	TANDEM=$(B)/tandem TANDEM_CONVERSATION=README.md $(B)/tests/src/plain/test_first
	TANDEM=$(B)/tandem TANDEM_FIGURE=assets/screen.svg $(B)/tests/src/tui/test_tui picture
	TANDEM=$(B)/tandem TANDEM_DEMO=assets/demo.md $(B)/tests/src/tui/test_demo frames
	TANDEM=$(B)/tandem TANDEM_WALK=assets/server-walk.md $(B)/tests/src/server/test_walk
	TANDEM=$(B)/tandem TANDEM_GPU=assets/gpu.md $(B)/tests/src/tui/test_gpu
	$(MEASURED) bars turns/pipelines synthetic:0.8b:q8_0 $(call rows,measured) >$(B)/turns.svg
	mv $(B)/turns.svg assets
	$(B)/tandem run -m synthetic:0.8b:q8_0 --script assets/timeline.json --trace $(B)/timeline.trace --overwrite >/dev/null
	$(MEASURED) timeline synthetic:0.8b:q8_0 <$(B)/timeline.trace >$(B)/timeline.svg
	mv $(B)/timeline.svg assets

transcript: all ## a pull that is stopped and cut, for assets/pull.md
	TANDEM=$(B)/tandem tests/src/pull/transcript.sh >$(B)/pull.md
	mv $(B)/pull.md assets/pull.md

# Linux looks for a library in a list that ldconfig makes of certain folders. If LIBDIR is one of them the list is renewed,
# so that programs find the library at once.
RENEW_LOADER = $(Q)PATH="$$PATH:/usr/sbin:/sbin"; \
	[ -n "$(DESTDIR)" ] || ! ldconfig -NXv 2>/dev/null | grep -q '^$(LIBDIR):' || ldconfig

library: $(LIBRARY) ## the engine for other programs: libtandem.a, libtandem.so, tandem.pc

install-library: library ## the engine for other programs, with its headers (PREFIX, LIBDIR, DESTDIR)
	install -Dm644 -t $(DESTDIR)$(PREFIX)/include engine/tandem.h
	install -Dm644 -t $(DESTDIR)$(PREFIX)/include/tandem engine/tandem/*.h
	install -Dm644 -t $(DESTDIR)$(LIBDIR) $(B)/lib/libtandem.a
	install -Dm755 $(B)/lib/libtandem.so $(DESTDIR)$(LIBDIR)/libtandem.so.$(VERSION)
	ln -sf libtandem.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libtandem.so
	install -Dm644 -t $(DESTDIR)$(LIBDIR)/pkgconfig $(B)/lib/tandem.pc
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/doc/tandem LICENSE assets/example.c
	$(RENEW_LOADER)

install: all install-library $(B)/tandem.1 $(B)/tandem.bash $(B)/_tandem $(B)/tandem.fish ## programs, model with its card, prompts, man page, completions, library (PREFIX, DESTDIR)
	install -Dm755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS)
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tandem assets/*.gguf assets/demo.json assets/tandem-demo-*.md assets/*.txt $(if $(BENCH),src/bench/measured.py)
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tandem/prompts assets/prompts/*.md
	install -Dm644 $(B)/tandem.1 $(DESTDIR)$(PREFIX)/share/man/man1/tandem.1
	install -Dm644 $(B)/tandem.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tandem
	install -Dm644 $(B)/_tandem $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tandem
	install -Dm644 $(B)/tandem.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tandem.fish

uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,tandem tandem-pull tandem-net tandem-image tandem-bench) $(DESTDIR)$(PREFIX)/share/man/man1/tandem.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tandem
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tandem
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tandem.fish
	rm -f $(DESTDIR)$(PREFIX)/include/tandem.h $(addprefix $(DESTDIR)$(LIBDIR)/,libtandem.a libtandem.so libtandem.so.$(VERSION) $(SONAME) pkgconfig/tandem.pc)
	rm -rf $(addprefix $(DESTDIR)$(PREFIX)/,include/tandem share/tandem share/doc/tandem)
	$(RENEW_LOADER)

clean: ## remove what was built
	rm -rf build

-include $(shell find $(B)/obj $(B)/pic -name '*.d' 2>/dev/null)

endif
