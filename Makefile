# Everything starts here; needs Python 3.11+ with venv, and make.
#   make run             the whole platform on http://localhost:8000 (PORT=9000 moves all of it)
#   make demo            one campaign in the terminal (APPROVE=1, TRENDS=path-or-URL)
#   make test            the whole suite, embedded and (if reachable) on PostgreSQL and Redis
#   make lint            every check of the source
#   make bench, chaos    benchmarks; the long chaos run
#   make lock            resolve the dependencies anew

PYTHON ?= python3
PORT ?= 8000
export PORT

UV_VERSION := 0.13.8
BIN := .venv/bin
UV := $(BIN)/uv
LOCK = $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet

# The development set contains the run set: where it is installed, it serves for both.
DEV := .venv/dev.stamp
RUN := $(if $(wildcard $(DEV)),$(DEV),.venv/run.stamp)

# A complete production environment for `check --deploy`, which opens no connection.
PRODUCTION = CHIMERA_ENVIRONMENT=production CHIMERA_PROCESS=web CHIMERA_APPROVAL_KEYS=/nonexistent \
	SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))') \
	CHIMERA_WEB_URL=https://chimera.example CHIMERA_ISSUER=https://chimera.example CHIMERA_HOSTS=chimera.example \
	DATABASE_URL=postgres://db.example/chimera CELERY_BROKER_URL=redis://redis.example/0 CACHE_URL=redis://redis.example/1

.PHONY: run demo test lint bench chaos lock
.DELETE_ON_ERROR:

run: $(RUN)
	@exec $(BIN)/python manage.py runstack

demo: $(RUN)
	@exec $(BIN)/python manage.py demo $(if $(TRENDS),--trends '$(TRENDS)') $(if $(filter 1,$(APPROVE)),--approve)

test: $(DEV)
	@exec $(BIN)/python -m tests.suite $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python manage.py makemigrations --check --dry-run
	@$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py docs --check

bench: $(DEV)
	@for each in benchmarks/[a-z]*.py; do echo "== $$each"; PYTHONPATH=. $(BIN)/python $$each || exit 1; done

chaos: $(DEV)
	$(BIN)/python -m pytest tests/chaos --chaos-long $(ARGS)

lock: $(UV)
	$(LOCK) -o requirements.lock
	$(LOCK) --group dev -o requirements-dev.lock

.venv/run.stamp: requirements.lock pyproject.toml | $(UV)
	@$(UV) pip sync --python $(BIN)/python --require-hashes --compile-bytecode --quiet requirements.lock
	@touch $@

$(DEV): requirements-dev.lock pyproject.toml | $(UV)
	@$(UV) pip sync --python $(BIN)/python --require-hashes --compile-bytecode --quiet requirements-dev.lock
	@touch $@

$(UV):
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo 'Python 3.11 or newer is needed and $(PYTHON) was not found. Install it, or name it: make PYTHON=/path/to/python3.12'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed and $(PYTHON) is $$($(PYTHON) --version). Name a newer one: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo 'The venv module of $(PYTHON) is missing. On Debian and Ubuntu: apt install python3-venv'; exit 1; }
	@echo 'Setting up .venv (once; a minute or so)'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
