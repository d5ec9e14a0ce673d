# Everything a developer does, one word each. A private environment is made in .venv; nothing
# global is touched. Needs Python >= 3.11 with venv and headers, make and a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := pyproject.toml CMakeLists.txt $(wildcard cpp/*.h cpp/*/*)
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.18" ninja
PEER_TOOLS := "setuptools>=70.1"  # LIBSVM, a peer in the tests, is built from source; an older one needs wheel as well
# The contract of every estimator and every room, without its slow files; and the laws and twins of the kernels.
SLOW := $(addprefix tests/contract/test_,estimators.py hostile_estimators.py plot.py recipes.py river.py sklearn_suite.py)
QUICK := $(filter-out $(SLOW),$(wildcard tests/contract/test_*.py)) tests/laws/test_kernels.py tests/reference/test_kernels.py
SANITIZER := -C cmake.define.ONKEL_SANITIZE=ON -C cmake.build-type=Debug -C build-dir=build/sanitize
SANITIZED := $(addprefix tests/laws/test_,online.py perceptron.py online_svc.py screening.py svm.py expand.py kernels.py \
  precision.py growing_rows.py threads.py fuzz.py viterbi.py tagging.py corpus.py template_features.py prank.py \
  hostile_states.py) \
  $(wildcard tests/laws/test_transactions_*.py) tests/reference/test_passes.py tests/reference/test_smo.py \
  $(wildcard tests/contract/test_core_sizes*.py)
OLDEST := numpy==1.26.0 scipy==1.11.2 scikit-learn==1.6.0

.PHONY: demo quick test test-long fuzz check test-oldest sanitize bench format clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */make \1\t/' | expand -t 20

demo: $(VENV)/installed  ## kernels at work on the digits: a table, and demo.png
	@$(BIN)/python examples/demo.py

quick: $(VENV)/installed  ## a first answer in under a minute: the doctests, and the contract of every estimator and every room
	$(BIN)/python -m pytest src/onkel $(QUICK)

test: $(VENV)/installed  ## all tests but the long ones
	$(BIN)/python -m pytest

test-long: $(VENV)/installed  ## all tests, the long ones too, with every combination of parameters
	ONKEL_FULL_PRODUCTS=1 $(BIN)/python -m pytest -m ""

fuzz: $(VENV)/installed  ## 20 000 files that are damaged or lie
	ONKEL_FUZZ=20000 $(BIN)/python -m pytest tests/laws/test_files.py -k "damaged or lies"

check: $(VENV)/installed  ## ruff, mypy --strict, the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-oldest:  ## all tests on the oldest supported scikit-learn, NumPy and SciPy
	$(MAKE) test VENV=.venv-oldest PINS="$(OLDEST)"

# Python itself is not instrumented, so the sanitizer's library is loaded before it, and libstdc++ with it, whose
# exceptions it watches. A finding ends the process, hence the test; pytest must not capture the report on stderr.
sanitize:  ## tests of learners and core with every memory access of the core checked (GCC's sanitizers; Linux)
	$(MAKE) .venv-sanitize/installed VENV=.venv-sanitize BUILD="$(SANITIZER)"
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:malloc_context_size=8:fast_unwind_on_fatal=1 \
	  UBSAN_OPTIONS=print_stacktrace=1:fast_unwind_on_fatal=1 \
	  .venv-sanitize/bin/python -m pytest -p no:faulthandler --capture=sys --hypothesis-profile=few $(SANITIZED)

bench: $(VENV)/installed  ## measures onkel beside its peers; prints a table, writes benchmarks/results
	$(BIN)/python -m pip install --quiet -e ".[bench]" --no-build-isolation
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/perceptron.py
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/dicts.py
	$(BIN)/python benchmarks/sequences.py
	$(BIN)/python benchmarks/ridge.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/svm.py

format: $(VENV)/installed  ## formats the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## removes the environments and the build
	rm -rf .venv .venv-oldest .venv-sanitize build dist

# ---- the environment

$(VENV)/tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "onkel needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Use: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing (on Debian and Ubuntu: the package python3-venv)."; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || \
	  { echo "Python's headers are missing (on Debian and Ubuntu: the package python3-dev)."; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || \
	  { echo "A C++17 compiler is missing (on Debian and Ubuntu: the package g++)."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD_TOOLS) $(PEER_TOOLS)
	@touch $@

$(VENV)/installed: $(VENV)/tools $(CORE)
	$(BIN)/python -m pip install --quiet --no-build-isolation -e ".[plot,test]" $(PINS) $(BUILD)
	@touch $@
