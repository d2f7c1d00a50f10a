# The image of the workers, of the ledger's installation, and of our own servers in docker-compose.yml.
FROM python:3.13.14-slim-trixie AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_CONSTRAINT=/src/constraints.txt PIP_BUILD_CONSTRAINT=/src/constraints.txt
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY rescind rescind
# After the group come the packages of the sandbox, the mail server and the Stripe stand-in;
# those of the other stand-ins stay out.
RUN python -m venv --without-pip /opt/rescind \
    && python -m pip --python /opt/rescind/bin/python install --group app aiosmtpd fastapi localstripe psutil uvicorn .

FROM python:3.13.14-slim-trixie
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && python -m pip uninstall --yes --root-user-action=ignore pip \
    && groupadd --gid 10001 rescind \
    && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin rescind \
    # A named volume that is mounted here for the first time takes over the owner.
    && install --directory --owner=rescind --group=rescind /data /srv/git
COPY --from=build /opt/rescind /opt/rescind
ENV PATH=/opt/rescind/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
COPY worker.py starter.py starter_business.py ./
COPY workflows workflows
COPY activities activities
COPY embedded embedded
COPY deploy/worker_health.py deploy/worker_health.py
USER 10001:10001
HEALTHCHECK --interval=60s --timeout=30s --start-period=60s --retries=3 CMD ["python", "deploy/worker_health.py"]
CMD ["python", "worker.py"]
