# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The entry point. Every target is a few lines that call scripts/, which get what they need; each
# of those has --help. "make help" lists the targets.

# The kernel to build the module for: KDIR=/path/to/kernel/build, by default that of the running
# kernel, or of the newest installed one if that has none.
KDIR    ?=
DESTDIR ?=
# Duration of fuzzing, in seconds.
DURATION ?= 600
# Input of bench-report, instead of build/bench/out/results.jsonl. RESTLESS, if other programs had
# the machine: why such results are published.
RESULTS ?=
# Number of mutated frames to send.
FRAMES  ?= 1000000
# Duration of random calls of methods, in seconds.
METHODS ?= 30
# Source trees, for in-tree and in-rdma-core.
LINUX   ?=
RDMA_CORE ?=

export KDIR

MODULE_OUT   = $(shell scripts/build-module --print-out)
PROVIDER_OUT = build/provider
RELEASE      = $(notdir $(MODULE_OUT))

.DEFAULT_GOAL := all
.PHONY: all module provider vipl rnicpi install install-vipl install-rnicpi docs deb rpm setup-build setup-deb setup demo check check-all check-static check-kunit \
	check-kasan check-debug check-kernels check-arch check-packages check-wire check-vipl check-rnicpi check-pyverbs check-system check-chaos fuzz fuzz-guest bench bench-report in-tree in-rdma-core clean clean-cache help

##@ Build
all: module provider	## Build the kernel module and the libibverbs provider (the default)

module:			## Build the kernel module, for the kernel in KDIR
	@scripts/build-module -- -s
	@echo "$(MODULE_OUT)/srnic.ko"

provider:		## Build the libibverbs provider
	@scripts/build-provider
	@ls $(PROVIDER_OUT)/libsrnic-*.so

vipl:			## Build libvipl, the VI Provider Library
	@$(MAKE) -s -C apis/vipl/user OUT=$(CURDIR)/build/vipl
	@ls build/vipl/libvipl.so.1

rnicpi: provider	## Build librnicpi, the RNIC Programming Interface
	@$(MAKE) -s -C apis/rnicpi/user OUT=$(CURDIR)/build/rnicpi PROVIDER=$(CURDIR)/build/provider
	@ls build/rnicpi/librnicpi.so.1

docs:			## Make HTML of the documents, in build/docs
	@scripts/setup docs
	@scripts/docs

deb: setup-deb		## Build Debian packages, in build/deb
	@scripts/build-deb

rpm:			## Build RPM packages, in build/rpm; needs rpmbuild
	@scripts/build-rpm

setup-deb:
	@scripts/setup deb

install: all		## Install module, provider, uAPI header and systemd unit, below DESTDIR if given
	@scripts/install --parts module,provider,header,tools --release "$(RELEASE)" $(DESTDIR)

install-vipl: vipl	## Install libvipl, its header and its manual pages, below DESTDIR if given
	@scripts/install --parts vipl,vipl-dev $(DESTDIR)

install-rnicpi: rnicpi	## Install librnicpi, its headers and its manual pages, below DESTDIR if given
	@scripts/install --parts rnicpi,rnicpi-dev $(DESTDIR)

setup-build:		## Install the Debian packages that building and installing need
	@scripts/setup build

setup:			## Install the Debian packages that building and testing need
	@scripts/setup tests

##@ Run and test
demo:			## Show it at work: RDMA traffic between two hosts, in a guest
	@scripts/demo

# scripts/check installs the rest, while the newest kernel is built.
check:			## Everything on one kernel: static, unit and system tests, fuzzing, faults
	@scripts/setup kernel
	@scripts/check

check-all: setup	## What make check leaves out: other kernels, checkers, long runs; hours
	@scripts/check --log build/log/all all

check-static: setup	## Compiler warnings, sparse, checkpatch and other looks at the sources
	@scripts/check static

check-kunit: setup	## Unit tests (KUnit), in User Mode Linux with KASAN
	@scripts/check kunit:kasan

check-kasan: setup	## All in guests, with KASAN, lockdep and kmemleak: Linux 6.1, one CPU
	@scripts/check kunit:kasan mutate:kasan chaos:kasan system:kasan

check-debug: setup	## The same of the newest Linux, several CPUs, and the fuzzers
	@scripts/check fuzz kunit:smp-debug mutate:smp-debug chaos:smp-debug system:smp-debug

check-kernels: setup	## All in guests, on Linux 6.1, 6.12 and the newest; hours
	@scripts/check kernels; rc=$$?; scripts/check-lists --table build/log/check; exit $$rc

check-arch: setup	## Other processors in emulators: arm64, s390x, ppc64el; hours
	@scripts/check arch:arm64 arch:s390x arch:ppc64el pair:s390x

check-packages:		## The Debian packages on a machine of their own; an hour
	@scripts/setup packages
	@scripts/check-packages

check-wire: setup	## Conformance to the wire, row by row: the scripted iWARP peer
	@scripts/check-wire

check-vipl: setup	## libvipl: functions, millions of messages, 1,000 connections
	@tests/system/run --kernel newest --long --timeout 7200 vipl vipl_old vipl_other vipl_sanitize

check-rnicpi: setup	## librnicpi: functions, 100,000 connections; rnicpi.ko
	@tests/system/run --kernel newest --long --timeout 3600 rnicpi rnicpi_other rnicpi_sanitize rnicpi_ko

check-pyverbs: setup	## Python tests of the newest rdma-core that Debian has
	@scripts/pyverbs-newest
	@tests/system/run --kernel newest pyverbs_newest

check-system: setup	## System tests on the stock kernel, in QEMU
	@scripts/check system:stock

check-chaos: setup	## 500 faults under traffic, or faults for DURATION seconds
	@scripts/chaos $(if $(filter file,$(origin DURATION)),--faults 500,--duration $(DURATION))

fuzz: setup		## Fuzz what decodes untrusted input, for DURATION seconds
	@scripts/fuzz --duration $(DURATION)

fuzz-guest: setup	## Attack the module in a guest: FRAMES frames, METHODS seconds of calls
	@scripts/fuzz-guest --frames $(FRAMES) --methods $(METHODS)

bench: setup		## Measure srnic beside siw, rxe and TCP; hours, or minutes with QUICK=1
	@scripts/setup bench
	@tests/bench/run $(if $(QUICK),,--full)

bench-report:		## Write benchmarks.md and README.md's table from what was measured
	@scripts/setup bench
	@tests/bench/publish.py $(if $(RESTLESS),--restless "$(RESTLESS)") $(RESULTS)

##@ Other
in-tree:		## Copy the driver into a kernel's source tree: LINUX=DIR
	@scripts/in-tree "$(LINUX)"

in-rdma-core:		## Copy the provider into rdma-core's source tree: RDMA_CORE=DIR
	@scripts/in-rdma-core "$(RDMA_CORE)"

clean:			## Remove what was built (the cache outside the tree stays)
	@rm -rf build

clean-cache:		## Remove kernels, sources and packages that were fetched or built
	@scripts/clean-cache

help:			## Show this list
	@awk -F ':.*## *' '/^##@/ { print substr($$0, 5) ":" } \
		/^[a-z-]+:.*##/ { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
