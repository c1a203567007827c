LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FLAGS = -trimpath -ldflags "-s -w"

.DEFAULT_GOAL = help
.PHONY: help check test race chaos chaos-mutants lint vet tidy fmt fmt-check build dev image bench fuzz clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: ## Everything that CI runs, in the same order
	@bash .ci/run

test: ## Run the tests, on a Postgres that they start themselves
	go test ./...

race: ## Run the tests with the race detector; needs a C compiler
	CGO_ENABLED=1 go test -race -count=1 ./...

DURATION ?= 5m
SEED ?= 0

chaos: ## Run the fault suite: DURATION=5m SEED=0 (drawn); it prints its figures
	go test ./internal/chaos -count=1 -v -timeout 90m -run '^TestPromise$$' -chaos $(DURATION) -seed $(SEED)

chaos-mutants: ## See the fault suite turn red on services with a mistake in them
	go test ./internal/chaos -count=1 -v -timeout 60m -run '^TestMutants$$' -mutants

lint: ## Run the linters; the first run builds them, in about two minutes
	$(LINT) run ./...

vet: ## Run go vet
	go vet ./...

tidy: ## Check go.mod and go.sum, and the modules against them
	go mod tidy -diff
	go mod verify

fmt: ## Format the code
	$(LINT) fmt ./...

fmt-check: ## Show what fmt would change
	$(LINT) fmt --diff ./...

build: ## Build the static binary bin/app
	CGO_ENABLED=0 go build $(FLAGS) -o bin/app ./cmd/app

dev: ## Run three replicas on a private Postgres, with demo data
	go run ./cmd/app dev

image: ## Build the container image
	docker build --tag ranura .

bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

# go test fuzzes one target of one package at a time.
fuzz: ## Fuzz each target for 30 seconds
	@grep -rEo '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | \
	sed -E 's,^(.*)/[^/]+:func (.*)$$,\1 \2,' | \
	while read -r dir target; do \
		echo "== $$dir $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime 30s "$$dir" </dev/null || exit 1; \
	done

clean: ## Remove what the targets above made
	rm -rf bin dist coverage.out
