PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BUILT := $(VENV)/.built
# The demo runs in an environment like that of a user: the package, and what it needs. pip is removed from it to save space.
DEMO := .venv-demo
OLDEST := .venv-oldest
SOURCES := $(shell find dedupcrawl -type f -not -name "*.pyc" -not -name "*.so")
COMPILED := $(wildcard dedupcrawl/text/kernel_src/* dedupcrawl/page/*.pyx dedupcrawl/stores/redis/*.pyx dedupcrawl/stores/redis/*/*.pyx)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Processes of pytest. Most tests wait for crawls and servers, so this may exceed the number of cores.
WORKERS ?= 4
# Most tests of every day wait for crawls and servers: more processes than cores are quicker.
DAILY_WORKERS ?= 6
CHECKS ?= lint types imports docs
# Compiled modules are kept, whatever the environment says: hundreds of processes of the tests load them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install package pythons demo demo-clean test test-all test-oldest test-scrapy checks lint types imports docs pytest cost bench bench-others clean

install: $(BUILT)

# PySpark is published as source alone: its wheel is built on one core while the other one installs the rest. Its 500 MB of
# compressed archives are not compressed again. Python compiles a module when it is first imported: pip would compile all.
$(STAMP): requirements.txt
	$(PYTHON) -m venv $(VENV)
	grep '^pyspark==' requirements.txt > $(VENV)/pyspark.txt
	grep -v '^pyspark==' requirements.txt > $(VENV)/others.txt
	$(PIP) wheel --no-deps --config-settings=--build-option=--compression=stored --wheel-dir $(VENV)/wheels -r $(VENV)/pyspark.txt & \
		wheel=$$!; $(PIP) install --no-compile -r $(VENV)/others.txt && wait $$wheel
	$(PIP) install --no-compile --find-links $(VENV)/wheels -r requirements.txt
	rm -r $(VENV)/wheels
	touch $(STAMP)

# The compiled modules are built beside their sources; without a compiler Python and numpy serve.
$(BUILT): $(STAMP) pyproject.toml setup.py $(COMPILED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(BUILT)

# Build the package, and install it without the repository.
package: install
	bash .ci/package $(BIN)/python

$(DEMO)/.installed: pyproject.toml setup.py $(SOURCES)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary --no-compile .
	$(DEMO)/bin/python -m pip uninstall --quiet --quiet --yes setuptools pip
	touch $@

demo: $(DEMO)/.installed
	$(DEMO)/bin/dedupcrawl demo

# The package on other Pythons, with a compiler and without one: make pythons PYTHONS="python3.12 python3.14". Packages are downloaded.
pythons:
	.ci/pythons $(PYTHONS)

demo-clean:
	rm -rf demo-out $(DEMO)

# Every day: all but the slow tests, which tests/slow.py lists with reasons. At most five minutes on two cores.
# The checks use the core that the tests leave idle while they wait.
test: install
	@$(MAKE) --no-print-directory -j2 CHECKS="lint types imports" SELECTED='-m "not slow"' WORKERS=$(DAILY_WORKERS) checks pytest

# Before a change is merged: every test, those of Spark, clusters, browsers and the documentation among them.
test-all: install
	@$(MAKE) --no-print-directory -j2 CHECKS="lint types imports" checks pytest

checks: install
	@$(MAKE) --no-print-directory -j1 $(CHECKS) > .checks.log 2>&1 || { cat .checks.log; exit 1; }
	@echo "$(CHECKS): passed (.checks.log)"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

imports: install
	$(BIN)/lint-imports

docs: install
	$(BIN)/python docs/making/site.py

# A test that fails beside others runs once more, alone, and must pass then. Its first failure stays in the output: it is a fault
# of the test or of the code, and is mended. Only failed tests (status 1) get this; interrupts and internal errors end the run.
pytest: install
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(SELECTED) || { \
		test $$? -eq 1 || exit 1; \
		echo "TESTS FAILED BESIDE OTHERS (see above). They run once more, alone:"; \
		$(BIN)/python -m pytest -v --last-failed --last-failed-no-failures none $(SELECTED); }

# The processor time of each file of tests, with all processes that it starts; COST=test or COST=folder is that of each test
# or folder, and TESTS="tests/crawl tests/cli" measures these. The whole takes half an hour: one process runs all tests.
COST ?= file
cost: install
	@$(BIN)/python -m pytest --cost=$(COST) $(TESTS)

# Scrapy's own tests, with the add-on in every crawl.
test-scrapy: install
	$(BIN)/python -m tests.scrapy_suite

# The tests with the oldest versions that pyproject.toml admits. They run in a copy, which has compiled modules of its own.
# What the checks and benchmarks need has newer requirements, and is left as it is.
$(OLDEST)/.installed: requirements.txt pyproject.toml .ci/oldest
	$(PYTHON) -m venv --clear $(OLDEST)
	$(PYTHON) .ci/oldest > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --prefer-binary -r $(OLDEST)/requirements.txt
	touch $@

test-oldest: $(OLDEST)/.installed
	rm -rf build/oldest && mkdir -p build/oldest
	git ls-files -z | tar --null --files-from=- --create | tar --extract --directory build/oldest
	cd build/oldest && ../../$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	cd build/oldest && DEDUPCRAWL_DATA=$${DEDUPCRAWL_DATA:-$(abspath ../shared/data)} \
		../../$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile

# Every benchmark whose results the documentation quotes, then the figures in its pages: some hours on a quiet machine.
# MEASURE="crawl sizing" runs these alone.
bench: install
	$(BIN)/python docs/making/measured.py --measure $(MEASURE)

# Benchmarks that print what they find, and whose results no page quotes.
bench-others: install
	$(BIN)/python -m benchmarks.storm --kills 100
	$(BIN)/python -m benchmarks.feeds
	$(BIN)/python -m benchmarks.recrawl
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.reportpage
	$(BIN)/python -m benchmarks.batch --master "local[2]"

clean:
	rm -rf $(VENV) $(DEMO) $(OLDEST) build dedupcrawl/text/*.so .scrapy demo-out site .mypy_cache .ruff_cache .import_linter_cache .checks.log .pytest_cache .hypothesis
