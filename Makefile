# Every command of the project; `make help` lists them from the ## comments.

EMACS ?= emacs
export EMACS

# A fresh rustup is often not yet on PATH.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# What `make test` runs and what `make lint` checks, so that .ci/run can run a part.
SUITES ?= rust ert e2e
CHECKS ?= rust lisp-compile lisp-style walls

# What `make fuzz` runs, and for how long each.
FUZZ_TARGETS ?= parse place review
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help build mcp demo test lint bench bench-check fuzz doc clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'EMACS=/path/to/emacs names the Emacs to use.'

build: ## Compile the Rust module and put it beside the Lisp files
	@test/tools/need emacs cargo cc
	$(EMACS) -Q --batch -L lisp -l agent-q-diff-build -f agent-q-diff-build-module-batch

mcp: ## Compile the server for MCP clients, and say how to set them up
	@test/tools/need cargo cc
	@test/tools/build-mcp
	@test/tools/build-mcp --say-how

demo: ## Review a real proposal in this terminal (without one: watch it played)
	@test/tools/need emacs cargo cc git
	@$(MAKE) --no-print-directory build
	@test/demo/run

test: ## Run every test: Rust, Lisp, and Lisp in a real terminal
	@test/tools/need emacs cargo cc patch git tmux timeout mcp-client sbcl slime swank makeinfo setfacl
	@$(MAKE) --no-print-directory build
	@test/tools/run-tests $(SUITES)

lint: ## Check style, warnings, documentation, and the boundaries between modules
	@test/tools/need emacs cargo rustfmt clippy cc package-lint
	@test/tools/lint $(CHECKS)

bench: ## Measure everything that has to be fast, beside a peer
	@test/tools/need emacs cargo cc git tmux timeout
	@$(MAKE) --no-print-directory build
	@test/bench/run

bench-check: ## Measure a part of it in a few minutes, and fail if a target is missed by far
	@test/tools/need emacs cargo cc git tmux timeout
	@$(MAKE) --no-print-directory build
	@test/bench/run --check

fuzz: ## Fuzz the engine (FUZZ_SECONDS=60 for each target), then walk at random (AGENT_Q_DIFF_CASES=30000)
	@test/tools/need cargo cc c++ cargo-fuzz
	@test/tools/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)
	AGENT_Q_DIFF_CASES=$${AGENT_Q_DIFF_CASES:-30000} cargo test --release --locked -p agent-q-diff-engine

doc: ## Build the manual, doc/agent-q-diff.info, and the engine's documentation
	@test/tools/need cargo cc makeinfo
	makeinfo --no-split --error-limit=1 doc/agent-q-diff.texi -o doc/agent-q-diff.info
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps -p agent-q-diff-engine

.PHONY: pictures
pictures: ## Photograph the demo in a graphical Emacs: doc/review-light.png and -dark.png
	@test/tools/need emacs cargo cc
	@$(MAKE) --no-print-directory build
	@EMACS= test/demo/picture

.PHONY: screens
screens: ## Write the screens of the interactive checklist anew (TOUR=one), to be looked at
	@test/tools/need emacs cargo cc git tmux timeout
	@$(MAKE) --no-print-directory build
	@test/tools/screens $(TOUR)

clean: ## Remove everything that was built
	cargo clean
	rm -f lisp/*.elc lisp/*.so lisp/*.dylib lisp/*.dll lisp/agent-q-diff-module.version doc/*.info
