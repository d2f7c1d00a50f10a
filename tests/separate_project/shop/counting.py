"""The shop's own interceptor: it counts what its workers run."""

from collections import Counter
from typing import Any

from temporalio import activity, client, worker


class Counting(client.Interceptor, worker.Interceptor):
    """Counts activities by their names."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()

    def intercept_activity(
        self,
        next: worker.ActivityInboundInterceptor,  # noqa: A002  (Temporal's own parameter name)
    ) -> worker.ActivityInboundInterceptor:
        """See base class."""
        return _Counted(next, self.ran)


class _Counted(worker.ActivityInboundInterceptor):
    def __init__(self, following: worker.ActivityInboundInterceptor, ran: Counter[str]) -> None:
        super().__init__(following)
        self._ran = ran

    async def execute_activity(
        self,
        input: worker.ExecuteActivityInput,  # noqa: A002  (Temporal's own parameter name)
    ) -> Any:
        """See base class."""
        self._ran[activity.info().activity_type] += 1
        return await super().execute_activity(input)
