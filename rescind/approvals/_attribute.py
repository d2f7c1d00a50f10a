"""The search attribute by which sagas that wait for people are found."""

from temporalio.common import SearchAttributeKey

WAITS_FOR = SearchAttributeKey.for_keyword("RescindWaitsFor")
APPROVAL = "approval"
