"""Text of others as a person has to see it: nothing in it can move the cursor, hide or turn what stands beside it."""

import unicodedata

_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode without a picture of their own: control and format characters, separators of lines."""


def visible(text: str) -> str:
    """The text with such characters as escapes; new lines stay."""
    return "".join(
        f"\\u{ord(each):04x}" if each != "\n" and unicodedata.category(each) in _HIDING else each
        for each in text
    )
