# Run `make` to see what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The version of the next release, which VERSION holds and nothing else; a program that is not a release has the commit behind it.
VERSION := $(shell cat VERSION)-dev.$(shell git describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)
LINTER := bin/golangci-lint
DEX := bin/dex
# The linter reads what the compiler knows of each package. With the settings of scripts/build.sh the two share the build cache.
LINT := CGO_ENABLED=0 GOFLAGS="-trimpath $${GOFLAGS:-}" $(LINTER)

# Settings that may be given on the command line, such as `make run LISTEN=127.0.0.1:9000`.
LISTEN ?= 127.0.0.1:8080#  address that `make run` serves on
DATA ?= .tenet#            folder that `make run` keeps its database in
DEMO ?= .tenet-demo#       folder that `make demo` keeps its database in
PACKAGES ?= ./... ./client/... ./edge/...# packages for test, bench and fuzz
SDKS ?= python typescript#            clients for other languages that `make test` tests with all packages; empty leaves them out
TESTFLAGS ?=#              more flags for go test, such as -run=TestName
PLATFORMS ?=#              platforms that `make dist` builds for; empty is all
BENCH ?= .#                benchmarks to run, a regular expression
BENCHTIME ?= 1s#           time for each benchmark
EVALUATIONS ?= 50000#      records that the benchmark of finding evaluations searches
LOADBENCH ?= go run ./bench# load test of bin/tenet that `make bench` ends with; empty leaves it out
COLLECTIONS ?= ../shared/data/retrieval# texts, questions and answers for bench-search; empty leaves quality out
VECTORS ?=#                vectors of a model for them, see docs/search-ranking.md; empty leaves out what needs them
DISCOVERY ?= ../shared/data/discovery# files whose rules people have marked, for bench-discovery
COMMANDS ?= ../shared/data/commands# harmful.jsonl and harmless.jsonl for bench-commands; empty leaves them out
SIZES ?= 1000,10000,100000# numbers of rules for bench-search; empty leaves speed out
OLDER ?= 7c3b60ce#         commit of the version that test-upgrade serves with beside this one
FUZZTIME ?= 10s#           time for each fuzz target

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: man
man: build ## Write the manual pages into bin/man1
	@bin/tenet man --dir bin/man1

.PHONY: run
run: build ## Judge the sample change and the sample payment with the starter packs, then serve them
	@echo "== tenet check < examples/change.diff"
	@code=0; bin/tenet check --data $(DATA) <examples/change.diff || code=$$?; \
	if [ $$code -gt 1 ]; then exit $$code; fi # 1 says that the change breaks rules: this one is meant to
	@echo "== tenet check --facts examples/payment.json"
	@code=0; bin/tenet check --data $(DATA) --facts examples/payment.json </dev/null || code=$$?; \
	if [ $$code -gt 1 ]; then exit $$code; fi # as above
	@echo "== tenet serve --listen $(LISTEN) --data $(DATA)"
	@exec bin/tenet serve --listen $(LISTEN) --data $(DATA)

.PHONY: demo
demo: build ## Fill a database with a year of an invented company, then serve it (DEMO=dir)
	@go run ./bench/demo -data='$(DEMO)'
	@echo "== tenet serve --listen $(LISTEN) --data $(DEMO)"
	@exec bin/tenet serve --listen $(LISTEN) --data '$(DEMO)'

.PHONY: build
build: ## Build bin/tenet, a static binary; without Go, take it from a release (TENET_RELEASES=address)
	@scripts/build.sh bin/tenet '$(VERSION)'

# The race detector needs cgo. SQLite, which is C turned into Go, and regexp run without it: their memory is their own, and to watch them takes
# a third of all the time of a program that opens a database, and half of that of one that judges. Not more packages: one that shares a sync.Map
# or a sync.Pool with watched code makes the detector see races where there are none. Without what only debuggers read (dwarf), compiling takes a
# fifth less; checks of unsafe pointers (checkptr) are of no use here, where only generated code has any, and take a twentieth of the tests.
RACE := -race $(foreach flags,all= modernc.org/...=-race=false regexp/...=-race=false,-gcflags='$(flags) -dwarf=false -d=checkptr=0')

# Vet runs once, in verify, with the other linters. Three programs run at once, since
# they wait for browsers and databases; without GORACE each sleeps for a second at its end, and without GOGC a tenth of the time is collecting garbage.
.PHONY: test
test: build $(DEX) ## Run all tests with the race detector, on SQLite and on a private PostgreSQL
	@scripts/setup-build.sh gcc $(if $(TENET_TEST_BROWSER),,chromium)
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 GOGC=400 TENET_TEST_PROGRAM='$(CURDIR)/bin/tenet' TENET_TEST_DEX='$(CURDIR)/$(DEX)' TENET_TEST_BROWSER="$${TENET_TEST_BROWSER:-$$(command -v chromium)}" scripts/with-postgres.sh go test $(RACE) -vet=off -p 3 -timeout=15m $(TESTFLAGS) $(PACKAGES)
ifeq ($(origin PACKAGES),file)
	@$(if $(SDKS),$(MAKE) --no-print-directory test-sdk)
endif

.PHONY: test-sdk
test-sdk: build ## Test the clients for other languages against bin/tenet (SDKS=python typescript)
	@scripts/test-sdk.sh $(SDKS)

.PHONY: test-sdk-adapters
test-sdk-adapters: build ## Test the adapters for agent frameworks with the real packages and fake models
	@scripts/test-sdk.sh adapters

.PHONY: test-generators
test-generators: build ## Generate clients with four public generators, compile them and make calls (GENERATORS=typescript python go java)
	@scripts/trial-generators.sh $(or $(GENERATORS),typescript python go java)

.PHONY: verify
verify: $(LINTER) ## Check modules, generated files, format and linters; changes nothing
	@scripts/setup-build.sh git
	@for script in .ci/run scripts/*.sh scripts/ci/*.sh; do bash -n "$$script"; done
	@for module in . client edge tools/streams tools/peers tools/chart tools/compose; do (cd $$module && go mod tidy -diff) || { echo "verify: $$module/go.mod or go.sum is not tidy; run: go mod tidy" >&2; exit 1; }; done
	@scripts/verify-generated.sh
	@scripts/test-chart.sh
	@cd tools/promcheck && GOWORK=off CGO_ENABLED=0 go test .
	@cd tools/compose && GOWORK=off CGO_ENABLED=0 go test .
	@cd tools/streams && GOWORK=off CGO_ENABLED=0 go test .
	$(LINT) run ./... ./client/... ./edge/...

.PHONY: lint
lint: $(LINTER) ## Run the linters and mend what they can mend themselves
	$(LINT) run --fix ./... ./client/... ./edge/...

.PHONY: fmt
fmt: $(LINTER) ## Format all Go files
	$(LINT) fmt ./... ./client/... ./edge/...

.PHONY: generate
generate: ## Write the generated files
	go generate ./...

.PHONY: screenshots
screenshots: ## Take the pictures of the console that README and docs show
	@scripts/setup-build.sh chromium
	@mkdir -p docs/pictures
	CGO_ENABLED=0 go test -vet=off -count=1 -run='^TestTheSamplesCanBeRead$$' ./internal/console -pictures='$(CURDIR)/docs/pictures'

.PHONY: bench
bench: build ## Run the benchmarks, then a load test of the binary (BENCH=regexp, BENCHTIME=1s)
	TENET_BENCH_EVALUATIONS='$(EVALUATIONS)' CGO_ENABLED=0 scripts/with-postgres.sh go test -run='^$$' -bench='$(BENCH)' -benchtime=$(BENCHTIME) -benchmem -vet=off $(TESTFLAGS) $(PACKAGES)
	$(LOADBENCH)

.PHONY: load
load: build ## Measure evaluations, searches, edits, submissions and streams together, on one node and on three (NODES=1,3 CLIENTS=24 DURATION=10s)
	env -u TENET_TEST_POSTGRES scripts/with-postgres.sh bash -c 'go run ./bench -load -database-url="$$TENET_TEST_POSTGRES" -nodes="$(or $(NODES),1,3)" -clients="$(or $(CLIENTS),24)" -duration="$(or $(DURATION),10s)"'

.PHONY: bench-peers
bench-peers: build ## Measure server and edge beside Open Policy Agent and Semgrep, which this fetches (DURATION=10s)
	cd tools/peers && GOWORK=off CGO_ENABLED=0 go build -trimpath -o ../../bin/opa github.com/open-policy-agent/opa
	@scripts/setup-semgrep.sh bin/semgrep
	go run ./bench -opa=bin/opa -semgrep=bin/semgrep/bin/semgrep -duration=$(or $(DURATION),10s)

.PHONY: bench-edge
bench-edge: build ## Measure edges: start, memory, evaluations, bundles, 1,000 that poll, a deployment to 100 (DURATION=10s)
	go run ./bench -edge -duration=$(or $(DURATION),10s)
	CGO_ENABLED=0 GOMAXPROCS=1 go test -vet=off -run='^$$' -bench='Evaluate|Checks' -benchmem ./edge
	CGO_ENABLED=0 go test -vet=off -run='^$$' -bench='Open|Verify|Releases/bundle' ./edge ./internal/bundle ./internal/release
	CGO_ENABLED=0 TENET_EDGES=100 go test -vet=off -count=1 -run='^TestADeploymentReachesManyEdges$$' -v ./edge
	TENET_TEST_PROGRAM='$(CURDIR)/bin/tenet' CGO_ENABLED=0 TENET_EDGES=1000 go test -vet=off -count=1 -run='^TestPollingEdgesCostTheServerLittle$$' -v ./e2e

.PHONY: edge-verdicts
edge-verdicts: ## Compare the verdicts of server, edge and module on many mixed subjects (SUBJECTS=5000)
	TENET_EDGE_SUBJECTS=$(or $(SUBJECTS),5000) CGO_ENABLED=0 go test -vet=off -count=1 -timeout=60m -run='^TestServerEdgeAndModuleGiveTheSameVerdicts$$' -v ./edge

.PHONY: bench-search
bench-search: ## Measure how well and how fast rules are found (COLLECTIONS=dir, SIZES=1000,100000, VECTORS=dir)
	CGO_ENABLED=0 go run ./bench/search -data='$(COLLECTIONS)' -vectors='$(VECTORS)' -sizes='$(SIZES)'

.PHONY: bench-discovery
bench-discovery: ## Measure how well and how fast rules are found in texts (DISCOVERY=dir)
	CGO_ENABLED=0 go run ./bench/discovery -data='$(DISCOVERY)'

.PHONY: bench-triage
bench-triage: ## Measure which broken rules are judged among 2,000, by ranking and with triage of known recall (EVALCASES=files, FILLER=file)
	CGO_ENABLED=0 go run ./bench/triage $(if $(FILLER),-filler='$(FILLER)') $(or $(EVALCASES),$(wildcard ../shared/data/code-rules/*.jsonl ../shared/data/fact-rules/*.jsonl))

.PHONY: bench-checks
bench-checks: ## Measure what becomes of unseen violations once a proposed check is adopted (HALF=1|2 BREAKING=12, EVALCASES=files)
	@scripts/eslint-cases/setup.sh bin/eslint-cases
	CGO_ENABLED=0 go run ./bench/checks -half=$(or $(HALF),0) -breaking=$(or $(BREAKING),12) $(or $(EVALCASES),bin/eslint-cases/cases.jsonl)

.PHONY: bench-commands
bench-commands: ## Measure how many harmful and harmless commands the starter rules stop (COMMANDS=dir)
	CGO_ENABLED=0 go run ./bench/commands -data='$(COMMANDS)'

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while, and property tests from random seeds (FUZZTIME=10s, CHECKS=2000)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh $(PACKAGES)

.PHONY: conformance
conformance: build ## Run the public conformance suite of the Model Context Protocol (needs npm)
	@scripts/conformance.sh

.PHONY: conformance-gateway
conformance-gateway: build ## Run clients and servers of the official Python and TypeScript MCP SDKs through the gateway (needs npm, python3)
	@scripts/conformance-gateway.sh

.PHONY: auditor-page
auditor-page: ## Write dist/tenet-auditor.html: it checks proofs and evidence packs in a browser, without a network
	@go run ./internal/auditor/page -o dist/tenet-auditor.html

.PHONY: dist
dist: ## Build the files of a release into dist/: archives, deb, rpm, image, wheels, npm (PLATFORMS=linux/amd64,...)
	@cd tools/dist && GOWORK=off CGO_ENABLED=0 go run . -root ../.. $(if $(PLATFORMS),-platforms '$(PLATFORMS)')

.PHONY: test-dist
test-dist: ## Build a release for this machine, install each file into an empty place, and get a verdict
	@cd tools/dist && GOWORK=off CGO_ENABLED=0 go test ./...
	@scripts/test-dist.sh

.PHONY: test-chart
test-chart: ## Render the Helm chart and check it against the schemas of three versions of Kubernetes
	@scripts/test-chart.sh

.PHONY: soak
soak: ## Kill nodes at random moments, 200 rounds on each database, and look for what is lost
	TENET_SOAK=200 scripts/with-postgres.sh go test -vet=off -timeout=60m -run=Killed ./e2e

.PHONY: test-failover
test-failover: ## Kill a primary, freeze a node, and run nodes behind pgbouncer, under load (a few minutes)
	@scripts/setup-build.sh pgbouncer
	TENET_TEST_FAILOVER=1 scripts/with-postgres.sh go test -vet=off -count=1 -timeout=20m -v -run='Promoted|Frozen|Pgbouncer' ./e2e

.PHONY: test-upgrade
test-upgrade: ## Serve with the version of a commit and with this one, side by side on one PostgreSQL (OLDER=commit)
	@scripts/build-older.sh '$(OLDER)' bin/tenet-older
	TENET_TEST_OLDER='$(CURDIR)/bin/tenet-older' scripts/with-postgres.sh go test -vet=off -count=1 -timeout=20m -v -run=OlderAndThis ./e2e

.PHONY: flips
flips: ## Repeat 10,000 requests with a model that tosses a coin, and look for verdicts that change (FLIPS=10000)
	TENET_FLIPS=$(or $(FLIPS),10000) scripts/with-postgres.sh go test -timeout=60m -run=NoVerdictFlips -v ./internal/judge

.PHONY: attacks
attacks: ## Let scripted models that obey planted texts judge changes, and count what they allow
	TENET_ATTACKS=all go test -timeout=60m -run=AdaptiveAttackers -v ./internal/judge

.PHONY: eval-small-model
eval-small-model: build ## Measure a real model of 1.5 billion parameters in each profile; gets 1.2 GB (EVALCASES=files, LIMIT=20)
	scripts/eval-small-model.sh $(or $(EVALCASES),$(wildcard ../shared/data/code-rules/*.jsonl ../shared/data/fact-rules/*.jsonl))

.PHONY: clean
clean: ## Remove what was built and the database of `make run`
	rm -rf bin $(DATA) $(DEMO)

# The linter is a module of its own and not in go.work, so that its dependencies never meet those of the service.
$(LINTER): tools/go.mod tools/go.sum
	cd tools && GOWORK=off CGO_ENABLED=0 go build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The identity provider of the tests of single sign-on; a module of its own, as the linter is.
$(DEX): tools/dex/main.go tools/dex/go.mod tools/dex/go.sum
	cd tools/dex && GOWORK=off CGO_ENABLED=0 go build -trimpath -o ../../$@ .
