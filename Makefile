# Everything here makes its own virtual environment; nothing but Python 3.11 or newer, make and git is assumed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core-installed
DEV := $(VENV)/.dev-installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-long lint types docs ci clean

demo: $(CORE)  ## The main job, offline, on the embedded scripted model: no key needed
	$(BIN)/skillopt improve spreadsheet --epochs 2 --seed 24

test: $(DEV)  ## All tests but the long ones
	$(BIN)/python -m pytest -m "not long"

test-long: $(DEV)  ## The tests that take minutes
	$(BIN)/python -m pytest -m long --timeout 1800

lint: $(DEV)  ## Style, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEV)  ## Make the reference from the code
	$(BIN)/python docs/generate_reference.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/python
	$(PIP) install -e .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(PIP) install -e ".[dev]"
	@touch $@ $(CORE)

clean:
	rm -rf $(VENV) dist build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
