"""Finds the statements of an SQL text, and those among them that can't be part of a transaction."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | --[^\n\r]*)
  | (?P<comment>/\*)
  | (?P<quoted>[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
              | (?P<tag>\$(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?\$).*?(?P=tag))
  | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*)
  | (?P<end>;)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_OUTSIDE = re.compile(
    r"""
    (BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|VACUUM|COPY)\b
  | PREPARE\ TRANSACTION\b | ALTER\ SYSTEM\b | (CREATE|DROP)\ (DATABASE|TABLESPACE|SUBSCRIPTION)\b
  | ALTER\ (DATABASE|SUBSCRIPTION)\b | REINDEX\ (.*\ )?(SCHEMA|DATABASE|SYSTEM|CONCURRENTLY)\b
  | (CREATE|DROP)\ (UNIQUE\ )?INDEX\ CONCURRENTLY\b | ALTER\ TABLE\ .*\ CONCURRENTLY\b
    """,
    re.VERBOSE,
)


def statements(text: str) -> Iterator[str]:
    """The statements as their bare words in upper case, without strings, comments and punctuation."""
    words: list[str] = []
    depth = 0
    for word in _words(text):
        depth = _depth(depth, words, word)
        if word != ";":
            words.append(word)
        elif depth == 0:
            yield " ".join(words)
            words = []
    yield " ".join(words)


def outside_transactions(text: str) -> list[str]:
    """The beginnings of all statements that can't be part of a transaction, or would end it."""
    return [" ".join(found.split()[:4]) for found in statements(text) if _OUTSIDE.match(found)]


def _depth(depth: int, before: list[str], word: str) -> int:
    """How deep a word leaves us in the BEGIN ATOMIC ... END of a function, whose semicolons end no statement."""
    if word == "ATOMIC" and before[:1] == ["CREATE"] and before[-1] == "BEGIN":
        return depth + 1
    if depth and word == "CASE":
        return depth + 1
    return depth - 1 if depth and word == "END" else depth


def _words(text: str) -> Iterator[str]:
    at = 0
    while found := _TOKEN.match(text, at):
        at = found.end()
        if found["comment"]:
            at = _comment_end(text, at)
        elif found["word"]:
            yield found["word"].upper()
        elif found["end"]:
            yield ";"
        elif found["quoted"]:
            yield "?"


def _comment_end(text: str, at: int) -> int:
    """Where a comment ends whose opening is just before; PostgreSQL's comments nest."""
    depth = 1
    for found in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return at + found.end()
    return len(text)
