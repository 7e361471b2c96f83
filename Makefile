# slurmtide. `make` alone lists the targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
COMMON  := github.com/prometheus/common/version
LDFLAGS := -s -w -X $(COMMON).Version=$(VERSION) -X $(COMMON).Revision=$(COMMIT) -X $(COMMON).Branch=main
BINARIES := $(patsubst cmd/%/main.go,%,$(wildcard cmd/*/main.go))

# Options of individual targets.
SLURM ?= 26.05
KUBELET ?=
IMAGES ?=
BENCH ?= poll scrape memory restd demand adapter reaction operator
FUZZTIME ?= 30s
HISTORIES ?= 100000
FIRST ?= 0
ROUNDS ?= 1000
SEED ?= 1
STEPS ?=

DEMO ?=
AGENT_IMAGE ?= localhost/slurm-agent:dev

##@ Look
.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\n'

.PHONY: demo
demo: go-present ## Install slurm-stack on this machine: jobs, HPA, workers, scale to zero (DEMO=ci: without a terminal)
	DEMO=$(DEMO) hack/demo/run $(ARGS)

.PHONY: demo-login
demo-login: ## Open a shell in the login pod of the demo
	@hack/demo/login

.PHONY: demo-down
demo-down: go-present ## Remove the demo
	hack/demo/down

.PHONY: kind
kind: ## Build eight images and install slurm-stack on kind (docs/kind.md)
	hack/kind/up

# Programs beside a Kubernetes: that of KUBECONFIG, or else of ~/.kube/config. ARGS are further flags.
.PHONY: run-operator
run-operator: go-present ## Run slurm-operator here for the Kubernetes of KUBECONFIG (docs/run-outside.md)
	@folder=$$(hack/images/programs slurm-operator); exec "$$folder/slurm-operator" \
	  --no-leader-election --no-webhook --health.listen-address=127.0.0.1:8081 --metrics.listen-address=0 \
	  --controller.agent-image=$(AGENT_IMAGE) $(ARGS)

.PHONY: run-adapter
run-adapter: go-present ## Run slurm-metrics-adapter here for the Kubernetes of KUBECONFIG (docs/run-outside.md)
	@folder=$$(hack/images/programs slurm-metrics-adapter); exec "$$folder/slurm-metrics-adapter" \
	  --certificate.namespace=slurm-system --certificate.service=slurm-metrics --certificate.secret=slurm-metrics-certificate $(ARGS)

.PHONY: run
run: build ## Run slurm-exporter on an embedded simulated cluster
	bin/slurm-exporter --slurm.simulate $(ARGS)

##@ Build
.PHONY: build
build: go-present ## Build the binaries into bin/
	@mkdir -p bin
	@for b in $(BINARIES); do echo "building bin/$$b"; \
	  CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/$$b ./cmd/$$b; done

.PHONY: images
images: go-present ## Build the images and load them into the node of kube-up KUBELET=1
	hack/images/load $(IMAGES)

.PHONY: release
release: go-present ## Make a release in dist/: programs, packages, images, charts, SBOMs, checksums (ARGS=--help)
	@mkdir -p .run && cd hack/release && CGO_ENABLED=0 $(GO) build -o ../../.run/release .
	@exec .run/release $(ARGS)

.PHONY: generate
generate: go-present ## Rewrite everything generated
	hack/generate

.PHONY: verify
verify: generate ## Fail if generated files are not up to date
	@git diff --exit-code --stat || { echo "generated files differ: commit what 'make generate' wrote"; exit 1; }

.PHONY: lint
lint: go-present ## Run gofmt, go vet, golangci-lint and actionlint
	hack/lint

##@ Test
.PHONY: test
test: go-present ## Install the requirements and run every suite that this machine supports
	hack/test all

.PHONY: test-long
test-long: go-present ## Run the tests that are too long for make test (STEPS="sim short-jobs", or all steps)
	hack/test-long $(STEPS)

.PHONY: quick
quick: go-present ## Lint and test what differs from main, or the packages PKG
	hack/quick $(PKG)

.PHONY: unit
unit: go-present ## Run the unit tests; they need only Go
	hack/test unit

.PHONY: e2e-slurm
e2e-slurm: go-present ## Run the suite on real Slurm (root on Debian)
	hack/test slurm

.PHONY: e2e-kube
e2e-kube: go-present ## Run the suite on real Kubernetes
	hack/test kube

.PHONY: e2e-hpa
e2e-hpa: go-present ## Run the suite on both: jobs drive a stock HPA
	hack/test hpa

.PHONY: e2e-cluster
e2e-cluster: go-present ## Run the suite of Slurm clusters made from custom resources (root on Debian)
	hack/test cluster

.PHONY: e2e-charts
e2e-charts: go-present ## Install slurm-stack with its defaults on real Kubernetes: jobs, two stacks, cgroup v2, removal (root on Debian)
	hack/test charts

.PHONY: e2e-hybrid
e2e-hybrid: go-present ## Run the suite of clusters with daemons in pods and on hosts outside (root on Debian)
	hack/test hybrid

.PHONY: e2e-host
e2e-host: go-present ## Run docs/install-bare-metal.md on Debian hosts with systemd (root on Debian)
	hack/test host

.PHONY: e2e-nodeset
e2e-nodeset: go-present ## Run the operator suite: real slurmds in pods (root on Debian)
	hack/test nodeset

.PHONY: e2e-look
e2e-look: go-present ## Run every query of the dashboards and rules on a real Prometheus
	hack/test look

.PHONY: oracle
oracle: go-present ## Compare computed demand with real Slurm (ROUNDS, SEED, SLURM=both)
	cd test/e2e/slurm/oracle && $(GO) test -tags e2e -count 1 -timeout 24h -v -run DemandIsWhatSlurmNeeds . -args -rounds $(ROUNDS) -lanes 5 -minimise 3 -seed $(SEED) -release $(if $(filter command line,$(origin SLURM)),$(SLURM),both)

.PHONY: e2e-menagerie
e2e-menagerie: go-present ## Run every program against many kinds of real Slurm clusters (root on Debian)
	@for release in 24.11 26.05; do hack/slurm/root $$release >/dev/null; done
	$(GO) test -tags e2e -count 1 -v -timeout 30m -parallel 3 ./test/e2e/slurm/menagerie

.PHONY: docs-site
docs-site: ## Build the site of the pages into dist/site (needs mkdocs and mkdocs-material)
	hack/docs-site/build

.PHONY: docs-check
docs-check: go-present ## Check the documentation: links, generated parts, and commands, which are run
	hack/docs-check

.PHONY: sim
sim: go-present ## Run HISTORIES random histories against the planner of workers, and against all other reconcilers
	$(GO) test -count 1 -v -timeout 1h -run 'History|Broken|Deterministic' ./operator/nodeset/plan/simulation/... -histories $(HISTORIES)
	GOGC=400 $(GO) test -count 1 -v -timeout 6h -run 'History|Histories|Broken' ./operator/simulation -histories $(HISTORIES) -first $(FIRST)

.PHONY: bench
bench: go-present ## Run the benchmarks (BENCH="poll scrape memory restd", or some of them)
	hack/bench $(BENCH)

.PHONY: fuzz
fuzz: go-present ## Run each fuzz test for FUZZTIME
	hack/fuzz $(FUZZTIME)

##@ Real Slurm for development
.PHONY: slurm-up
slurm-up: ## Start a real Slurm on loopback (SLURM=24.11|26.05); then: source .run/slurm.env
	hack/slurm/up --slurm $(SLURM)

.PHONY: slurm-down
slurm-down: ## Stop it
	hack/slurm/down

##@ Real Kubernetes for development
.PHONY: kube-up
kube-up: go-present ## Start a real Kubernetes on loopback (KUBELET=1: with a node); then: source .run/kube.env
	hack/kube/up $(if $(KUBELET),--kubelet)

.PHONY: kube-down
kube-down: ## Stop it
	hack/kube/down

.PHONY: clean
clean: ## Remove build results (caches outside the repository stay)
	rm -rf bin dist .run/programs .run/release

.PHONY: go-present
go-present:
	@command -v $(GO) >/dev/null || { echo "Go is missing: install Go $$(awk '/^go /{print $$2}' go.mod) or later from https://go.dev/dl/ and put it on the PATH"; exit 1; }
