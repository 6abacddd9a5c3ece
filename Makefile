# `make demo` sets up and runs the main job; `make test` sets up and runs the checks.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# `make test CONSTRAINTS=` installs whatever versions pip takes.
CONSTRAINTS ?= -c constraints.txt
# Where it is set, each worker and each command that the tests start compiles every package anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-lowest docs dist benchmark clean

demo: $(VENV)/.installed
	$(BIN)/hyperprobe zero-shot --paired

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadfile

# The lowest versions that pyproject.toml allows, but of torch.
test-lowest:
	$(PYTHON) -m venv build/lowest
	$(PYTHON) -c 'import re, tomllib; \
		wants = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]; \
		print(*(re.sub(">=([^,]*).*", r"==\1", w) for w in wants if not w.startswith("torch>")), sep="\n")' \
		> build/lowest.txt
	build/lowest/bin/pip install -q -c build/lowest.txt -e '.[dev]'
	build/lowest/bin/pytest -n auto --dist loadfile

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -W --keep-going -q docs build/docs

# Both packages, with valid metadata, and small.
dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build -o dist
	$(BIN)/twine check --strict dist/*
	test -z "$$(find dist -type f -size +15000000c)"

benchmark: $(VENV)/.installed-benchmarks
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.kernels --rounds 3
	$(BIN)/python -m benchmarks.causal --sample 16
	$(BIN)/python -m benchmarks.lama_models --facts 32
	$(BIN)/python -m benchmarks.documents
	$(BIN)/python -m benchmarks.parity
	$(BIN)/python -m benchmarks.consistency --layers 4
	$(BIN)/python -m benchmarks.flat --items 20000 --facts 100000 --models 50 --megabytes 20
	$(BIN)/python -m benchmarks.kills
	$(BIN)/python -m benchmarks.start
	$(BIN)/python -m benchmarks.processors

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --no-compile $(CONSTRAINTS) -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install -q --no-compile $(CONSTRAINTS) -e '.[dev]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install -q --no-compile $(CONSTRAINTS) -e '.[docs]'
	touch $@

$(VENV)/.installed-benchmarks: $(VENV)/.installed
	$(BIN)/pip install -q --no-compile $(CONSTRAINTS) -e '.[benchmarks]'
	touch $@

clean:
	rm -rf $(VENV) build dist
