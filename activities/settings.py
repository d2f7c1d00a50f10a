"""Addresses and secrets of the outside systems, read from the worker's environment and from nowhere else."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from rescind.evidence import Refused

T = TypeVar("T")


class Settings(BaseSettings):
    """What the tools reach; every field is read from `RESCIND_` and its name in upper case.

    A request only ever names an alias, so that no address and no secret gets into a history.

    Attributes:
        databases: PostgreSQL connection strings by alias; in the environment a JSON object.
        git_remotes: Git URLs or paths by alias; a JSON object. For https a password belongs into the
            worker's ~/.netrc or behind GIT_ASKPASS, for ssh the key into its agent.
        chat_webhooks: Slack-compatible webhook URLs by alias; a JSON object. The URL is the secret.
        s3_endpoint: The S3 endpoint; None is AWS.
        ecs_endpoint: The ECS endpoint; None is AWS.
        ec2_endpoint: The EC2 endpoint; None is AWS.
        docker_host: The Docker Engine's address.
        webhooks: URLs that other programs' events are posted to, by alias; a JSON object. The URL is the secret.
        file_roots: Folders below which files may be written, by alias; a JSON object of absolute paths.
        crm_url: Where the CRM's orders are.
        flights_url: Where flights are booked.
        hotels_url: Where hotel rooms are booked.
        sms_url: Where text messages are sent.
        payments_url: Where money is transferred.
        http_seconds: How long one request to these, to Stripe or to the mail server may take.
        stripe_api_base: Stripe's address; None is Stripe itself.
        stripe_api_key: The secret key for it.
        smtp: The mail server, as host:port.
        smtp_tls: Whether it speaks TLS from the first byte on; where it offers STARTTLS that is used anyway.
        smtp_username: Who logs in there; None is nobody. With a login TLS is insisted on.
        smtp_password: With which password.
        mail_sender: The address that mails come from; its domain is also that of their Message-IDs.
        operations_webhook: The chat webhook, by its alias, that is told of sagas that failed; None is none.
        operations_address: The mail address that is told of them; None is none.
    """

    model_config = SettingsConfigDict(
        env_ignore_empty=True, env_prefix="RESCIND_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    databases: dict[str, SecretStr] = Field(default_factory=dict)
    git_remotes: dict[str, str] = Field(default_factory=dict)
    chat_webhooks: dict[str, SecretStr] = Field(default_factory=dict)
    webhooks: dict[str, SecretStr] = Field(default_factory=dict)
    file_roots: dict[str, Annotated[str, Field(pattern=r"^/")]] = Field(default_factory=dict)
    s3_endpoint: str | None = None
    ecs_endpoint: str | None = None
    ec2_endpoint: str | None = None
    docker_host: str = "unix:///var/run/docker.sock"
    crm_url: str | None = None
    flights_url: str | None = None
    hotels_url: str | None = None
    sms_url: str | None = None
    payments_url: str | None = None
    http_seconds: float = Field(default=4.0, gt=0, le=8)
    stripe_api_base: str | None = None
    stripe_api_key: SecretStr | None = None
    smtp: str | None = Field(default=None, pattern=r"^.+:[0-9]+$")
    smtp_tls: bool = False
    smtp_username: str | None = None
    smtp_password: SecretStr | None = None
    mail_sender: str = Field(default="rescind@localhost", pattern=r"^[^\s@<>]+@[^\s@<>]+$")
    operations_webhook: str | None = None
    operations_address: str | None = Field(default=None, pattern=r"^[^\s@<>]+@[^\s@<>]+$")

    def database(self, alias: str) -> str:
        """The connection string of this database.

        Raises:
            Refused: This worker knows no such database.
        """
        return _named("database", "RESCIND_DATABASES", self.databases, alias).get_secret_value()

    def git_remote(self, alias: str) -> str:
        """The URL or path of this git remote.

        Raises:
            Refused: This worker knows no such remote.
        """
        return _named("git remote", "RESCIND_GIT_REMOTES", self.git_remotes, alias)

    def chat_webhook(self, alias: str) -> str:
        """The URL of this webhook.

        Raises:
            Refused: This worker knows no such webhook.
        """
        return _named("chat webhook", "RESCIND_CHAT_WEBHOOKS", self.chat_webhooks, alias).get_secret_value()

    def webhook(self, alias: str) -> str:
        """The URL of this webhook.

        Raises:
            Refused: This worker knows no such webhook.
        """
        return _named("webhook", "RESCIND_WEBHOOKS", self.webhooks, alias).get_secret_value()

    def file_root(self, alias: str) -> str:
        """The absolute path of this folder.

        Raises:
            Refused: This worker knows no such folder.
        """
        return _named("folder", "RESCIND_FILE_ROOTS", self.file_roots, alias)

    def required(self, field: str) -> str:
        """A field that is not set for every worker, as text.

        Raises:
            Refused: It is not set for this one.
        """
        value: str | SecretStr | None = getattr(self, field)
        if value is None:
            raise Refused(
                f"this worker was not told RESCIND_{field.upper()}. Nothing was sent anywhere. Set it and restart "
                "the worker"
            )
        return value.get_secret_value() if isinstance(value, SecretStr) else value


def settings() -> Settings:
    """The settings as the environment says at this moment; they are cheap to read, so nothing is kept.

    Raises:
        Refused: A variable does not have the form it has to have. Its value is not shown.
    """
    try:
        return Settings()
    except ValidationError as error:
        fields = sorted({f"RESCIND_{str(each['loc'][0]).upper()}" for each in error.errors()})
        wrong = ", ".join(fields)
    except SettingsError as error:
        wrong = str(error)
    raise Refused(
        f"this worker's environment is not usable: {wrong}. Nothing was sent anywhere. Write maps as "
        'JSON, for example RESCIND_GIT_REMOTES={"app": "git@example.com:app.git"}, and restart the worker'
    )


def _named(kind: str, variable: str, known: Mapping[str, T], alias: str) -> T:
    if alias in known:
        return known[alias]
    aliases = ", ".join(sorted(known)) or "none"
    raise Refused(
        f"this worker knows no {kind} {alias!r} (known: {aliases}). Nothing was sent anywhere. "
        f"Name a known one, or add it to {variable} and restart the worker"
    )
