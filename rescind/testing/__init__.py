"""For people with tools of their own: the laws that a tool keeps, tried on it, and a certificate of what was seen."""

from rescind.testing._certificate import (
    Certificate,
    CertifiedGrade,
    LawsBroken,
    certified_grades,
    read_certificates,
)
from rescind.testing._check import check_tool
from rescind.testing._laws import Law, LawOutcome, Verdict
from rescind.testing._postgres import own_database
from rescind.testing._stopping import NoTestLedger
from rescind.testing._world import (
    Described,
    Disturbed,
    Meaningful,
    Prepared,
    Removable,
    Resettable,
    World,
)

__all__ = [
    "Certificate",
    "CertifiedGrade",
    "Described",
    "Disturbed",
    "Law",
    "LawOutcome",
    "LawsBroken",
    "Meaningful",
    "NoTestLedger",
    "Prepared",
    "Removable",
    "Resettable",
    "Verdict",
    "World",
    "certified_grades",
    "check_tool",
    "own_database",
    "read_certificates",
]
