"""The shop's own encryption of everything that Temporal keeps."""

import os
from collections.abc import Sequence

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec

ENCODING = b"binary/encrypted"
_KEY = bytes(range(32))
"""A key for this test's recorded histories; there is nothing to protect."""


class Encrypting(PayloadCodec):
    """AES-GCM over whole payloads."""

    def __init__(self) -> None:
        self._cipher = AESGCM(_KEY)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt."""
        return [self._encrypted(each.SerializeToString()) for each in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt what is encrypted."""
        return [self._decrypted(each) if each.metadata["encoding"] == ENCODING else each for each in payloads]

    def _encrypted(self, plain: bytes) -> Payload:
        nonce = os.urandom(12)
        return Payload(metadata={"encoding": ENCODING}, data=nonce + self._cipher.encrypt(nonce, plain, None))

    def _decrypted(self, payload: Payload) -> Payload:
        return Payload.FromString(self._cipher.decrypt(payload.data[:12], payload.data[12:], None))


CONVERTER = DataConverter(
    payload_codec=Encrypting(), failure_converter_class=DefaultFailureConverterWithEncodedAttributes
)
