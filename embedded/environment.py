"""The environment of everything that runs against the stand-ins: theirs, and nothing that leads elsewhere."""

import ipaddress
import json
import os
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from embedded import postgres
from embedded.errors import NotLoopbackError
from embedded.state import Description

# Whatever starts so can name a real account, server, repository, engine or secret.
FOREIGN_PREFIXES = (
    *("AWS_", "BOTO_", "ECS_", "S3_", "MOTO_", "TEMPORAL_", "RESCIND_", "GIT_", "GITHUB_", "GITLAB_", "GH_"),
    *("DOCKER_", "COMPOSE_", "BUILDKIT_", "BUILDX_", "CONTAINER_", "PODMAN_", "PG", "SLACK_", "KUBE", "SSH_"),
    *("GOOGLE_", "AZURE_", "STRIPE_", "SMTP_", "MAIL_", "EMAIL_"),
)
FOREIGN_SUFFIXES = ("_PROXY",)
FOREIGN = ("GPG_AGENT_INFO", "NETRC", "SSLKEYLOGFILE", "TEST_SERVER_MODE")
BLANK_FILES = (
    *(
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "BOTO_CONFIG",
        "TEMPORAL_CONFIG_FILE",
        "TEMPORAL_ENV_FILE",
    ),
    *("NETRC", "PGPASSFILE", "PGSERVICEFILE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"),
)
EMPTY_FOLDERS = ("DOCKER_CONFIG", "PGSYSCONFDIR", "AWS_DATA_PATH", "GIT_TEMPLATE_DIR")
REGION = "us-east-1"
STRIPE_KEY = "sk_test_stand_in"
SOCKET_VARIABLE = "RESCIND_DOCKER_SOCKET"  # set only where containers go to a Docker engine
# Names of ours whose value holds addresses; each is looked at by `require_stand_ins`.
ADDRESSES = (
    *("RESCIND_LEDGER_DSN", "RESCIND_LEDGER_ADMIN_DSN", "RESCIND_DATABASES", "RESCIND_TEMPORAL_ADDRESS"),
    *("TEMPORAL_ADDRESS", "RESCIND_GIT_REMOTES", "RESCIND_CHAT_WEBHOOKS", "RESCIND_S3_ENDPOINT"),
    *("RESCIND_ECS_ENDPOINT", "AWS_ENDPOINT_URL", "RESCIND_CRM_URL", "RESCIND_FLIGHTS_URL"),
    *("RESCIND_EC2_ENDPOINT", "RESCIND_SMS_URL", "RESCIND_PAYMENTS_URL", "RESCIND_WEBHOOKS"),
    "RESCIND_FILE_ROOTS",  # paths, as git remotes may be
    *("RESCIND_HOTELS_URL", "RESCIND_SMTP", "RESCIND_STRIPE_API_BASE", "RESCIND_SANDBOX_ADMIN_URL"),
)


def environment(stack: Description, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The complete environment for a worker or starter: `base` (else our own) made safe, plus ours."""
    return isolated(os.environ if base is None else base, stack.directory) | addresses(stack)


def addresses(stack: Description) -> dict[str, str]:
    """Where the stand-ins are, under the names that workers, starters and clients read."""
    port = {name: service.port for name, service in stack.services.items()}
    aws, sandbox = (f"http://{stack.services[name].address}" for name in ("aws", "sandbox"))
    temporal = stack.services["temporal"].address

    def database(user: str, name: str) -> str:
        return postgres.dsn(port["postgres"], user, stack.password, name)

    socket = stack.containers.socket
    return ({SOCKET_VARIABLE: str(socket)} if socket else {}) | {
        "RESCIND_LEDGER_DSN": database(postgres.LEDGER_LOGIN, "ledger"),
        "RESCIND_LEDGER_ADMIN_DSN": database(postgres.ADMIN, "ledger"),
        "RESCIND_DATABASES": json.dumps({"app": database(postgres.APP_LOGIN, "app")}),
        "RESCIND_TEMPORAL_ADDRESS": temporal,
        "TEMPORAL_ADDRESS": temporal,
        "TEMPORAL_NAMESPACE": "default",
        "RESCIND_GIT_REMOTES": json.dumps({"app": str(stack.directory / "git" / "app.git")}),
        "RESCIND_CHAT_WEBHOOKS": json.dumps({"ops": f"{sandbox}/hook/ops"}),
        "RESCIND_OPERATIONS_WEBHOOK": "ops",
        "RESCIND_OPERATIONS_ADDRESS": "operations@example.com",
        "RESCIND_MAIL_SENDER": "orders@example.com",
        "RESCIND_CRM_URL": f"{sandbox}/crm",
        "RESCIND_FLIGHTS_URL": f"{sandbox}/flights",
        "RESCIND_HOTELS_URL": f"{sandbox}/hotels",
        "RESCIND_SMS_URL": f"{sandbox}/sms",
        "RESCIND_PAYMENTS_URL": f"{sandbox}/payments",
        "RESCIND_WEBHOOKS": json.dumps({"ops": f"{sandbox}/webhooks/ops"}),
        "RESCIND_FILE_ROOTS": json.dumps({"app": str(stack.directory / "files" / "app")}),
        "RESCIND_SMTP": stack.services["mail"].address,
        "RESCIND_STRIPE_API_BASE": f"http://{stack.services['stripe'].address}",
        "RESCIND_STRIPE_API_KEY": STRIPE_KEY,
        "RESCIND_SANDBOX_ADMIN_URL": f"{sandbox}/admin",
        "RESCIND_S3_ENDPOINT": aws,
        "RESCIND_ECS_ENDPOINT": aws,
        "RESCIND_EC2_ENDPOINT": aws,
        "AWS_ENDPOINT_URL": aws,
        "AWS_ACCESS_KEY_ID": "stand-in",
        "AWS_SECRET_ACCESS_KEY": "stand-in",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }


def isolated(base: Mapping[str, str], directory: Path) -> dict[str, str]:
    """`base` without any setting that leads to something real, and with an empty file for each such file."""
    kept = {name: value for name, value in base.items() if not is_foreign(name)}
    empty = directory / "empty"
    empty.mkdir(parents=True, exist_ok=True)
    blank = empty / "blank"
    if not blank.exists():
        blank.touch(mode=0o600)
    return {
        **kept,
        **{name: str(blank) for name in BLANK_FILES},
        **{name: str(empty) for name in EMPTY_FOLDERS},
        "AWS_EC2_METADATA_DISABLED": "true",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "PGGSSENCMODE": "disable",
        "PGSSLMODE": "disable",
        "NO_PROXY": "*",
        "no_proxy": "*",
    }


@contextmanager
def only(settings: Mapping[str, str]) -> Generator[None]:
    """While it lasts, the process's environment is `settings` and nothing else; one thread at a time."""
    before = dict(os.environ)
    adopt(settings)
    try:
        yield
    finally:
        adopt(before)


def adopt(settings: Mapping[str, str]) -> None:
    """Makes `settings` the whole environment of this process and of what it starts from now on."""
    for name in os.environ.keys() - settings.keys():
        del os.environ[name]
    os.environ.update(settings)


def is_foreign(name: str) -> bool:
    """True for a variable that could lead to something real."""
    upper = name.upper()
    return upper.startswith(FOREIGN_PREFIXES) or upper.endswith(FOREIGN_SUFFIXES) or upper in FOREIGN


def require_stand_ins(settings: Mapping[str, str]) -> None:
    """Raises `NotLoopbackError` for the first address in `settings` that is not on this machine."""
    for name in ADDRESSES:
        value = settings.get(name)
        if not value:
            continue
        many = json.loads(value) if value.startswith("{") else {"": value}
        for alias, address in many.items():
            require_loopback(address, name=f"{name}[{alias}]" if alias else name)


def require_loopback(address: str, *, name: str = "The address") -> None:
    """Raises `NotLoopbackError` unless a URL, a DSN, `host:port` or a path stays on this machine.

    A host passes if all that it resolves to is loopback; one that does not resolve is refused.
    """
    if address.startswith("/"):
        return
    try:
        hosts = hosts_of(address)
    except Exception as error:  # noqa: BLE001 - whatever a parser says, an address that it can't read is refused
        raise NotLoopbackError(name, address, f"it cannot be read ({error})") from None
    if not hosts:
        raise NotLoopbackError(name, address, "it names no host")
    for host in hosts:
        if not host.startswith("/"):
            check_host(name, address, host)


def hosts_of(address: str) -> list[str]:
    """Every host or socket folder that the address names; libpq's own parser reads databases' addresses."""
    if "=" in address.partition("://")[0] or address.startswith(("postgresql://", "postgres://")):
        from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - slow, and every stand-in imports this

        named = conninfo_to_dict(address)
        listed = [str(named.get(key) or "") for key in ("host", "hostaddr")]
        return [host for hosts in listed for host in hosts.split(",") if host]
    parts = urlsplit(address if "://" in address else f"//{address}")
    if parts.scheme in ("file", "unix") and not parts.netloc:
        return [parts.path]
    place = parts.netloc.rpartition("@")[2]
    host = place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0]
    return [host] if host else []


def check_host(name: str, address: str, host: str) -> None:
    """Raises `NotLoopbackError` unless all that `host` resolves to is loopback."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        raise NotLoopbackError(name, address, f"{host} does not resolve") from None
    away = sorted(ip for ip in found if not ipaddress.ip_address(ip.partition("%")[0]).is_loopback)
    if away:
        raise NotLoopbackError(name, address, f"{host} is {', '.join(away)}, not this machine's loopback")
