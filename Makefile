# Each target sets up what it needs and is quick the second time.
.DEFAULT_GOAL := help
.PHONY: help setup preview verify compare rehearse test e2e bench bench-weights lint format lock clean

PYTHON ?= python3.11
STACK ?= existing
DEPTH ?= light
RUN := .venv/bin/python
# Says on stderr what it builds while it takes long.
TOOL := $(RUN) -m toolchain
SETUP := .venv/.requirements-installed
# Public tools to measure against; their packages have needs that ours don't share.
BENCH := .tools/bench-venv
WALLS ?= print

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## install the Python packages into .venv and get the Pulumi CLI
	@$(TOOL) pulumi

$(SETUP): requirements.txt
	@echo "Installing the Python packages into .venv (about two minutes the first time) ..."
	@test -x $(RUN) || $$(command -v $(PYTHON) || command -v python3) -m venv .venv
	@$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

preview: $(SETUP) ## STACK=existing: check the stack file and show what `pulumi up` would do
	@$(TOOL) pulumi > /dev/null
	@$(RUN) -m toolchain.preview $(STACK)

verify: $(SETUP) ## STACK=existing [VERIFY="--only answer,load"]: ask the model that `up` made, check by check
	@$(TOOL) pulumi > /dev/null
	@$(RUN) -m checks.smoke $(STACK) $(VERIFY)

compare: $(SETUP) ## all stacks side by side: machines, fit, cost, first token
	@$(RUN) -m checks.compare

rehearse: $(SETUP) ## STACK=existing [DEPTH=light|full]: preview, up and destroy without any account
	@$(TOOL) pulumi > /dev/null
ifeq ($(DEPTH),full)
	@$(TOOL) control-plane > /dev/null
	@$(TOOL) kubernetes-provider > /dev/null
endif
	@$(RUN) -m rehearsal $(STACK) --depth $(DEPTH)

test: $(SETUP) ## everything but the real control plane
	@$(TOOL) pulumi > /dev/null
	@$(RUN) -m pytest -m "not cluster" $(PYTEST)

e2e: $(SETUP) ## the real API server, scheduler, LeaderWorkerSet controller, S3 and Azure Blob, as local processes
	@$(TOOL) pulumi > /dev/null
	@$(TOOL) control-plane > /dev/null
	@$(TOOL) kubernetes-provider > /dev/null
	@$(TOOL) object-store > /dev/null
	@$(TOOL) azurite > /dev/null
	@$(RUN) -m pytest -m cluster $(PYTEST)

bench: $(SETUP) ## time and memory of a preview against a bare program of the same SDK
	@$(TOOL) pulumi > /dev/null
	@$(RUN) -m benchmarks.preview

bench-weights: $(SETUP) $(BENCH)/.requirements-installed ## [WALLS=print|gate]: the weights' copy against public tools, in about 8 minutes
	@$(TOOL) object-store > /dev/null
	@$(RUN) -m benchmarks.weights --walls $(WALLS)

$(BENCH)/.requirements-installed: benchmarks/requirements.txt | $(SETUP)
	@echo "Installing the public tools into $(BENCH) (about a minute the first time) ..."
	@test -x $(BENCH)/bin/python || $(RUN) -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

lint: $(SETUP) ## ruff and pyright
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright

format: $(SETUP) ## let ruff format and fix
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock"

lock: ## compile requirements.txt and the benchmark's; needs uv
	$(LOCK) --all-extras --group dev pyproject.toml -o requirements.txt
	$(LOCK) benchmarks/requirements.in -o benchmarks/requirements.txt

clean: ## remove what was installed, built and rehearsed
	rm -rf .venv .tools .rehearsal .pytest_cache .ruff_cache .hypothesis
