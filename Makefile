# What one does with this repository. Each target makes what it needs first, in .venv; a fresh clone needs make and
# Python 3.11 or newer with pip, nothing else.
#
#   make PYTHON=/path/to/python3.12   which interpreter .venv is made with
#   make test ARGS=tests/store        what is handed on to pytest, to the benchmarks or to `orth up`
#   make test WORKERS=8               how many pytest processes
#   make PINS=versions                install what an index has of the pinned versions, whatever its hashes

VENV := .venv
BIN := $(VENV)/bin
EXTRAS := server,postgres,mysql,redis
CORES := $(shell nproc 2>/dev/null || echo 2)
# Two more than there are cores, for tests that wait; each may start servers of its own.
WORKERS ?= $(shell n=$$(($(CORES) + 2)); [ $$n -gt 9 ] && n=9; echo $$n)
SECONDS ?= 60
ARGS ?=
PINS ?= hashes
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PIP_PINNED := $(PIP) --require-hashes --no-deps --requirement
PIP_VERSIONS := $(PIP) --constraint constraints.txt --build-constraint constraints.txt
export PINS
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal
CONSOLE_SOURCES := $(shell find console -type f -not -path '*/node_modules/*' \
	-not -path '*/dist/*' -not -path '*/build/*' -not -name schema.d.ts 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install up test checks lint servers bench faults fuzz memory-attacks console console-check console-checked console-shots audit clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | sort -u | awk -F '\t' '{printf "  make %-15s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## Install Orth in .venv, so that .venv/bin/orth works

up: install console ## Start Orth on this machine, with the demo jobs
	@$(BIN)/orth up $(ARGS)

# The stories of the console come first, a browser for each core and not more: beside other workers they are too slow.
test: $(VENV)/.development servers checks ## Run everything: lint, then all tests
	@stories=0; $(if $(ARGS),,$(BIN)/python -m pytest -q -n $(CORES) --dist worksteal tests/console || stories=$$?;) \
	$(PYTEST) $(if $(ARGS),$(ARGS),--ignore tests/console) && exit $$stories

# Each is one process for most of its time, and neither needs the other: side by side they keep two cores busy.
checks: $(VENV)/.development ## Lint, and check and build the console, side by side
	@$(MAKE) --no-print-directory lint & lint=$$!; \
	console=0; $(MAKE) --no-print-directory console-checked || console=$$?; wait $$lint && exit $$console

lint: $(VENV)/.development ## Check style, types and who imports whom
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; exit 1; }

servers: $(VENV)/.python ## Install what tests start (PostgreSQL, MariaDB, Redis, Node.js, PHP, tmux, Chromium), where missing and permitted
	@tools/system_packages.sh $(BIN)/python

bench: $(VENV)/.development ## Run the benchmarks
	@if [ -f bench/__main__.py ]; then $(BIN)/python -m bench $(ARGS); else echo "There are no benchmarks yet."; fi

faults: $(VENV)/.development servers ## Run the fault tests in their long form
	@if [ -d tests/faults ]; then ORTH_TEST_FAULTS=long $(PYTEST) --timeout 3600 tests/faults tests/coordinator/test_ending_machine.py tests/coordinator/test_planning_ahead_model.py $(ARGS); \
	else echo "There are no fault tests yet."; fi

memory-attacks: $(VENV)/.development ## Attack a coordinator in many ways and measure the memory it takes
	@$(BIN)/python -m tests.security.memory_attacks $(ARGS)

console: $(VENV)/.console ## Build the console

console-check: $(VENV)/.installed ## Check the console: style, types against the API, texts, tests of its parts
	@tools/build_console.sh $(VENV) check

# The types of the API are made once for both.
console-checked: $(VENV)/.installed ## Check the console, and build it where it changed
	@todo=check; $(MAKE) -q $(VENV)/.console || todo="check build"; \
	tools/build_console.sh $(VENV) $$todo && touch $(VENV)/.console

console-shots: $(VENV)/.development servers console ## Make pictures of every page of the console, in console/build/shots
	@$(BIN)/python -m tests.console.shots console/build/shots

fuzz: $(VENV)/.development ## Feed every reader of foreign bytes with new inputs, SECONDS=60 each
	@$(BIN)/python -m tests.fuzz $(SECONDS) $(ARGS)

audit: $(VENV)/.development ## Look for known vulnerabilities in what Orth depends on
	@$(BIN)/python tools/vulnerabilities.py $(VENV)

clean: ## Remove .venv and everything built; data in .orth stays
	@rm -rf $(VENV) dist build console/dist console/build console/node_modules src/orth/coordinator/http/console
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the steps behind them, each done again only when what it is made from changes ---

$(VENV)/.python: tools/python_environment.sh pins/pip.txt
	@echo "Making the Python environment in $(VENV)"
	@tools/python_environment.sh $(VENV)
	@touch $@

# pip knows no hash of this directory, so Orth itself comes second, built with what was installed before it.
$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt pins/install.txt
	@echo "Installing Orth in $(VENV)"
	@rm -rf $(VENV)/lib/python3*/site-packages/orth-[0-9]*.dist-info # metadata of another distribution, see orth.distribution
ifeq ($(PINS),hashes)
	@$(PIP_PINNED) pins/install.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
else
	@$(PIP_VERSIONS) --editable '.[$(EXTRAS)]'
endif
	@touch $@

$(VENV)/.development: $(VENV)/.installed pins/development.txt
	@echo "Installing the development tools in $(VENV)"
ifeq ($(PINS),hashes)
	@$(PIP_PINNED) pins/development.txt
else
	@$(PIP_VERSIONS) --group dev
endif
	@touch $@

$(VENV)/.console: $(VENV)/.installed tools/build_console.sh tools/console_licences.py pins/npm.json $(CONSOLE_SOURCES)
	@echo "Building the console"
	@tools/build_console.sh $(VENV)
	@touch $@
