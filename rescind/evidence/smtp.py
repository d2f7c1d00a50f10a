"""What aiosmtplib's errors prove: until the message is sent nothing has happened, from its final dot on nobody knows.

Sources: RFC 5321, 4.2.1 (4yz: try again; 5yz: do not) and 4.5.3.2.6 (a reply to the final dot that is late makes
duplicates); RFC 1047 (a server may have the message although its reply was lost); aiosmtplib's `protocol.py`,
whose one error for DATA does not say whether DATA or the dot was answered.
"""

import aiosmtplib

from rescind.evidence._core import NOTHING, REFUSED, Evidence

_BEFORE_THE_MESSAGE = (
    aiosmtplib.SMTPConnectError,  # refused, no such name, no greeting, or one that says no
    aiosmtplib.SMTPHeloError,
    aiosmtplib.SMTPAuthenticationError,
    aiosmtplib.SMTPSenderRefused,
    aiosmtplib.SMTPRecipientRefused,
    aiosmtplib.SMTPRecipientsRefused,
    aiosmtplib.SMTPNotSupported,
)


def proves(error: BaseException) -> Evidence | None:
    """What an error of aiosmtplib proves wherever in the session it came; None is nothing.

    A reply to the final dot proves nothing, a refusal neither: a server that has stored the message
    may fail after that, and the message arrives all the same.
    """
    return proves_unsent(error) if isinstance(error, _BEFORE_THE_MESSAGE) else None


def proves_unsent(error: aiosmtplib.SMTPException) -> Evidence:
    """What an error proves that came before the message was sent: always that nothing happened."""
    if isinstance(error, aiosmtplib.SMTPNotSupported):
        return REFUSED
    return REFUSED if any(500 <= code < 600 for code in _codes(error)) else NOTHING


def _codes(error: aiosmtplib.SMTPException) -> list[int]:
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        return [each.code for each in error.recipients]
    return [error.code] if isinstance(error, aiosmtplib.SMTPResponseException) else []
