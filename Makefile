PYTHON ?= python3.11
BIN := .venv/bin
KILLS ?= 20
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: repro test reproduce lowest bench lock

repro: .venv/installed
	dvc repro
	$(BIN)/frostline table

test: .venv/installed
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	vulture
	pytest -n auto

reproduce: .venv/installed
	dvc repro --force --no-run-cache
	git status --porcelain
	test -z "$$(git status --porcelain)"
	$(BIN)/frostline verify
	$(BIN)/frostline ledger
	$(BIN)/python -m tests.settings
	$(BIN)/python -m tests.kill --points $(KILLS)

# every range in pyproject.toml at its lower end: the same bytes
lowest:
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	HNSWLIB_NO_NATIVE=1 .venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		$$(sed -n '/^dependencies/,/^]/s/^  "\([^>]*\)>=\([^,"]*\).*/\1==\2/p' pyproject.toml) threadpoolctl
	.venv-lowest/bin/python -m tests.settings plain

bench: .venv/installed
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.others

.venv/installed: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv || python3 -m venv .venv
	HNSWLIB_NO_NATIVE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

lock: .venv/installed
	pip-compile --quiet --generate-hashes --no-emit-index-url --no-header --no-annotate --strip-extras --allow-unsafe \
		--extra dev --output-file requirements.lock pyproject.toml
