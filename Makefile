# One command a habit. Needs GNU make 3.81 or newer, git, and Python 3.11 or newer with its venv module.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?=
unexport PYTHONHOME PYTHONPATH

.PHONY: help demo up world test check soak venv

help:
	@echo "make demo    the agents on real servers: to success, failing at each step, and the world compared"
	@echo "make up      the stand-ins and a worker until Ctrl-C, on the demo's data; Web UI on port 8233"
	@echo "make world   what is in the stand-ins: branches, buckets, tables, containers, messages"
	@echo "make test    the whole test suite"
	@echo "make check   format, lint and types"
	@echo "make soak    the test suite with its long versions"
	@echo "make venv    only install; PYTHON=... names the Python to use"

demo: $(READY)
	@$(BIN)/python -m demo

up: $(READY)
	@$(BIN)/python -m demo up

world: $(READY)
	@$(BIN)/python -m embedded world

# Most tests wait for time-outs, so four files run at a time, the longest first (tests/longest_first.py).
test: $(READY)
	@$(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder

soak: $(READY)
	@RESCIND_SOAK=1 $(BIN)/python -m pytest --timeout=3600

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/pyright

venv: $(READY)

# The first of them that is new enough and can make environments; Debian ships venv apart from Python.
$(READY): pyproject.toml constraints.txt
	@chosen=; old=; bare=; \
	for each in $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3); do \
	  "$$each" -c '' 2>/dev/null || continue; \
	  "$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { old="$$each"; continue; }; \
	  "$$each" -c 'import ensurepip, venv' 2>/dev/null || { bare="$$each"; continue; }; \
	  chosen="$$each"; break; \
	done; \
	if [ -z "$$chosen" ]; then \
	  echo "No usable Python was found$(if $(PYTHON), as $(PYTHON),). Nothing was installed." >&2; \
	  [ -z "$$old" ] || echo "$$old is $$("$$old" -V 2>&1): Python 3.11 or newer is needed." >&2; \
	  [ -z "$$bare" ] || echo "$$bare lacks its venv module (Debian and Ubuntu: apt install python3-venv)." >&2; \
	  echo "Install Python 3.11 or newer, or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	if $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then :; else \
	  echo "Making $(VENV) with $$chosen ($$("$$chosen" -V 2>&1))"; \
	  "$$chosen" -m venv --clear $(VENV) || exit 1; \
	fi
	@echo "Installing the versions of constraints.txt into $(VENV); this is done once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --build-constraint constraints.txt --group app --group embedded --group dev --editable .
	@touch $(READY)
