# `make demo` sets up and runs the main job; `make test` sets up and runs the checks.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint benchmark clean

demo: $(VENV)/.installed
	$(BIN)/hyperprobe zero-shot --paired

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadfile

benchmark: $(VENV)/.installed-benchmarks
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.causal
	$(BIN)/python -m benchmarks.lama_models --facts 32
	$(BIN)/python -m benchmarks.documents
	$(BIN)/python -m benchmarks.parity
	$(BIN)/python -m benchmarks.consistency --layers 4
	$(BIN)/python -m benchmarks.kills

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.installed-benchmarks: $(VENV)/.installed
	$(BIN)/pip install -q -c constraints.txt -e '.[benchmarks]'
	touch $@

clean:
	rm -rf $(VENV) build dist
