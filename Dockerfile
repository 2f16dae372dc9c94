# One image for web, worker and scheduler; docker-compose.yml says who is who.
FROM python:3.11-slim AS packages
WORKDIR /app
COPY requirements.lock ./
RUN python -m venv .venv \
    && .venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock

FROM python:3.11-slim
# Two people of one group: both read and write /data, only `web` reads what is 0600 and its own.
RUN groupadd --gid 10000 chimera \
    && useradd --uid 10001 --gid chimera --no-create-home --shell /usr/sbin/nologin web \
    && useradd --uid 10002 --gid chimera --no-create-home --shell /usr/sbin/nologin worker \
    && install --directory --owner web --group chimera --mode 2770 /data \
    && install --directory --owner web --group chimera --mode 0700 /keys
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CHIMERA_ENVIRONMENT=production \
    CHIMERA_DATA_DIR=/data
WORKDIR /app
COPY --from=packages /app/.venv .venv
COPY . .
USER web
EXPOSE 8000
# What one of them writes to /data the other may use; keys are made 0600 whatever the mask.
ENTRYPOINT ["sh", "-c", "umask 0007; exec \"$@\"", "--"]
CMD ["gunicorn", "chimera.wsgi", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--workers", "4", "--threads", "8", "--worker-tmp-dir", "/dev/shm", "--no-control-socket"]
