# The two commands of the README are `make quickstart` and `make check`. Everything goes through the Go toolchain that
# go.mod names; GOTOOLCHAIN=auto lets an older Go fetch it.
export GOTOOLCHAIN := auto
export CGO_ENABLED := 0

GO     ?= go
OUT    ?= runs/quickstart
ARGS   ?=
PEER   ?=
GOFMT   = $$($(GO) env GOROOT)/bin/gofmt
LDFLAGS = -s -w
SECONDS_EACH ?= 20

.PHONY: build quickstart check lint test race bench fuzz golden harnesses clients cover clean

build: bin/molt ## build the static binary bin/molt

.PHONY: bin/molt
bin/molt:
	@test -e $@ || echo 'building $@: the first time everything is compiled, which takes a minute or two'
	@$(GO) build -ldflags '$(LDFLAGS)' -o $@ ./cmd/molt

quickstart: build ## make a small model and watch it learn to use tools (OUT=folder, ARGS='--seed 1')
	@./bin/molt quickstart --out $(OUT) $(ARGS)

check: lint test race ## what CI runs, but for clients

lint: ## formatting, vet, staticcheck (rules and reasons: staticcheck.conf)
	@bad="$$($(GOFMT) -l $$(git ls-files "*.go"))"; test -z "$$bad" || { echo "$$bad"; echo "run gofmt on these files"; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...

test: ## all tests; the kernels once more as a compiler that fuses multiply-add sees them
	$(GO) test ./...
	GOAMD64=v3 $(GO) test ./numeric/kernel

race: ## the rooms that run goroutines, under the race detector (needs a C compiler)
	@if command -v $${CC:-cc} >/dev/null; then \
	  echo 'CGO_ENABLED=1 $(GO) test -race -short (rooms with goroutines)'; \
	  CGO_ENABLED=1 $(GO) test -race -short ./agent/... ./chat/... ./engine/... ./gateway/... ./metrics/... ./rollout/... ./train/...; \
	else echo 'SKIPPED: race tests need a C compiler'; fi

bench: build ## speed, side by side with PyTorch where PEER=python3 (or a venv's python) has it; then what capture costs
	./bin/molt bench gemm $(if $(PEER),--peer $(PEER))
	./bin/molt bench generate $(if $(PEER),--peer $(PEER))
	./bin/molt bench train $(if $(PEER),--peer $(PEER))
	./bin/molt bench algo $(if $(PEER),--peer $(PEER))
	$(GO) test ./gateway/serve -run '^$$' -bench . -benchtime 3s

fuzz: ## every fuzz target for SECONDS_EACH seconds
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(SECONDS_EACH)s -fuzzminimizetime 10x $$pkg || exit 1; \
	  done; done

golden: ## regenerate golden files with the independent oracles (needs Python; not part of check)
	@for s in scripts/goldens/*/run.sh; do echo "== $$s"; bash $$s || exit 1; done

harnesses: ## install the known agent harnesses, try them on a scripted engine, rewrite the table of docs/harnesses.md
	MOLT_HARNESSES="$$(bash scripts/harnesses/install.sh)" $(GO) test -count=1 -timeout 60m ./run/service/harnesses -rewrite

clients: ## install the vendors' client libraries (npm, PyPI, Go) and try them on a scripted engine; CI runs this too
	@there="$$(bash scripts/clients/install.sh)" && env $$there $(GO) test -count=1 -timeout 15m -run 'Libraries|Programs' -v ./gateway/serve ./run/service/harnesses

cover: ## test coverage for each room
	$(GO) test -cover ./...

clean:
	rm -rf bin runs
