# Needs Python 3.11 or later and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNNABLE := $(VENV)/.installed-run
INSTALLED := $(VENV)/.installed-dev
INSTALL := $(BIN)/python -m pip install --progress-bar off --no-compile \
	--disable-pip-version-check --constraint constraints.txt --editable
SOURCES := fglguard client server strategies privacy scripts tests
WORKERS ?= 2
FRAMEWORKS := .venv-frameworks

.PHONY: run test test-long test-sites test-frameworks check format config bench clean

# Eight sites in four domains train one guard on AgentDojo episodes: flwr run on Ray.
run: $(RUNNABLE)
	$(BIN)/python scripts/simulate.py federation.backend=ray $(ARGS)

test: $(INSTALLED)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not long and not sites" $(ARGS)

# The long ones: real Ray, real processes, whole corpora.
test-long: $(INSTALLED)
	$(BIN)/python -m pytest -m long $(ARGS)

# A SuperLink and SuperNodes with TLS and keys on loopback: about ten minutes.
test-sites: $(INSTALLED)
	$(BIN)/python -m pytest -m sites $(ARGS)

# AutoGen and the OpenAI Agents SDK pin what others pin otherwise (docs/guard.md): they have an
# environment of their own.
test-frameworks: $(FRAMEWORKS)/.installed
	$(FRAMEWORKS)/bin/python -m pytest tests/fglguard/integrations/test_autogen.py \
		tests/fglguard/integrations/test_openai_agents.py $(ARGS)

$(FRAMEWORKS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(FRAMEWORKS)
	grep -vE '^(protobuf|websockets)==' constraints.txt > $(FRAMEWORKS)/constraints.txt
	$(FRAMEWORKS)/bin/python -m pip install --progress-bar off --no-compile \
		--disable-pip-version-check --constraint $(FRAMEWORKS)/constraints.txt \
		--editable . autogen-core==0.7.5 openai-agents==0.24.0 hypothesis pytest
	touch $@

check: $(INSTALLED)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

# Regenerate Flower's copy of conf/ in pyproject.toml.
config: $(INSTALLED)
	$(BIN)/python scripts/generate_flower_config.py

# What a run needs is half of what the tests need.
$(RUNNABLE): pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing what a run needs into $(VENV) (a few minutes, once)'
	$(INSTALL) '.[encoder,corpora,federation]'
	touch $@

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing what the tests need into $(VENV) (a few minutes, once)'
	$(INSTALL) '.[dev]'
	touch $(RUNNABLE) $@

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; name one: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) $(FRAMEWORKS) .mypy_cache .pytest_cache .ruff_cache .hypothesis
