# make help lists the targets. Everything but demo and test may need more than
# Go itself; .ci/run installs and starts what it needs.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help demo test race generate reference check lint bench bench-quick bench-gen bench-runtime soak fuzz sim model mutants crash

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: generate ## generate, build and run the shop example
	$(GO) run ./example/shop

test: ## run all tests
	$(GO) test -timeout 3m ./...

race: ## run all tests under the race detector, on 1, 2 and 4 cores, shuffled
	$(GO) test -race -timeout 10m -shuffle=on -cpu=1,2,4 ./executor/...
	$(GO) test -race -timeout 5m -shuffle=on ./...

generate: ## write the generated code of the examples
	$(GO) generate .

reference: ## write docs/reference from the table of directives
	$(GO) test ./internal/reference -update

check: lint ## formatting, vet, staticcheck, architecture, tidy modules, generated code up to date
	$(GO) vet ./...
	GOARCH=386 $(GO) vet ./executor ./runtime ./gen/...
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	$(GO) tool wowgen -check ./example/...
	$(GO) tool wowgen vet ./example/...
	$(GO) vet -vettool=$$($(GO) tool -n wowvet) ./example/...

lint: ## formatting and the rules of the architecture
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) test ./internal/lint

bench: ## measure the executor beside its peers, about 12 minutes: bench/RESULTS.md
	$(MAKE) -C bench bench

bench-quick: ## prove the peers right and run every benchmark for a moment
	$(MAKE) -C bench test quick

bench-gen: ## measure the generator beside five others, 3 minutes: bench/GEN.md
	$(MAKE) -C bench gen

bench-runtime: ## measure the runtime beside frameworks, histories, idle, rebuilds: bench/FRAMEWORK.md, PROJECTION.md
	$(MAKE) -C bench framework projection

soak: ## ten minutes of steady load; fails if memory, goroutines or files grow
	$(MAKE) -C bench soak

fuzz: ## feed the generator directives, YAML and whole files, half a minute each
	$(GO) test ./gen -run '^$$' -fuzz '^FuzzGo$$' -fuzztime 30s
	$(GO) test ./gen -run '^$$' -fuzz '^FuzzYAML$$' -fuzztime 30s
	$(GO) test ./gen -run '^$$' -fuzz '^FuzzDirectives$$' -fuzztime 30s

sim: ## explore 100,000 orders of the executor's steps; -seed N replays one
	$(GO) test -tags wowsched -timeout 5m -run TestSchedule ./executor -schedules 100000

model: ## search the models of the executor's hand-offs, and find the bugs planted in them
	executor/model/run.sh

mutants: ## plant bugs in the executor, one at a time, and show that its tests catch them
	$(GO) run ./internal/mutants

crash: ## kill a writing process 100 times per store, and the PostgreSQL server (needs WOW_POSTGRES)
	WOW_CRASH_CYCLES=100 $(GO) test -timeout 5m -count=1 -run Killed -v ./runtime/sqlite ./runtime/postgres ./example/shop
