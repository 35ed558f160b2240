# `make demo` installs Erugin into .venv and makes the pictures of the first scenario; `make help` lists the rest.
# Everything that a target needs is installed by the target itself.

SHELL = /bin/sh
PYTHON ?= python3
# Two processes, a file of tests in one of them.
PYTEST_ARGS ?= -n 2 --dist loadfile

VENV = .venv
PY = $(VENV)/bin/python
FOLDERS = package symbolic constraints robots controllers simulation views scenarios bridges cli

# The installation is a tree of links to the sources: an edit takes effect at once, and type checkers can follow it.
# setuptools comes from .venv, so that installing again after a file was added needs no network.
INSTALL = $(PY) -m pip install --disable-pip-version-check --quiet --no-build-isolation --no-compile \
	--config-settings editable_mode=strict --editable

.PHONY: help demo test test-rest test-all test-mujoco check lint types mypy pyright bench scenarios comparison clean FORCE

help:
	@echo 'make demo        install Erugin into .venv, run the scenario two-link-arm-moving-obstacle, pictures in out/'
	@echo 'make test        the quick tests: every room, with light packages and interpreted kernels'
	@echo 'make test-rest   the other tests: slow ones, machine code, other simulators'
	@echo 'make test-all    both'
	@echo 'make test-mujoco MUJOCO=3.1.6   the tests of the bridge to MuJoCo with another version of it, from 3.0.0 on'
	@echo 'make check       make lint and make types'
	@echo 'make lint        ruff: rules and format'
	@echo 'make types       mypy and pyright, both strict'
	@echo 'make bench       run every script benchmarks/bench_*.py'
	@echo 'make scenarios   run every scenario of the catalogue, pictures in out/, and check the expected results'
	@echo 'make comparison  repeat the published comparison of docs/comparison.md (hours)'
	@echo 'make clean       remove pictures, built packages and caches; to start afresh, remove .venv too'
	@echo
	@echo 'Variables: PYTHON (default python3, 3.11 or later), PYTEST_ARGS (default "-n 2 --dist loadfile")'

demo: $(VENV)/installed
	$(VENV)/bin/erugin run two-link-arm-moving-obstacle --out out

test: $(VENV)/quick
	$(PY) -P -m pytest --tier quick --durations=10 --durations-min=2 $(PYTEST_ARGS)

test-rest: $(VENV)/tools
	$(PY) -P -m pytest --tier rest $(PYTEST_ARGS)

test-all: $(VENV)/tools
	$(PY) -P -m pytest --tier quick $(PYTEST_ARGS)
	$(PY) -P -m pytest --tier rest $(PYTEST_ARGS)

check: lint types

# Beside the version in .venv, which stays as it is.
MUJOCO ?= 3.0.0

test-mujoco: $(VENV)/tools $(VENV)/mujoco-$(MUJOCO)/installed
	PYTHONPATH='$(CURDIR)/$(VENV)/mujoco-$(MUJOCO)' $(PY) -P -m pytest $(PYTEST_ARGS) \
	  tests/bridges/mujoco

$(VENV)/mujoco-%/installed: | $(VENV)/tools
	$(PY) -m pip install --disable-pip-version-check --quiet --no-deps --upgrade --target $(@D) mujoco==$*
	@touch $@

lint: $(VENV)/tools
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

# Side by side: each is one process.
types: $(VENV)/tools
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target mypy pyright

mypy: $(VENV)/tools
	$(PY) -m mypy -p erugin
	$(PY) -m mypy tests $(if $(wildcard benchmarks/*.py benchmarks/*/*.py),benchmarks)

pyright: $(VENV)/tools
	$(PY) -m pyright

bench: $(VENV)/tools
	@for script in benchmarks/bench_*.py; do \
	  if [ -f "$$script" ]; then echo "$$script"; $(PY) "$$script" || exit 1; fi; \
	done

scenarios: $(VENV)/tools
	$(VENV)/bin/erugin run --all --out out

comparison: $(VENV)/tools
	$(PY) -m docs.studies.comparison

# build/__editable__.* stays: it is the other half of .venv.
clean:
	rm -rf out dist build/lib build/bdist.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(FOLDERS) tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The virtual environment -------------------------------------------------------------------------------------------

$(VENV)/made:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "Python is missing: '$(PYTHON)' was not found. Install Python 3.11 or later (Debian, Ubuntu:" >&2; \
	  echo "apt-get install python3 python3-venv), or name yours: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Erugin needs Python 3.11 or later, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Install a later one and name it: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: its module venv or ensurepip is missing." >&2; \
	  echo "Debian, Ubuntu: apt-get install python3-venv. Fedora: dnf install python3-pip." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) && $(PY) -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install --disable-pip-version-check --quiet 'setuptools>=77'
	@touch $@

# The list of sources, and the place of the project, as they were when it was last installed. It changes, and with it
# the installation, when a file comes or goes, when the project moves, and when the tree of links is gone.
$(VENV)/sources: $(VENV)/made FORCE
	@{ pwd; find $(FOLDERS) -name '*.py' | LC_ALL=C sort; } >$@.new
	@if cmp -s $@.new $@ && ls -d build/__editable__.erugin-* >/dev/null 2>&1; \
	then rm $@.new; else mv $@.new $@; fi

$(VENV)/installed: $(VENV)/sources pyproject.toml
	@echo 'Installing Erugin into $(VENV)'
	@$(INSTALL) .
	@touch $@

# With the packages of the quick tests, and with those of all tests and checks, in one call of pip.
$(VENV)/quick: $(VENV)/sources pyproject.toml
	@echo 'Installing Erugin and the packages of its quick tests into $(VENV)'
	@$(INSTALL) '.[quick]'
	@touch $(VENV)/installed $@

$(VENV)/tools: $(VENV)/sources pyproject.toml
	@echo 'Installing Erugin and the packages of all tests and checks into $(VENV)'
	@$(INSTALL) '.[test,lint]'
	@touch $(VENV)/installed $(VENV)/quick $@
