# Needs Python 3.11 or newer and npm; the targets set up everything else themselves.

PYTHON ?= python3
PORT ?= 3000
DATA ?= .local

VENV := .venv/bin
BENCH := PYTHONPATH=layers/core:layers/client:. $(VENV)/python

.PHONY: help start test check format bench-cost bench-claim bench-cold bench-worker build sam-local clean packages dev-packages python

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 18

start: packages ## Serve the API on http://127.0.0.1:3000 (PORT=, DATA=) until Ctrl-C
	@exec $(VENV)/python -m local --port "$(PORT)" --data "$(DATA)"

test: dev-packages ## Run the tests (ARGS="-k claim" for some of them)
	@$(VENV)/python -m pytest $(ARGS)

check: dev-packages ## Check format, lint, types, structure and the template
	@$(VENV)/ruff format --check
	@$(VENV)/ruff check
	@$(VENV)/mypy
	@$(VENV)/mypy --python-version 3.10 --follow-imports=silent layers/client
	@$(VENV)/python -m pytest -q tests/unit/test_structure.py tests/unit/test_client_structure.py
	@$(VENV)/cfn-lint template.yaml examples/*/template.yaml
	@local/sam/validate.sh

format: dev-packages ## Format the code and fix what lint can fix
	@$(VENV)/ruff format
	@$(VENV)/ruff check --fix

bench-cost: dev-packages ## What a job costs, in units and dollars
	@$(BENCH) -m bench.cost

bench-claim: dev-packages ## How claims fare when many workers want the same jobs (minutes)
	@$(BENCH) -m bench.claim

bench-cold: dev-packages build ## What a cold start costs, and a warm call
	@$(BENCH) -m bench.cold

bench-worker: dev-packages ## What a worker takes beside the same HTTP calls made by hand
	@$(BENCH) -m bench.worker

build: ## Build what `sam deploy` uploads
	@local/sam/build.sh

sam-local: packages ## Serve the built functions with `sam local start-api`
	@local/sam/start-api.sh

clean: ## Remove what the targets made, but not the data in .local
	@rm -rf .venv .aws-sam .hypothesis .mypy_cache .pytest_cache .ruff_cache local/engine/node_modules

packages: python
	@$(PYTHON) local/environment.py local

dev-packages: python
	@$(PYTHON) local/environment.py dev

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "job-retry needs Python 3.11 or newer, which $(PYTHON) is not; name another: make PYTHON=python3.13" >&2; \
	  exit 1; }
