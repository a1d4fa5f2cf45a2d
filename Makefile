# Every command of the project. `make help` lists them, from the ## comments.

EMACS ?= emacs
export EMACS

# Right after an installation with rustup, cargo is often not on PATH yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# What `make test` runs and what `make lint` checks; .ci/run sets them to run a part.
SUITES ?= rust ert e2e
CHECKS ?= rust dependencies lisp-compile lisp-style layers

# What `make fuzz` runs, and how many seconds each target gets.
FUZZ_TARGETS ?= parse place review
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help build mcp demo check test test-agents lint map bench bench-check fuzz doc manual clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'EMACS=/path/to/emacs            the Emacs to use'
	@echo 'SUITES="rust ert e2e"           which tests make test runs'
	@echo 'AGENTS="claude codex"           which agents make test-agents runs'
	@echo 'JOBS=1                          how many suites run at once (one more than there are cores)'
	@echo 'CHECKS="rust dependencies lisp-compile lisp-style layers changed"'
	@echo '                                what make lint checks'
	@echo 'FUZZ_SECONDS=60                 how long make fuzz runs each target'
	@echo 'FUZZ_TARGETS="parse place"       what make fuzz runs'
	@echo 'AGENT_Q_DIFF_CASES=30000        how many random walks make fuzz runs'

build: ## Build the engine (a Rust module) and put it beside the Lisp files
	@test/tools/need emacs cargo cc
	$(EMACS) -Q --batch -L lisp -l agent-q-diff-build -f agent-q-diff-build-module-batch

mcp: ## Build the server for MCP clients, and print how to register it
	@test/tools/need cargo cc
	@test/tools/build-program
	@test/tools/build-program --say-how

demo: ## Review a proposal, then what was written already; without a terminal, play that
	@test/tools/need emacs cargo cc git
	@$(MAKE) --no-print-directory build
	@test/demo/run

check: ## Check what is being worked on: engine, Lisp in batch, changed files (3 minutes)
	@test/tools/need emacs cargo rustfmt clippy cc git magit package-lint
	@$(MAKE) --no-print-directory build
	@test/tools/run-tests --quick rust ert
	@test/tools/lint changed layers

test: ## Run every test: Rust, Lisp, and Emacs in a real terminal
	@test/tools/need emacs cargo cc patch git tmux timeout mcp-client sbcl slime swank evil magit vterm makeinfo setfacl
	@$(MAKE) --no-print-directory build
	@test/tools/run-tests $(SUITES)

test-agents: ## Install real coding agents (over 1 GB) and decide their edits in Emacs
	@test/tools/need emacs cargo cc curl git tmux timeout mcp-client
	@$(MAKE) --no-print-directory build
	@test/tools/run-tests agents

lint: ## Check style, warnings, dependencies, documentation, and the boundaries between modules
	@test/tools/need emacs cargo rustfmt clippy cargo-deny cc package-lint
	@test/tools/lint $(CHECKS)

map: ## Write doc/map.md anew, the files and what each is for, and the index of test helpers
	@test/tools/map

bench: ## Measure everything that has to be fast, compared with a peer (ten minutes)
	@test/tools/need emacs cargo cc git tmux timeout
	@$(MAKE) --no-print-directory build
	@test/bench/run

bench-check: ## Measure a part of it, or only SECTIONS=…, and fail if a target is missed by far
	@test/tools/need emacs cargo cc git tmux timeout
	@$(MAKE) --no-print-directory build
	@test/bench/run --check $(SECTIONS)

fuzz: ## Fuzz the engine, then run long random walks
	@test/tools/need cargo cc c++ cargo-fuzz
	@test/tools/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)
	AGENT_Q_DIFF_CASES=$${AGENT_Q_DIFF_CASES:-30000} cargo test --release --locked -p agent-q-diff-engine

manual: ## Build the manual, doc/agent-q-diff.info
	@test/tools/need makeinfo
	makeinfo --no-split --error-limit=1 doc/agent-q-diff.texi -o doc/agent-q-diff.info

doc: manual ## Build the manual and the engine's documentation
	@test/tools/need cargo cc
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps -p agent-q-diff-engine -p agent-q-diff-reviewed

.PHONY: pictures
pictures: ## Take the pictures in doc/ again, or of one scene (SCENE=side)
	@test/tools/need emacs cargo cc
	@$(MAKE) --no-print-directory build
	@EMACS= test/demo/picture $(SCENE)

.PHONY: played
played: ## Play five reviews by keys, also with git, diff-mode, Ediff and (MAGIT=folders) Magit
	@test/tools/need emacs cargo cc git tmux python3-venv
	@$(MAKE) --no-print-directory build
	@test/played/play

.PHONY: screens
screens: ## Write the stored screens again, or of one tour (TOUR=deciding)
	@test/tools/need emacs cargo cc git tmux timeout
	@$(MAKE) --no-print-directory build
	@test/tools/screens $(TOUR)

clean: ## Remove everything that was built
	cargo clean
	rm -f lisp/*.elc lisp/*.so lisp/*.dylib lisp/*.dll lisp/agent-q-diff-module.version doc/*.info
