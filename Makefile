# `make` lists the targets. Everything runs in .venv, which is created from the hash-locked requirements when it is first
# needed. PYTHON=/path/to/python3.12 chooses the Python; REVERIES_HOME chooses where the mind lives.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
REVERIES := $(BIN)/reveries
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
PYTEST := $(BIN)/python -m pytest
# These look at the source and at what is installed: make check runs them.
SOURCE_TESTS := tests/test_house.py tests/test_requirements.py

# What test-system needs: the command that shows that it is installed, and its Debian package.
SYSTEM_TOOLS := tmux:tmux strace:strace systemd:systemd-analyze chromium:chromium bwrap:bubblewrap

# Modules that are compiled once serve every process of a run; without this each of seven test workers compiles all anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help wake install hosted mcp web test test-system system-packages check format docs bench bench-safety soak locks audit \
    sbom clean

help: ## show this list
	@echo "make TARGET, one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1#\2/p' $(MAKEFILE_LIST) | awk -F'#' '{printf "%-14s %s\n", $$1, $$2}'

# --- using it --------------------------------------------------------------------------------------------------------

wake: $(VENV)/core.stamp ## install, choose and download the models, start the daemon and open the chat (MODEL=NAME: that model)
	@$(REVERIES) models choose $(if $(MODEL),"$(MODEL)")
	@embedder=$$($(call setting,llm.embedding_model)) && case "$$embedder" in \
	    */*) echo "The embedder is $$embedder: no download is needed." ;; \
	    *) $(REVERIES) models pull "$$embedder" ;; \
	esac
	@$(REVERIES) wake
	@if [ -t 0 ] && [ -t 1 ]; then \
	    exec $(REVERIES); \
	else \
	    echo "To talk with it: $(REVERIES)   (make install puts reveries on the PATH)"; \
	fi

install: ## put `reveries` on the PATH (pipx, or ~/.local/bin)
	@.ci/install

hosted: $(VENV)/hosted.stamp ## add litellm, for hosted models, to .venv

mcp: $(VENV)/mcp.stamp ## add the MCP library to .venv: a memory for your coding agent

web: $(VENV)/web.stamp ## add the packages for the terminal in a browser to .venv

# --- developing ------------------------------------------------------------------------------------------------------

check: $(VENV)/dev.stamp ## format, lint, types, import contracts, generated pages, and the tests of the source
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary & types=$$!; \
	    $(BIN)/lint-imports --no-cache && $(BIN)/python docs/generate.py --check && \
	    $(PYTEST) -q $(SOURCE_TESTS) && $(BIN)/python tests/house_figures.py; \
	    others=$$?; wait $$types && exit $$others
	@echo "check: everything passed"

# Four workers, because many tests wait for a screen. Files in the order in which they are collected: ordered by their
# number of tests, the few slow ones with a real model came last, and three workers waited for the fourth.
test: $(VENV)/dev.stamp ## all tests of the product that need no privileges (downloads the small model first)
	@$(REVERIES) models pull smollm2-135m all-minilm-l6-v2
	@$(PYTEST) -q -m "not system" $(SOURCE_TESTS:%=--ignore=%) \
	    $(if $(ARGS),$(ARGS),-n 4 --dist loadfile --no-loadscope-reorder --durations=10)

test-system: $(VENV)/dev.stamp $(VENV)/mcp-suite.stamp ## slow tests, and tests that need root or Debian packages; a skip is a failure
	@packages=$$($(MAKE) --silent system-packages); [ -z "$$packages" ] || \
	    { echo "test-system needs these packages: sudo apt-get install $$packages"; exit 1; }
	@$(REVERIES) models pull smollm2-135m all-minilm-l6-v2
	@if [ -n "$(ARGS)" ]; then $(PYTEST) -q -m "system and not long" --fail-on-skip $(ARGS); else \
	    $(PYTEST) -q -m "system and not long" --fail-on-skip -n 3 --dist worksteal; fi

system-packages:
	@for tool in $(SYSTEM_TOOLS); do \
	    command -v "$${tool%%:*}" >/dev/null 2>&1 || printf '%s ' "$${tool##*:}"; \
	done

bench: $(VENV)/dev.stamp ## run the benchmarks in bench/ (PART=NAME for one, DATA=DIR, SCORER=FILE, ARGS=...)
	@DATA="$(DATA)" SCORER="$(SCORER)" ARGS="$(ARGS)" .ci/measure bench $(PART)

bench-safety: $(VENV)/dev.stamp ## measure what the safety detectors catch and cost (DATA=DIR, see bench/safety_table.py)
	@$(REVERIES) models pull all-minilm-l6-v2
	@PYTHONPATH=.:bench $(BIN)/python bench/safety_table.py --data "$(DATA)" $(ARGS)

soak: $(VENV)/dev.stamp ## run the long tests in bench/soak/ (PART=NAME for one)
	@DATA="$(DATA)" ARGS="$(ARGS)" .ci/measure soak $(PART)

docs: $(VENV)/dev.stamp ## generate docs/reference from the program
	@$(BIN)/python docs/generate.py

format: $(VENV)/dev.stamp ## format, and fix what the linter can fix
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

locks: ## resolve the lock files again (needs npm, and uv, which make check installs)
	@PATH="$(CURDIR)/$(BIN):$$PATH" .ci/lock

audit: ## check all locked packages for known vulnerabilities (needs pip-audit and a network; UNAUDITED=ok passes without)
	@.ci/audit

sbom: ## write bills of materials (CycloneDX): dist/reveries.cdx.json, and one for each extra
	@mkdir -p dist && for lock in requirements*.lock; do \
	    part=$${lock#requirements}; bill=dist/reveries$${part%.lock}.cdx.json; \
	    .ci/sbom $$lock > $$bill && echo "$$bill" || exit 1; done

clean: ## remove .venv and the files of tests and tools; models and minds stay
	@rm -rf $(VENV) build dist *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find reveries tests docs bench -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------------------------------------

# The Python of .venv may be gone (after a system upgrade): then .venv is created again.
$(VENV)/python.stamp:
	@python=$$(.ci/find-python) && rm -rf $(VENV) && "$$python" -m venv $(VENV)
	@touch $@

$(VENV)/core.stamp: requirements.lock pyproject.toml $(VENV)/python.stamp
	@echo "Installing into $(VENV): a minute or two, once."
	@$(PIP) install --quiet --no-deps --require-hashes --only-binary=:all: -r requirements.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/core.stamp
	@echo "Installing the test requirements into $(VENV)."
	@.ci/install-with-uv $(VENV) requirements-dev.lock || \
	    $(PIP) install --quiet --no-deps --require-hashes --only-binary=:all: -r requirements-dev.lock
	@touch $@

$(VENV)/hosted.stamp: requirements-hosted.lock $(VENV)/core.stamp
	@echo "Installing litellm into $(VENV): 310 MB."
	@$(PIP) install --quiet --no-deps --require-hashes --only-binary=:all: -r requirements-hosted.lock
	@.ci/add-extra requirements-hosted.lock
	@touch $@
	@echo "Hosted models can be used now: reveries config set llm.provider NAME"

$(VENV)/mcp.stamp: requirements-mcp.lock $(VENV)/core.stamp
	@$(PIP) install --quiet --no-deps --require-hashes --only-binary=:all: -r requirements-mcp.lock
	@.ci/add-extra requirements-mcp.lock
	@touch $@
	@echo "A memory for your coding agent: reveries mcp install claude-code"

$(VENV)/mcp-suite.stamp: requirements-mcp-suite.lock tests/mcp_suite/package.json tests/mcp_suite/package-lock.json \
    $(VENV)/core.stamp
	@echo "Installing the MCP test suites into $(VENV)."
	@$(PIP) install --quiet --no-deps --require-hashes --only-binary=:all: -r requirements-mcp-suite.lock
	@$(BIN)/python tests/mcp_suite/install.py $(VENV)/mcp-suite
	@touch $@

$(VENV)/web.stamp: requirements-web.lock $(VENV)/core.stamp
	@$(PIP) install --quiet --no-deps --require-hashes --only-binary=:all: -r requirements-web.lock
	@.ci/add-extra requirements-web.lock
	@touch $@
	@echo "The conversation in a browser: reveries web"

ifneq ($(wildcard $(VENV)/python.stamp),)
ifneq ($(shell $(BIN)/python -c 'print("works")' 2>/dev/null),works)
.PHONY: $(VENV)/python.stamp
endif
endif

# The current value of the setting $(1).
setting = $(REVERIES) config get $(1) --json | $(BIN)/python -c 'import json, sys; print(json.load(sys.stdin)["value"])'
