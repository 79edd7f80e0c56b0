PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BUILT := $(VENV)/.built
COMPILED := $(wildcard dedupcrawl/text/kernel_src/* dedupcrawl/page/*.pyx)
# Processes of pytest. Most tests wait for crawls and servers, so this may exceed the number of cores.
WORKERS ?= 3
# Compiled modules are kept, whatever the environment says: hundreds of processes of the tests load them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install package demo demo-clean test checks lint types imports docs pytest test-scrapy bench clean

install: $(BUILT)

$(STAMP): requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $(STAMP)

# The compiled modules are built beside their sources; without a compiler Python and numpy serve.
$(BUILT): $(STAMP) pyproject.toml setup.py $(COMPILED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(BUILT)

# Install the source distribution with a compiler and without one.
package: install
	bash .ci/package $(BIN)/python

demo: install
	$(BIN)/dedupcrawl demo

demo-clean:
	rm -rf demo-out

# The checks use the core that the tests leave idle while they wait.
test: install
	@$(MAKE) --no-print-directory -j2 checks pytest

checks: install
	@$(MAKE) --no-print-directory -j1 lint types imports docs > .checks.log 2>&1 || { cat .checks.log; exit 1; }
	@echo "lint, types, imports, docs: passed (.checks.log)"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

imports: install
	$(BIN)/lint-imports

docs: install
	$(BIN)/python docs/making/site.py

pytest: install
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# Scrapy's own tests, with the add-on in every crawl.
test-scrapy: install
	$(BIN)/python -m tests.scrapy_suite

bench: install
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.fingerprint
	$(BIN)/python -m benchmarks.detectors
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.shared
	$(BIN)/python -m benchmarks.faults
	$(BIN)/python -m benchmarks.storm --kills 100
	$(BIN)/python -m benchmarks.crawl
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.reportpage
	$(BIN)/python -m benchmarks.sizing
	$(BIN)/python -m benchmarks.latency
	$(BIN)/python -m benchmarks.claims
	$(BIN)/python -m benchmarks.batch --master "local[2]"

clean:
	rm -rf $(VENV) build dedupcrawl/text/*.so .scrapy demo-out site .mypy_cache .ruff_cache .import_linter_cache .checks.log .pytest_cache .hypothesis
