# The commands of edgeopt. Every target makes its own environment in .venv; nothing else is needed.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# An interpreter may be forced: make demo PYTHON=/path/to/python
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO := demo-report
PYTEST_ARGS ?=
VARIATIONS ?=
MUTANT_ARGS ?=
BENCH_ARGS ?=
NAMES ?=
WHEEL ?=

# A stamp tells which set of packages the environment holds; newer pins or metadata renew it.
RUNTIME := $(VENV)/.edgeopt-runtime
DEV := $(VENV)/.edgeopt-dev
RL := $(VENV)/.edgeopt-rl
PINS := pyproject.toml papers/pyproject.toml constraints.txt

.PHONY: help demo gallery kernels wheel release test test-quick test-rl fuzz variations mutants lint format bench bench-large kills derived verdicts tuned tightest programs collection learners pages docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## study RESCUE on real data and write a page to demo-report/
	@$(BIN)/edgeopt study rescue --out $(DEMO)
	@echo
	@echo "The page is $(DEMO)/index.html: open it in a browser."

gallery: $(DEV) ## draw the pictures of the README
	@$(BIN)/python docs/fill/gallery.py docs/_static/gallery

test: $(DEV) ## run all tests and the examples in the docstrings (EDGEOPT_DRAWS=0.05: a lean run, 8 minutes)
	@$(BIN)/python -m pytest -n 2 --dist worksteal --doctest-modules tests edgeopt papers --durations=20 --durations-min=3 $(PYTEST_ARGS)

# Solvers, models, policies, rounding and bounds, by a twentieth of the examples; no pages, no papers.
QUICK := $(addprefix tests/,rounding bounds online models rescue idn oinc edr tapfinger learning) \
  $(addprefix tests/solvers/test_,public_kinds.py invariance.py conformance.py quadratic.py solve.py residuals.py transport.py)

test-quick: $(DEV) ## the tests of the mathematics, in under two minutes on two cores
	@EDGEOPT_DRAWS=0.05 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(QUICK) $(PYTEST_ARGS)

test-rl: $(RL) ## install PyTorch, and run the tests that train
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m trains $$(grep -rl 'importorskip("torch"' tests) $(PYTEST_ARGS)

fuzz: $(DEV) ## 10,000 malformed inputs: named errors or the answers of clean ones (about 20 minutes)
	@EDGEOPT_FUZZ_CASES=$${EDGEOPT_FUZZ_CASES:-10000} $(BIN)/python -m pytest -n 2 --dist worksteal tests/fuzz $(PYTEST_ARGS)

variations: $(DEV) ## the tests on other processors, orders, users and versions (an hour; names in VARIATIONS=)
	@$(BIN)/python tests/variations.py $(VARIATIONS)

mutants: $(DEV) ## change the package in small ways that tests must notice (hours; MUTANT_ARGS="--sample 30")
	@$(BIN)/python tests/mutants.py $(MUTANT_ARGS)

lint: $(DEV) ## check style, format, types and the order of the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV) ## reformat the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV) ## compare edgeopt with its peers, and measure growth (about 20 minutes)
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-large: $(DEV) ## the same at sizes that take longer (up to an hour)
	@$(BIN)/python -m benchmarks --large $(BENCH_ARGS)

kills: $(DEV) ## kill runs at a hundred random moments, and run them again
	@$(BIN)/python -m tests.kills --moments 100

derived: $(DEV) ## make the stored verdicts and tuned options anew, and say what differs (15 minutes; or verdicts, tuned, tightest alone)
	@$(BIN)/python -m edgeopt_papers.derived

verdicts tuned tightest: $(DEV)
	@$(BIN)/python -m edgeopt_papers.derived $@

programs: $(DEV) ## hold solvers against the public programs in EDGEOPT_DATA, and store the table of the docs (20 minutes)
	@failed=0; run() { name=$$1; shift; $(BIN)/python -m edgeopt.testing.programs \
	  "$${EDGEOPT_DATA:?must name the folder that holds solver_files}/solver_files" \
	  --json "docs/_static/programs/$$name.json" "$$@" || failed=1; }; \
	run linear --set netlib infeasible --solver highs scipy scip glop; \
	run integer --set miplib3 --solver highs scip; \
	run quadratic --set qp --solver clarabel highs osqp; \
	run approximate --set netlib --solver clarabel pdlp scs osqp ipopt --time-limit 5; \
	exit $$failed

collection: $(DEV) ## solve and certify the named instances, run all policies on them, store the results (20 minutes)
	@$(BIN)/python -m edgeopt.collection.make --workers 2

learners: $(RL) ## make tables and weights of the package anew, by two processes (it says how long; names in NAMES=)
	@$(BIN)/python -m edgeopt_papers.releases .learners $(NAMES)

pages: $(DEV) ## make what the pages in docs show of results anew (7 minutes; some of them: PAGES="docs/start.md ...")
	@$(BIN)/python docs/fill $(PAGES)

docs: $(DEV) ## build the documentation in docs/_build/html
	@rm -rf docs/_build/html docs/api/generated
	@$(BIN)/python -m sphinx -j 2 -W --keep-going -b html docs docs/_build/html
	@echo "The documentation is docs/_build/html/index.html."

kernels: $(RUNTIME) ## compile what the studies need for usual processors, or take it from WHEEL=FILE, so that no study compiles (10 minutes)
	@$(BIN)/python -m edgeopt.archive $(WHEEL)

wheel: kernels ## build the wheel of this platform, with compiled kernels
	@$(PIP) install --quiet --constraint constraints.txt build
	@EDGEOPT_KERNELS="$$PWD/edgeopt/kernels.zip" $(BIN)/python -m build --wheel --outdir dist .

release: $(RUNTIME) ## make what is stored anew, which must not differ; build and check wheel and source distribution
	@$(BIN)/python -m edgeopt_papers.derived --check
	@$(PIP) install --quiet --constraint constraints.txt build check-jsonschema twine
	@rm -rf dist && $(BIN)/python -m build --outdir dist . && $(BIN)/python -m build --outdir dist papers
	@$(MAKE) wheel
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

clean: ## remove everything that these commands wrote
	rm -rf $(VENV) $(DEMO) build dist docs/_build docs/api/generated benchmarks/results
	rm -rf .collection .learners .variations .mutants .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@found=""; seen=""; \
	for candidate in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
	  version=$$($$candidate -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) \
	    || continue; \
	  if ! $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	    seen="$$seen; $$candidate is $$version, too old"; \
	  elif ! $$candidate -c 'import ensurepip, venv' 2>/dev/null; then \
	    seen="$$seen; $$candidate lacks the venv module (Debian, Ubuntu: apt install python3-venv)"; \
	  else \
	    found=$$candidate; break; \
	  fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "edgeopt needs Python 3.11 or newer with the venv module$${seen:-; no Python was found}." >&2; \
	  echo "Install one, or name it: make demo PYTHON=/path/to/python3.11" >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$found"; \
	$$found -m venv $(VENV)

$(RUNTIME): $(PINS) | $(BIN)/python
	@echo "Installing edgeopt and its pinned dependencies into $(VENV) (about a minute)"
	@$(PIP) install --quiet --no-compile --constraint constraints.txt --editable . --editable ./papers
	@touch $@

$(DEV): $(PINS) | $(BIN)/python
	@echo "Installing edgeopt, its pinned dependencies and the tools into $(VENV) (about a minute)"
	@$(PIP) install --quiet --no-compile --constraint constraints.txt --editable '.[dev]' --editable ./papers
	@touch $(RUNTIME) $@

$(RL): $(DEV)
	@$(PIP) install --quiet --no-compile --constraint constraints.txt --editable '.[rl]' --editable './papers[rl]'
	@touch $@
