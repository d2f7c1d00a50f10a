"""The tool that transfers money; it can't be called back."""

from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from temporalio import activity

from activities._http import ask, read_fresh
from activities.settings import settings
from rescind import Absent, Applied, Call, Repeat, Request, Result, Risk, Tool, Unknown
from rescind.evidence import Refused
from rescind.evidence.http import proves

_BANK = "the bank"
_Account = Annotated[str, Field(pattern=r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{4,30}$")]


class TransferMoney(Request):
    """Transfer an amount, in the currency's smallest unit, from one account to another; both are IBANs."""

    source: _Account
    target: _Account
    amount: Annotated[int, Field(ge=1, le=100_000_000)]
    currency: Annotated[str, Field(pattern=r"^[a-z]{3}$")] = "eur"
    purpose: Annotated[str, Field(min_length=1, max_length=140)]


class Transfer(Result):
    """A transfer that the bank has made."""

    transfer: str
    amount: int
    currency: str


class _Made(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str
    amount: int
    currency: str


class _Funds(BaseModel):
    model_config = ConfigDict(extra="ignore")

    available: bool


@activity.defn
async def transfer_money(call: Call[TransferMoney]) -> Transfer:
    """Transfer it; the bank transfers once for each key, however often it is asked."""
    headers = {"Idempotency-Key": call.key}
    answer = await ask(_BANK, "POST", _url(), json=call.request.model_dump(), headers=headers)
    return _transfer(answer.read(_Made))


@activity.defn
async def find_transfer(call: Call[TransferMoney]) -> Applied[Transfer] | Absent | Unknown:
    """Ask the bank for the transfer with the call's key."""
    answer = await read_fresh(_BANK, _url("by-key", call.key), expected=(200, 404))
    return Applied(result=_transfer(answer.read(_Made))) if answer.status == 200 else Absent()


@activity.defn
async def funds_are_there(call: Call[TransferMoney]) -> None:
    """Ask the bank whether the source has the amount now; people may have thought about it for a day."""
    wanted = call.request
    answer = await read_fresh(_BANK, _funds_url(wanted.source), params={"amount": str(wanted.amount)})
    if not answer.read(_Funds).available:
        raise Refused(f"{wanted.source} has less than {wanted.amount} {wanted.currency} by now")


TRANSFER_MONEY: Tool[TransferMoney, Transfer] = Tool(
    name="payments.transfer",
    description="Transfer money from one bank account to another. It can't be taken back.",
    forward=transfer_money,
    lookup=find_transfer,
    check=funds_are_there,
    risk=Risk.CRITICAL,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=10),
    late_for=timedelta(seconds=3),
    proves=proves,
)


def _url(*parts: str) -> str:
    return "/".join((_base(), "transfers", *(quote(part, safe="") for part in parts)))


def _funds_url(account: str) -> str:
    return f"{_base()}/accounts/{quote(account, safe='')}/funds"


def _base() -> str:
    return settings().required("payments_url").rstrip("/")


def _transfer(made: _Made) -> Transfer:
    return Transfer(transfer=made.id, amount=made.amount, currency=made.currency)
