# Each target sets up what it needs and is quick the second time.
.DEFAULT_GOAL := help
.PHONY: help setup preview rehearse test e2e bench lint format lock clean

PYTHON ?= python3.11
STACK ?= existing
DEPTH ?= light
RUN := .venv/bin/python
# Says on stderr what it builds while it takes long.
TOOL := $(RUN) -m toolchain
SETUP := .venv/.requirements-installed

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

lint: $(SETUP) ## ruff and pyright
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright

format: $(SETUP) ## let ruff format and fix
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

lock: ## compile requirements.txt from pyproject.toml; needs uv
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --all-extras --group dev \
	  --custom-compile-command "make lock" pyproject.toml -o requirements.txt

clean: ## remove what was installed, built and rehearsed
	rm -rf .venv .tools .rehearsal .pytest_cache .ruff_cache .hypothesis
