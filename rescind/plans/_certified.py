"""Grades from the certificates that an application keeps beside its tools."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rescind.plans._entry import GradeOf, ProvenGrade


def certified(folder: Path) -> GradeOf:
    """Look grades up in a folder of certificates, which is read when the first one is asked for.

    A tool without a certificate is unverified; one with several has the worst of them.
    """

    @cache
    def grades() -> Mapping[str, ProvenGrade]:
        from rescind.testing import certified_grades, read_certificates  # noqa: PLC0415  (no run of a saga needs it)

        found = certified_grades(read_certificates(folder))
        return {name: ProvenGrade(grade.value) for name, grade in found.items()}

    return lambda tool: grades().get(tool, ProvenGrade.UNVERIFIED)
