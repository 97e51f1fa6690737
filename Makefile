# Two commands do everything on a fresh machine: `make site` and `make test`.

PYTHON ?= python3
VENV := .venv
PEERS := .venv-bench
OLDEST := .venv-oldest
CORPUS := $(wildcard ../shared/corpus)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# uv takes a seventh of pip's time. It knows nothing of pip's settings: it is told those that say
# where packages come from, and where it cannot do without the others, pip does it after all.
PIP_SAYS = $${PIP_$(1):-$$($(BIN)/python -m pip config get global.$(2) 2>/dev/null)}
UV_OF = VIRTUAL_ENV=$(1) UV_FIND_LINKS="$(call PIP_SAYS,FIND_LINKS,find-links)" \
  UV_DEFAULT_INDEX="$(call PIP_SAYS,INDEX_URL,index-url)" $(BIN)/uv pip install --quiet --no-config
UV = $(call UV_OF,$(VENV)) -c constraints.txt
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
HEADLESS ?= $(shell command -v chromium-headless-shell || command -v chrome-headless-shell)
BWRAP ?= $(shell command -v bwrap)
NPM ?= $(shell command -v npm)
SIX_CLIS := claude codex opencode gemini qwen kimi-code
JAVA ?= $(shell command -v java)
NU := .nu/node_modules/vnu-jar/build/dist/vnu.jar
NU_VERSION := 26.9.27
CXX_FOUND := $(shell command -v g++)
# pip compiles all that it installs, on one core, and most of that is never imported. What is
# imported in sandboxes, which can write nothing, is compiled here; the rest when it is imported.
READ_ONLY := torch torchgen functorch numpy setuptools sympy mpmath networkx jinja2 filelock fsspec
METRICS := ../shared/tools/style_metrics.py
# What detectors of alarms are shown is data, not code of the tests.
TESTS := $(shell find tests -name "*.py" -not -path "tests/alarms/fixtures/*" -not -path "tests/alarms/honest/*" -not -path "tests/alarms/problems/*" -not -path "tests/exploits/*/*")

# Hundreds of processes are started from these sources: each would compile them anew without it.
export PYTHONDONTWRITEBYTECODE :=

# Packages of the system are installed by this, as root.
APT = apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends

.PHONY: site test oldest sources lint types layers budgets collected tests-in-browsers tests-of-bench tests-of-sites tests-of-the-rest tests-that-grade system browser chromium bubblewrap compiler npm nu clis demo bench format clean

site: $(VENV)/site.stamp  ## Make the site from runs/ and say where to open it.
	@$(BIN)/kbsite build >$(VENV)/built.txt || [ $$? -gt 10 ]
	@echo "The site is made. Open file://$$(cat $(VENV)/built.txt) in a browser."

# Browsers wait for pictures and timers, and leave room for what looks at sources and for the CLIs,
# which come over the network. Gradings are last and alone: what else runs disturbs them.
test:  ## Everything that CI runs; installs what it needs.
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target system $(VENV)/dev.stamp
	@failed=0; \
	  $(MAKE) --no-print-directory --jobs=3 --keep-going clis sources tests-in-browsers || failed=$$?; \
	  $(MAKE) --no-print-directory --jobs=2 --keep-going tests-of-sites tests-of-bench tests-of-the-rest || failed=$$?; \
	  $(MAKE) --no-print-directory tests-that-grade || failed=$$?; \
	  exit $$failed

# One after another, beside browsers; the tests of the rest wait for what is collected.
sources:
	@$(MAKE) --no-print-directory --jobs=1 --keep-going collected types lint layers budgets

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

layers: $(VENV)/dev.stamp
	$(BIN)/lint-imports

# The script lies beside the checkouts of the team; elsewhere ruff's own limits have to do.
budgets: $(VENV)/dev.stamp
	@if [ -f $(METRICS) ]; then \
	  $(BIN)/python $(METRICS) kbsite --root . --src src/kbsite --src bench $(addprefix --tests ,$(TESTS)) \
	    --check 'module_max<=400' --check 'func_p95<=35' --check 'func_max<=60' \
	    --check 'cc_max<=12' --check 'cycles_run<=0' --check 'typed_pct>=100' \
	    --check 'doc_cover>=95' --check 'except_silent<=0' --check 'test_ratio>=1'; \
	else echo "budgets: not measured, $(METRICS) is not here"; fi

# What pytest makes of asserts lies beside the tests then: its processes would all make it anew.
collected: $(VENV)/dev.stamp
	@$(BIN)/pytest --collect-only -qq >$(VENV)/collected.txt || { cat $(VENV)/collected.txt; exit 2; }

# They wait for pictures, timers and processes: two for each core leave none of them at rest.
TWO_A_CORE = --numprocesses $$((2 * $$(nproc))) --dist worksteal
GRADE := tests/exploits tests/bench/grading
# Two of these run at once, and each has one for each core.
ONE_A_CORE = --numprocesses $$(nproc) --dist worksteal
# A build makes copies of the process that it is in, and what one costs hangs on what that holds:
# with torch and all tests in it 16 ms, and its end as much; with those of sites alone, 4 ms.
SITES := $(wildcard tests/test_*.py) $(addprefix tests/,cli linting object_storage serving store verifying)

tests-in-browsers:
	$(BIN)/pytest tests/browser $(TWO_A_CORE)

tests-of-sites:
	$(BIN)/pytest $(SITES) $(ONE_A_CORE)

tests-of-bench:
	$(BIN)/pytest tests/bench $(addprefix --ignore ,$(GRADE)) $(ONE_A_CORE)

tests-of-the-rest:
	$(BIN)/pytest $(addprefix --ignore ,tests/browser tests/bench $(GRADE) $(SITES)) $(ONE_A_CORE)

# With more than one for each core, they disturb each other and are made again.
tests-that-grade:
	$(BIN)/pytest $(GRADE) --numprocesses auto --dist worksteal

# What the system lacks, at once: each call goes through all that is installed. What cannot be had
# so is asked for again, one after another: there is one lock for all that install.
LACKING = $(if $(HEADLESS),,chromium-headless-shell fonts-dejavu-core) $(if $(BWRAP),,bubblewrap) \
  $(if $(CXX_FOUND),,g++) $(if $(NPM),,npm) $(if $(JAVA),,default-jre-headless)

system:
	@[ -z "$(strip $(LACKING))" ] || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	  $(APT) $(LACKING); \
	} || true
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory bubblewrap
	@$(MAKE) --no-print-directory compiler
	@$(MAKE) --no-print-directory npm
	@$(MAKE) --no-print-directory nu

# Playwright drives the system's Chromium: a browser of its own would have to be downloaded.
# Without its window it opens pages in half of the time; where that cannot be had, the whole does.
browser:
	@if [ -z "$(HEADLESS)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  $(APT) chromium-headless-shell fonts-dejavu-core || \
	    echo "There is no package chromium-headless-shell here: the tests take the whole Chromium."; \
	fi
	@[ -n "$(HEADLESS)" ] || command -v chromium-headless-shell >/dev/null || \
	  $(MAKE) --no-print-directory chromium

# The whole of it, as readers have it: benchmarks and pictures of pages are made with that.
chromium:
	@if [ -z "$(CHROMIUM)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    $(APT) chromium fonts-dejavu-core; \
	  else \
	    echo "The browser tests need Chromium: install the package chromium, or run as root." >&2; \
	    exit 3; \
	  fi; \
	fi

# A solution may build native code; an honest one that does has to pass.
compiler:
	@if [ -z "$(CXX_FOUND)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    $(APT) g++; \
	  else \
	    echo "A solution that builds native code is graded in the tests: install the package g++." >&2; \
	    exit 3; \
	  fi; \
	fi

# One of two sandboxes; where it cannot be had, its tests say so and the other's run.
bubblewrap:
	@if [ -z "$(BWRAP)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    $(APT) bubblewrap; \
	  else \
	    echo "The sandbox bubblewrap is not tested: install the package bubblewrap." >&2; \
	  fi; \
	fi

# The agents' CLIs, in the versions of bench/clis.lock.toml; what is there is left alone.
# kimi-cli needs a newer Python than we do; where there is none its tests say so, and six are left.
# npm is asked for within the recipe: behind a prerequisite, make begins all that stands beside the
# CLIs first, and they take longest.
clis: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory npm
	$(BIN)/kbsite bench install --check none || $(BIN)/kbsite bench install --check none $(SIX_CLIS)

npm:
	@if [ -z "$(NPM)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    $(APT) npm; \
	  else \
	    echo "The CLIs of agents come from npm: install the package npm, or run as root." >&2; \
	    exit 3; \
	  fi; \
	fi

# The W3C's checker of HTML, for every page of the own site: `kbsite lint --nu $(NU)`.
nu: npm
	@if [ -z "$(JAVA)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    $(APT) default-jre-headless; \
	  else \
	    echo "Pages are not held against the standard of HTML: install the package default-jre-headless." >&2; \
	  fi; \
	fi
	@test -f $(NU) || npm install --prefix .nu --no-save --no-audit --no-fund --ignore-scripts --silent vnu-jar@$(NU_VERSION)

demo: $(VENV)/dev.stamp clis  ## Let the CLIs make what runs/demo lacks; scripts/demo_runs.py --again all.
	$(BIN)/python scripts/demo_runs.py

# Other programs that make pages of transcripts stay out of the environment of the tests.
bench: $(VENV)/dev.stamp chromium clis  ## Compare building and opening with others: make bench SESSION=FILE.
	@test -d $(PEERS) || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check \
	  claude-code-transcripts claude-code-log
	@$(BIN)/python -m benchmarks.transcripts $(if $(SESSION),--session $(SESSION))
	@$(BIN)/python -m benchmarks.proxy
	@$(BIN)/python -m benchmarks.runner
	@$(BIN)/python -m benchmarks.many
	@$(BIN)/python -m benchmarks.watching
	@$(BIN)/python -m benchmarks.redaction
	@$(BIN)/python -m benchmarks.cold $(CORPUS)
	@$(BIN)/python -m benchmarks.far

# Whoever has kbsite beside other programs may have the oldest versions that pyproject.toml lets in.
# Left out are what needs a browser, torch, Ray, a bucket or a sandbox.
oldest: $(VENV)/dev.stamp  ## Tests with the oldest versions of what kbsite needs; by hand, 15 minutes.
	$(PYTHON) -m venv --clear $(OLDEST)
	@$(call UV_OF,$(OLDEST)) --resolution lowest-direct -e '.[serve,lint,search,parquet,cards,slurm]' \
	  'pytest>=9' 'pytest-xdist>=3.6' 'hypothesis>=6.100' 'jsonschema>=4.20' 'html5lib>=1.1' 'pydantic>=2.12' 'numpy>=1.26'
	$(OLDEST)/bin/python -m pytest tests --numprocesses auto --dist worksteal \
	  $(addprefix --ignore tests/,browser bench exploits deploy object_storage test_on_ray.py test_screenshots.py test_patterns.py test_benchmarks.py test_benchmarks_scale.py)

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(PEERS) $(OLDEST) .nu site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/site.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) uv
	@$(UV) -e '.[dev]' || $(PIP) --no-compile -e '.[dev]'
	@cd $(VENV)/lib/python3*/site-packages && ../../../bin/python -m compileall -qq -j 0 -x '/tests?/|/py31[2-9]' $(READ_ONLY) || true
	@touch $@ $(VENV)/site.stamp
