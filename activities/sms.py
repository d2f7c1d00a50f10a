"""The tool that sends a text message; it can't be called back."""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from temporalio import activity

from activities._http import ask
from activities.settings import settings
from rescind import Call, Repeat, Request, Result, Risk, Tool
from rescind.evidence.http import proves


class SendSms(Request):
    """Send a text message to one number, written as +491701234567."""

    to: Annotated[str, Field(pattern=r"^\+[1-9][0-9]{6,14}$")]
    text: Annotated[str, Field(min_length=1, max_length=1_000)]


class Sms(Result):
    """A text message that the provider has taken."""

    message: str
    to: str


class _Taken(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str


@activity.defn
async def send_sms(call: Call[SendSms]) -> Sms:
    """Send it; the provider sends once for each key, however often it is asked."""
    url = f"{settings().required('sms_url').rstrip('/')}/messages"
    headers = {"Idempotency-Key": call.key}
    answer = await ask("the SMS provider", "POST", url, json=call.request.model_dump(), headers=headers)
    return Sms(message=answer.read(_Taken).id, to=call.request.to)


SEND_SMS: Tool[SendSms, Sms] = Tool(
    name="sms.send",
    description="Send a text message to a phone number. It can't be taken back.",
    forward=send_sms,
    risk=Risk.CRITICAL,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=10),
    late_for=timedelta(seconds=3),
    proves=proves,
)
