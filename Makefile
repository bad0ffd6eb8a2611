# Every verb is a line over meson, ninja and tools/. `make help` lists them.
# SPDX-License-Identifier: Apache-2.0
BUILD ?= build
J     ?= 2
# Debian's own Python, which has pytest as a Debian package.
PY    ?= /usr/bin/python3
REFERENCE_PYTHON ?= python3
FUZZ_SECONDS ?= 600
SAN    = -Db_sanitize=address,undefined -Db_lundef=false -Db_ndebug=false -Db_pie=false -Doptimization=1 -Dtraps=$(if $(VERBOSE),false,true)

export PDL_PYTHON ?= $(PY)
# A compiler cache, where there is one, takes the list of headers from the compiler, instead of running the preprocessor for it.
export CCACHE_DEPEND ?= 1

all: ## build/pdl and build/pdl-value-test
	@sh tools/setup $(BUILD) && ninja -j$(J) -C $(BUILD)

demo: deps all ## install what is missing, build, run the example programs from their recordings
	@sh examples/demo.sh $(BUILD)/pdl

check: ## before a commit: quick suites, under a minute behind an incremental build; ARGS='-k NAME' goes to pytest
	@$(PY) tools/test --build $(BUILD) check $(ARGS)

test: deps ## install what is missing, build, run every suite that needs nothing but Debian packages; the last line is the total
	@$(PY) tools/test --build $(BUILD) test $(ARGS)

test-rest: deps-rest ## what `make test` leaves out: sanitizers, clang, packages of other languages, browsers, editors, whole tables
	@$(PY) tools/test --build $(BUILD) rest $(ARGS)

test-all: deps-rest ## `make test` and `make test-rest`, with one total
	@$(PY) tools/test --build $(BUILD) all $(ARGS)

soak: all asan ## hours: all seeds, all points, big numbers; MINUTES=N; ARGS='--short --fuzz SECONDS --reference PYTHON'; the result goes into docs/reliability.md
	@$(PY) tools/soak --minutes $(or $(MINUTES),60) --write $(ARGS) $(BUILD)

# One suite by its folder. Those of other languages fetch what they need.
SUITE = $(PY) -m pytest -n 2 --build $(BUILD) --tier all --fetch
test-tools: all ## tool servers from the registries of JavaScript and Python
	@$(SUITE) tests/tools

test-install: ## build, install and use the library in a bare Debian root (as root, with mmdebstrap and bubblewrap)
	@$(SUITE) tests/install

test-wheel: wheel ## the wheels, installed and used in a bare Debian root (as root, with mmdebstrap and bubblewrap)
	@$(SUITE) tests/wheel

test-notebook: all ## cells in kernels and in JupyterLab in a browser (Debian chromium, npm playwright-core)
	@$(SUITE) tests/notebook tests/python

test-reference: all ## the reference's own tests and notebooks, fetched, with libpdl-compat
	@$(SUITE) tests/reference

test-clients: all ## clients of other people against pdl serve (openai, LangChain, litellm, llm), and a real llama.cpp
	@$(SUITE) tests/clients

test-optimize: all ## the search of examples/optimize with the real model of its recording (fetches the model, 93 MB, and llama.cpp)
	@$(SUITE) tests/clients/test_optimize.py

test-dojo: all ## the attacks of AgentDojo against agents with and without policies (fetches the package; DOJO_EVERY=1: all of them)
	@$(SUITE) tests/dojo

test-cluster: all ## libpdl.ray and libpdl.spark on a local Ray and PySpark (fetches them; Spark needs a Java)
	@$(SUITE) tests/cluster

test-view: all ## the Live Document in a real browser (chromium, with playwright-core from the registry)
	@$(SUITE) tests/page

test-site: ## the pages as a site, in a browser (Debian chromium, npm playwright-core; fetches the generator)
	@$(SUITE) tests/site

test-editors: all ## the language server and the debugger in real editors: Neovim, Emacs, VS Code (Debian neovim, emacs-nox, elpa-eglot, elpa-dap-mode; npm)
	@$(SUITE) tests/editors

site: $(if $(PLAYGROUND),playground) ## $(BUILD)/site: the pages of docs/ as static HTML with search (fetches Material for MkDocs); PLAYGROUND=1: with "Try it"
	@$(PY) tools/make-site $(BUILD) --playground build-wasm/playground

wasm: ## build-wasm/libpdl.wasm and the npm package build-wasm/pdl-lang; fetches a compiler and sources on first use
	@$(PY) packaging/wasm/make-wasm $(ARGS) && $(PY) packaging/npm/make-npm

playground: wasm ## build-wasm/playground: a page in which programs are written, checked, run and read, for any web server (npm: CodeMirror, esbuild)
	@$(PY) packaging/playground/make-playground

test-playground: ## the playground in a real browser (Debian chromium, nodejs, npm playwright-core; fetches a compiler)
	@$(SUITE) tests/playground

test-npm: ## the npm package in Node, with the programs of the conformance kit (Debian nodejs, npm; fetches a compiler)
	@$(SUITE) tests/npm

vsix: all ## dist/pdl-*.vsix: the extension for VS Code with the command for this platform (npm: @vscode/vsce, vscode-languageclient)
	@sh editors/vscode/make-vsix $(BUILD)

deps: ## install what is missing (Debian: apt-get as root or through sudo)
	@sh tools/install-deps

deps-rest: ## install what `make test-rest` can use: browsers, editors, other compilers
	@sh tools/install-deps rest

asan: ## build-asan/: address, undefined behaviour and leak sanitizers, with assertions; VERBOSE=1: with messages of what is undefined
	@sh tools/setup $(BUILD)-asan $(SAN) && ninja -j$(J) -C $(BUILD)-asan

python: all ## the Python package in build/python, for PYTHONPATH; skipped where Python.h is absent
	@$(PY) tools/build-python $(BUILD) || [ $$? = 77 ]

static: ## dist/pdl-linux-PROCESSOR: the command as one file that needs nothing else; ARGS='--processor aarch64'
	@sh tools/install-deps wheel && $(PY) packaging/static/make-static $(ARGS)

container: ## dist/pdl-VERSION-PROCESSOR.oci.tar: the static command as an image for Docker, Podman and Kubernetes, made without a daemon
	@sh tools/install-deps wheel && $(PY) packaging/container/make-container $(ARGS)

deb: ## dist/*.deb: the packages of Debian, from the last commit; ends when lintian finds an error or a warning
	@sh tools/install-deps deb && $(PY) packaging/deb/make-deb $(ARGS)

release: all ## dist/: every package, with hashes, a bill of materials and a page of what is in it; ARGS=--check runs each, makes all of it twice and compares
	@sh tools/install-deps wheel && sh tools/install-deps deb && sh tools/install-deps release && $(PY) packaging/release/make-release $(ARGS)

test-deb: deb ## the packages of Debian, installed, used and removed in a bare Debian root (as root, with mmdebstrap and bubblewrap)
	@$(SUITE) tests/deb

test-container: container ## the image: validated, unpacked, and run in its own root as its own user
	@$(SUITE) tests/container

test-static: static ## the static command in an empty root, and the suites that know how
	@$(SUITE) tests/static

wheel: ## dist/libpdl-*.whl and dist/libpdl_compat-*.whl, with all that they need; fetches a compiler and sources on first use; ARGS='--target all': for musl, arm64 and macOS, too
	@sh tools/install-deps wheel && $(PY) packaging/wheel/make-wheel $(ARGS)

debug: ## build-debug/: with assertions, and all that a debugger wants to know
	@sh tools/setup $(BUILD)-debug -Db_ndebug=false -Dc_args=-g && ninja -j$(J) -C $(BUILD)-debug

check-assertions: debug ## unit tests where assertions are on, without sanitizers, which have them on, too
	@$(PY) -m pytest -n 4 --build $(BUILD)-debug tests/unit

pages: all ## write the pages and completions that are made from the tables of the code
	@tools/quick-reference-page $(BUILD)/pdl && tools/builtins-page $(BUILD)/pdl && sh packaging/generate $(BUILD)/pdl
	@tools/providers-page && tools/patterns-page && tools/manual-pages && tools/assistant-pages

check-prose: ## doors of rooms explain themselves, comments are sentences, lines have one width; ARGS=--write lowers tools/offenders.txt
	@$(PY) tools/check-prose $(ARGS)

check-sentences: ## no sentence of a page for users is too long; ARGS=--write lowers tools/offenders.txt
	@$(PY) tools/check-sentences $(ARGS)

check-spec: ## citations of the specification lead to a section; ARGS=--cases counts the cases of each section
	@$(PY) tools/check-spec $(ARGS)

unit: all ## unit tests
	@$(PY) -m pytest -n 4 --build $(BUILD) tests/unit

lang: all ## programs that carry their expectation: tests/lang, tests/errors
	@$(PY) -m pytest -n 4 --build $(BUILD) tests/lang tests/errors

cli: all ## command lines: tests/cli
	@$(PY) -m pytest -n 4 --build $(BUILD) tests/cli

conf: all ## conformance: programs, values, third-party suites
	@$(PY) -m pytest -n 4 --build $(BUILD) tests/conformance

bench-calls: all ## speed of model calls over loopback, beside a bare libcurl loop
	@$(PY) bench/calls.py --pdl $(BUILD)/pdl

bench: all ## speed beside its peers, which are prepared on first use (REFERENCE=CMD: a reference that is there); ARGS='--out docs/benchmarks.md' writes the page
	@ninja -C $(BUILD) bench && $(PY) bench/run.py --pdl $(BUILD)/pdl $(if $(REFERENCE),--reference '$(REFERENCE)') $(ARGS)

bench-instructions: all ## instructions that whole programs take, which no other work changes (valgrind); ARGS='--against OTHER/pdl'
	@$(PY) bench/instructions.py --pdl $(BUILD)/pdl $(ARGS)

bench-micro: ## speed of single operations: bench/bench_*.c (bench_load wants files)
	@sh tools/setup $(BUILD) && ninja -j$(J) -C $(BUILD) bench
	@for b in json value; do $(BUILD)/bench_$$b; done

diff: all ## random programs and values through the reference and through ours; REFERENCE_PYTHON: a Python that has the package; ARGS='--first 1 --seeds 300'
	@$(REFERENCE_PYTHON) tests/differential/values.py --tool $(BUILD)/pdl-value-test --keep $(BUILD)/differential-values
	@$(REFERENCE_PYTHON) -m tests.differential.compare --pdl $(BUILD)/pdl --keep $(BUILD)/differential $(ARGS)

fuzz: ## every fuzz target for FUZZ_SECONDS (600) with clang's libFuzzer; ARGS='yaml json': these
	@$(PY) fuzz/run.py --fuzz $(FUZZ_SECONDS) $(ARGS)

check-own: all ## hand-overs of values, by the types pdl_val and pdl_vref
	@sh tools/check-own $(BUILD)

check-clang: ## every source compiles under clang too; skipped where there is none
	@sh tools/check-clang

check-headers: all ## every header compiles alone as C17
	@sh tools/check-headers $(BUILD)

check-hardening: all ## flags that guard the result are in it
	@sh tools/check-hardening $(BUILD)

check-static: ## a command that needs nothing but the C library: build-static/
	@sh tools/check-static $(BUILD)-static

analyze: ## compiler analysers: gcc -fanalyzer and clang-tidy; long
	@sh tools/analyze

coverage: ## lines of the core that the tests run, by room and file; fails below 95 %: build-cov/; ten minutes
	@$(PY) tools/coverage $(BUILD)-cov

check-layers: ## includes obey src/LAYERS
	@$(PY) tools/check-layers

check-platforms: ## only the files of a platform ask which platform it is
	@$(PY) tools/check-platforms

check-targets: ## every source is read by a compiler for five targets: Linux with glibc and musl on two processors, macOS; skipped without zig
	@$(PY) tools/check-targets $(ARGS)

check-version: ## what names the version names that of meson.build
	@$(PY) tools/check-version

check-sizes: ## files, headers and functions are short enough to be read at once
	@$(PY) tools/check-sizes

check-names: all ## external symbols have the prefix pdl_, tags one layout, replaced words do not come back; ARGS=--write
	@$(PY) tools/check-names $(BUILD) $(ARGS)

format: ## breaks the lines of all C sources (Debian clang-format)
	@find src include tests tools fuzz bench examples packaging -name '*.[ch]' -exec clang-format $(or $(FORMAT),-i) {} +

install: all ## install under the prefix; DESTDIR is honoured
	@meson install --no-rebuild -C $(BUILD)

dist: all ## source archive of the last commit
	@git archive --format=tar.gz --prefix=libpdl/ -o $(BUILD)/libpdl.tar.gz HEAD && echo $(BUILD)/libpdl.tar.gz

clean: ## remove the build directories
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-debug $(BUILD)-static $(BUILD)-static-* $(BUILD)-cov $(BUILD)-wheel* $(BUILD)-pip* $(BUILD)-deb dist dist-again

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: $(shell awk -F ':.*## ' '/^[a-z-]+:.*## / { print $$1 }' Makefile)
