# `make demo` and `make test` do all set-up that they need. `make help` lists the rest.
# PYTHON= selects another interpreter, which gets a virtual environment and an extension of its own: make test PYTHON=python3.12

PYTHON ?= python3
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
JOBS ?= $(shell nproc)
PYTEST_ARGS ?=
CTEST_ARGS ?=

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += -s --no-print-directory

ifeq ($(PYTHON),python3)
  VENV := .venv
else
  VENV := .venv-$(patsubst python%,%,$(notdir $(PYTHON)))
endif
BIN := $(CURDIR)/$(VENV)/bin
RELEASE := build/release
DEBUG := build/debug
export PATH := $(BIN):$(PATH)
export PYTHONDONTWRITEBYTECODE =

CXX_FILES = $(shell find src device tests bench examples cmake -name '*.cpp' -o -name '*.h' 2>/dev/null)
# The tests that a change must pass each time; make test-all runs the slow ones too.
FAST := -m "not slow"
CTEST = ctest -j $(JOBS) --output-on-failure --progress $(CTEST_ARGS)

.PHONY: help setup system venv build demo test test-all test-core test-python test-pythons test-arm lint format tidy debug bench clean distclean

help:
	@echo "make demo          set up, build, run examples/demo.py; PICTURE=file.png takes another picture"
	@echo "make test          set up, build, run the core tests, the Python tests and the style checks"
	@echo "make test-all      the same, with the slow tests"
	@echo "make test-core     the core tests (C++); CTEST_ARGS='-R name' selects"
	@echo "make test-python   the Python tests; PYTEST_ARGS='-k name' selects"
	@echo "make test-pythons  the Python tests with each of: $(PYTHONS)"
	@echo "make test-arm      the tests on AArch64, by QEMU (CONTRIBUTING.md says what it needs)"
	@echo "make debug         build with sanitizers in $(DEBUG), run the core tests and the Python tests with it"
	@echo "make lint          check formatting and Python style"
	@echo "make format        apply formatting"
	@echo "make tidy          clang-tidy on the C++ files that differ from main; ALL=1 for all, FILES='...' for some"
	@echo "make bench         run the benchmarks"
	@echo "make setup         system packages and virtual environment only"
	@echo "make build         set up and build"
	@echo "make clean         remove what was built; make distclean removes the virtual environments too"
	@echo "PYTHON=python3.12 selects another interpreter (3.10 or newer), JOBS=n the number of processes"

# --- set-up ----------------------------------------------------------------------------------------------------------

system:
	@echo "[1/5] system packages ..."
	@tools/setup.sh $(PYTHON)

venv: system
	@echo "[2/5] virtual environment $(VENV) ..."
	@$(MAKE) $(VENV)/.stamp

$(VENV)/.stamp: tools/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Weft needs Python 3.10 or newer: make PYTHON=...")'
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --disable-pip-version-check --progress-bar off -r tools/requirements.txt 2>&1 | { grep -E "^(Collecting|  Downloading|Installing|Successfully|ERROR)" || true; } | cut -c1-100
	@echo $(CURDIR)/python > $$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/weft-source.pth
	@touch $@

setup: venv

# --- build -----------------------------------------------------------------------------------------------------------

ifeq ($(VENV),.venv)
build: venv
	@echo "[3/5] build $(RELEASE) ..."
	@$(MAKE) $(RELEASE)/.configured
	@cmake --build $(RELEASE) -j $(JOBS)
else
# The libraries are shared by all versions of Python: only the extension is built anew.
EXTENSION := build/extension$(VENV:.venv%=%)
build: venv
	@echo "[3/5] build $(RELEASE) and the extension for $(PYTHON) ..."
	@test -e $(RELEASE)/build.ninja || cmake --preset release -DPython_EXECUTABLE=$(BIN)/python
	@cmake --build $(RELEASE) -j $(JOBS)
	@test -e $(EXTENSION)/build.ninja || cmake -S . -B $(EXTENSION) -G Ninja -DCMAKE_BUILD_TYPE=Release \
	    -DPython_EXECUTABLE=$(BIN)/python -DWEFT_PREBUILT=$(CURDIR)/python/warp/lib
	@cmake --build $(EXTENSION) -j $(JOBS)
endif

$(RELEASE)/.configured: CMakePresets.json .venv/.stamp
	@cmake --preset release -DPython_EXECUTABLE=$(BIN)/python
	@touch $@

# --- work ------------------------------------------------------------------------------------------------------------

demo: build
	@echo "[4/5] examples/demo.py ..."
	@mkdir -p out
	@$(VENV)/bin/python examples/demo.py $(PICTURE)
	@echo "[5/5] done"

test: build
	@echo "[4/5] core tests, Python tests ..."
	@$(CTEST) --test-dir $(RELEASE)
	@$(VENV)/bin/python -m pytest -n $(JOBS) $(FAST) $(PYTEST_ARGS)
	@echo "[5/5] style ..."
	@$(MAKE) lint

test-all: FAST :=
# The PTX of every kernel that the core tests compile is assembled, too.
test-all: export WEFT_PTX_OF_ALL = 1
test-all: test

test-core: build
	@$(CTEST) --test-dir $(RELEASE)

test-python: build
	@$(VENV)/bin/python -m pytest -n $(JOBS) $(FAST) $(PYTEST_ARGS)

# Found on the path, else among pyenv's.
test-pythons:
	@for name in $(PYTHONS); do \
	    python=""; \
	    for candidate in $$name $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$${name#python}.*/bin/$$name; do \
	        if $$candidate -c '' 2>/dev/null; then python=$$candidate; fi; \
	    done; \
	    if [ -n "$$python" ]; then echo "== $$python"; $(MAKE) test-python PYTHON=$$python; \
	    else echo "== $$name is not installed: skipped"; fi; \
	done

# The sanitizers' own library, and the C++ library whose functions it wraps, must be loaded before Python.
SANITIZED = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0:use_sigaltstack=0 UBSAN_OPTIONS=print_stacktrace=1 \
    PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/$(DEBUG)/python

# use_tls: LeakSanitizer crashes on the thread-local data of libraries that were opened later.
debug: venv
	@echo "[3/5] build $(DEBUG) ..."
	@test -e $(DEBUG)/build.ninja || cmake --preset debug -DPython_EXECUTABLE=$(BIN)/python
	@cmake --build $(DEBUG) -j $(JOBS)
	@echo "[4/5] core tests ..."
	@ASAN_OPTIONS=detect_container_overflow=0 LSAN_OPTIONS=use_tls=0 UBSAN_OPTIONS=print_stacktrace=1 $(CTEST) --test-dir $(DEBUG)
	@echo "[5/5] Python tests ..."
	@$(SANITIZED) $(VENV)/bin/python -m pytest -p no:cacheprovider $(FAST) $(PYTEST_ARGS)

# On another processor (CONTRIBUTING.md): the core tests, then those Python tests that PYTEST_ARGS names.
ARM := build/arm
QEMU ?= qemu-aarch64
test-arm: export QEMU := $(QEMU)
test-arm: export WEFT_CXX := aarch64-linux-gnu-g++
test-arm: venv
	@command -v $(QEMU) $(WEFT_CXX) >/dev/null || { echo "test-arm needs QEMU and g++-aarch64-linux-gnu: see CONTRIBUTING.md"; exit 1; }
	@tools/arm_sysroot.sh $(ARM)/sysroot $(BIN)/python
	@echo "[3/5] build $(ARM) ..."
	@test -e $(ARM)/build.ninja || cmake -S . -B $(ARM) -G Ninja -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/aarch64.cmake \
	    -DWEFT_SYSROOT=$(CURDIR)/$(ARM)/sysroot -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(BIN)/python
	@cmake --build $(ARM) -j $(JOBS)
	@echo "[4/5] core tests ..."
	@# QEMU lists pages one by one, whatever they are mapped by.
	@$(QEMU) -L $(ARM)/sysroot $(ARM)/weft_tests --gtest_brief=1 --gtest_filter=-CodePages.ShareMappings
	@echo "[5/5] Python tests ..."
	@tools/arm_python -m pytest -p no:cacheprovider -n $(JOBS) $(FAST) $(PYTEST_ARGS)

bench: build
	@$(VENV)/bin/python -m bench

# --- style -----------------------------------------------------------------------------------------------------------

lint: $(VENV)/.stamp
	@files=$$(clang-format --dry-run $(CXX_FILES) 2>&1 | sed -n 's/:[0-9]*:[0-9]*: .*clang-format-violations.*//p' | sort -u); \
	test -z "$$files" || { printf 'not formatted (make format): %s\n' $$files; exit 1; }
	@ruff check --quiet .
	@ruff format --check --quiet . || { ruff format --check .; exit 1; }
	@$(MAKE) tidy
	@echo "style: all files pass"

format: $(VENV)/.stamp
	@clang-format -i $(CXX_FILES)
	@ruff check --fix --quiet .
	@ruff format --quiet .

CHANGED = $(shell { git diff --name-only --diff-filter=d main -- '*.cpp'; git ls-files -o --exclude-standard -- '*.cpp'; } | grep -E '^(src|tests)/' | sort -u)
FILES ?= $(if $(ALL),$(filter src/%.cpp tests/%.cpp,$(CXX_FILES)),$(CHANGED))
tidy: build
	@if [ -n "$(FILES)" ]; then printf '%s\n' $(FILES) | xargs -P $(JOBS) -n 1 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p $(RELEASE); \
	else echo "tidy: no C++ file differs from main"; fi

clean:
	@rm -rf build out python/warp/lib python/warp/*.so .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean
	@rm -rf .venv .venv-*
