"""What stuck, doubtful and irrevocable effects come to: alerted, answered by people, and closed in the ledger."""

import asyncio

from temporalio.client import WorkflowExecutionStatus, WorkflowUpdateFailedError

from rescind import Outcome, RecordState, SagaState
from rescind._workflow import deepest
from rescind.reconciliation import Answer, Severity
from tests.rescind.reconciliation.desk import Desk
from tests.rescind.toy_workflows import Plan
from tests.rescind.toy_world import World

B = "make_thing#2"


def stuck(world: World, *, fails: int = 3) -> Plan:
    """A plan whose second thing can't be unmade so many times."""
    world.plan["unmake b"] = ["fail"] * fails
    return Plan(world=world.name, things=["a", "b"], fail=True)


async def test_a_compensation_that_keeps_failing_is_told_and_resumed(desk: Desk, world: World) -> None:
    """It is stuck, visible and alerted; what was before it is undone meanwhile; a person's retry ends it clean."""
    handle = await desk.left_behind(stuck(world))
    assert list(world.things) == ["b"]
    (alert,) = await desk.alerts(handle, 1)
    assert (alert.severity, alert.reference, alert.error) == (Severity.HIGH, handle.id, "planned failure")
    assert [(line.step, line.how) for line in alert.effects] == [(B, "undo failed")]
    assert "the provider is away" in alert.text
    found = [
        each.id
        async for each in desk.client.list_workflows(
            f"RescindSaga = '{desk.saga(handle)}' AND RescindSeverity = 'high'"
        )
    ]
    assert found == [desk.reconciliation(handle).id]
    answer = await desk.say(handle, "retry", B, note="the provider is back")
    assert (answer.state, answer.words) == (RecordState.UNDONE, "undone: exact; retry by anna")
    assert (await desk.ended(handle)).closed == {B: "undone: exact; retry by anna"}
    assert world.things == {}
    view, report = await desk.view(handle), await desk.shown(handle)
    assert (view.state, report.outcome, report.left) == (SagaState.CLOSED, Outcome.UNDONE, [])
    assert view.report == report.model_dump(mode="json")
    (said,) = await desk.journal(handle, "resolve")
    assert (said["who"], said["verdict"], said["note"]) == ("anna", "retry", "the provider is back")
    last = (await desk.alerts(handle, 2))[-1]
    assert (last.number, last.headline) == (0, f"{handle.id}: nothing is open any more")


async def test_the_details_in_the_web_ui(desk: Desk, world: World) -> None:
    """They say what is open, since when, what is known and what to do, in a table."""
    handle = await desk.left_behind(stuck(world))
    await desk.alerts(handle, 1)
    described = await desk.reconciliation(handle).describe()
    assert await described.static_summary() == f"{handle.id} needs a person"
    details = await desk.details(handle)
    assert "| step | what | state | since (UTC) | what is known | what to do |" in details
    assert "the provider is away" in details
    await desk.say(handle, "waive", B, note="the test is over")


async def test_the_provider_is_down_for_the_undo(hasty: Desk, world: World) -> None:
    """An alert; when the provider is back the undo succeeds by itself, after its lookup was asked; and again."""
    handle = await hasty.left_behind(stuck(world, fails=5))
    assert [alert.number for alert in await hasty.alerts(handle, 1)] == [1]
    await hasty.ended(handle)
    assert world.things == {}
    assert world.log.count("unmake b") == 6
    assert world.log[-2:] == ["find b", "unmake b"]
    assert (await hasty.view(handle)).state is SagaState.CLOSED
    assert (await hasty.view(handle)).effects[1].undo_try == 6


async def test_it_was_taken_away_by_hand_while_the_undo_fails(hasty: Desk, world: World) -> None:
    """The lookup finds nothing of it any more, so it is undone with nothing, and the compensation is not called."""
    handle = await hasty.left_behind(stuck(world, fails=99))
    del world.things["b"]
    assert "its lookup finds nothing of it any more" in (await hasty.ended(handle)).closed[B]
    (_, effect) = (await hasty.view(handle)).effects
    assert (effect.state, effect.restoration) == (
        RecordState.UNDONE,
        {"grade": "nothing", "detail": "its lookup finds nothing of it any more"},
    )
    assert (await hasty.shown(handle)).outcome is Outcome.UNDONE


async def test_it_is_alerted_again_on_a_schedule(hasty: Desk, world: World) -> None:
    """A second alert comes after the first wait, with its own key; a channel that never works holds up nothing."""
    handle = await hasty.left_behind(stuck(world, fails=999))
    first, second = await hasty.alerts(handle, 2)
    assert (first.number, second.number) == (1, 2)
    assert first.key != second.key
    assert "Not told by broken" in await hasty.details(handle)
    await hasty.say(handle, "waive", B, note="the test is over")
    await hasty.ended(handle)
    assert [alert.number for alert in await hasty.alerts(handle, 3)] == [1, 2, 0]


async def test_a_channel_that_is_away_for_a_while(desk: Desk, world: World) -> None:
    """It is tried again, and told once."""
    handle = await desk.held_back(world)
    desk.posts.troubles[handle.id] = 2
    world.things["b"] = "somebody else"
    await desk.let_fail(handle)
    (alert,) = await desk.alerts(handle, 1)
    assert desk.posts.refused.count(handle.id) == 2
    assert alert.number == 1
    await desk.say(handle, "waive", B, note="the test is over")
    await desk.ended(handle)


async def test_a_conflict(desk: Desk, world: World) -> None:
    """Nothing is destroyed and nothing tried by itself; a waived effect stays, is on record, and is never clean."""
    handle = await desk.conflict(world)
    (alert,) = await desk.alerts(handle, 1)
    assert [line.how for line in alert.effects] == ["conflict"]
    answer = await desk.say(handle, "waive", B, note="they keep it")
    assert answer.words == "left standing by anna: they keep it"
    await desk.ended(handle)
    assert world.things == {"b": "somebody else"}
    view, report = await desk.view(handle), await desk.shown(handle)
    assert (view.state, report.outcome) == (SagaState.CLOSED, Outcome.LEFT)
    assert [step.step for step in report.left] == [B]
    assert view.report == report.model_dump(mode="json")
    (summary,) = await desk.ledger.sagas(view.id)
    assert (summary.standing, summary.left_standing) == (0, 1)


async def test_a_conflict_is_not_tried_by_itself(hasty: Desk, world: World) -> None:
    """A person must decide: its lookup and its undo are left alone until one says retry."""
    handle = await hasty.conflict(world)
    await hasty.alerts(handle, 2)  # three seconds, in which a failed undo would be tried three times
    assert world.log.count("unmake b") == 1
    del world.things["b"]
    answer = await hasty.say(handle, "retry", B)
    assert answer.words == "undone: nothing (it was gone already); retry by anna"
    await hasty.ended(handle)
    assert (await hasty.view(handle)).state is SagaState.CLOSED


async def test_a_retry_that_meets_the_conflict_again(desk: Desk, world: World) -> None:
    """It is still open, says why, and can be retried as often as people like."""
    handle = await desk.conflict(world)
    for _ in range(4):
        answer = await desk.say(handle, "retry", B)
        assert (answer.state, "somebody else's now" in answer.words) == (RecordState.STUCK, True)
    assert await desk.status_of_reconciliation(handle) is WorkflowExecutionStatus.RUNNING
    assert world.things == {"b": "somebody else"}
    world.things["b"] = next(iter(world.keys["b"]))
    assert (await desk.say(handle, "retry", B)).state is RecordState.UNDONE
    await desk.ended(handle)
    assert world.things == {}


async def test_resolved_by_hand(desk: Desk, world: World) -> None:
    """The lookup agrees, and the saga is closed and undone."""
    handle = await desk.conflict(world)
    del world.things["b"]
    answer = await desk.say(handle, "resolve", B, note="deleted it")
    assert (answer.state, answer.words, answer.disagreement) == (
        RecordState.RESOLVED,
        "resolved by anna: deleted it",
        None,
    )
    await desk.ended(handle)
    report = await desk.shown(handle)
    assert (report.outcome, report.left) == (Outcome.UNDONE, [])
    (said,) = await desk.journal(handle, "resolve")
    assert said["seen"] == {"words": "its lookup finds nothing of it", "disagrees": False}


async def test_a_lookup_that_disagrees_with_resolve(desk: Desk, world: World) -> None:
    """The word is taken, and the disagreement is in the answer, in the journal and in the report: not clean."""
    handle = await desk.left_behind(stuck(world))
    answer = await desk.say(handle, "resolve", B, note="deleted it")
    assert answer.disagreement == "its lookup still finds it"
    await desk.ended(handle)
    (said,) = await desk.journal(handle, "resolve")
    assert said["seen"] == {"words": "its lookup still finds it", "disagrees": True}
    report = await desk.shown(handle)
    assert report.outcome is Outcome.LEFT
    assert "but its lookup still finds it" in str(report.steps[1].restoration)


def doubtful(world: World) -> Plan:
    """A plan whose second thing is made at a provider that can't be asked, and the reply is lost."""
    world.plan["make b"] = ["lose_reply"]
    return Plan(world=world.name, things=["a", "b"], tool="toy.make_blind")


async def test_in_doubt_and_confirmed(desk: Desk, world: World) -> None:
    """A person says that it took effect, with its result; it is compensated, and the saga is closed clean."""
    handle = await desk.left_behind(doubtful(world))
    (alert,) = await desk.alerts(handle, 1)
    assert "check with the provider" in alert.effects[0].known
    answer = await desk.say(handle, "confirm", "make_blind#2", result={"name": "b"})
    assert answer.state is RecordState.UNDONE
    await desk.ended(handle)
    assert world.things == {}
    assert (await desk.view(handle)).state is SagaState.CLOSED
    assert (await desk.shown(handle)).outcome is Outcome.UNDONE


async def test_in_doubt_and_absent(desk: Desk, world: World) -> None:
    """A person says that it took no effect; nothing is called for it."""
    handle = await desk.left_behind(doubtful(world))
    answer = await desk.say(handle, "absent", "make_blind#2", note="asked them")
    assert answer.words == "declared absent by anna: asked them"
    await desk.ended(handle)
    assert "unmake b" not in world.log
    assert (await desk.view(handle)).state is SagaState.CLOSED


async def test_in_doubt_until_the_lookup_can_tell(hasty: Desk, world: World) -> None:
    """Nobody guesses; the lookup is asked again by itself, and what it finds is undone."""
    world.plan["make a"], world.plan["find a"] = ["lose_reply"], ["fail"] * 5
    handle = await hasty.left_behind(Plan(world=world.name, things=["a"]))
    await hasty.ended(handle)
    assert world.things == {}
    assert (await hasty.view(handle)).state is SagaState.CLOSED


async def test_absent_against_the_lookup(desk: Desk, world: World) -> None:
    """It is refused, since it would be called clean; confirming needs no result then."""
    world.plan["make a"], world.plan["find a"] = ["lose_reply"], ["fail"] * 2
    handle = await desk.left_behind(Plan(world=world.name, things=["a"]))
    why = await desk.refused(handle, "absent", {"step": "make_thing#1", "who": "anna"})
    assert why == (
        "make_thing#1 can't be declared absent: its lookup finds it. Say confirm, and it is undone. Nothing was changed"
    )
    assert (await desk.say(handle, "confirm", "make_thing#1")).state is RecordState.UNDONE
    await desk.ended(handle)
    assert world.things == {}


async def test_a_point_of_no_return_stands(desk: Desk, world: World) -> None:
    """It is critical, can't be retried, and a person closes it; what can be undone was."""
    plan = Plan(world=world.name, things=["a"], tell="hello", approved=["toy.tell_world"], fail=True)
    handle = await desk.left_behind(plan)
    (alert,) = await desk.alerts(handle, 1)
    assert (alert.severity, alert.effects[0].how) == (Severity.CRITICAL, "no undo")
    why = await desk.refused(handle, "retry", {"step": "tell_world#1", "who": "anna"})
    assert "retry does not fit tell_world#1, which is stuck (no undo); possible: resolve, waive" in why
    await desk.say(handle, "resolve", "tell_world#1", note="told them that it was a mistake")
    await desk.ended(handle)
    assert (await desk.view(handle)).state is SagaState.CLOSED
    assert list(world.things) == ["hello"]


async def test_in_doubt_and_confirmed_at_a_point_of_no_return(desk: Desk, world: World) -> None:
    """Nothing can undo it, so it is open still, for a person to make good."""
    world.plan["tell hello"] = ["lose_reply"]
    plan = Plan(world=world.name, things=["a"], tell="hello", approved=["toy.tell_world"])
    handle = await desk.left_behind(plan)
    answer = await desk.say(handle, "confirm", "tell_world#1", result={"name": "hello"})
    assert (answer.state, "point of no return" in answer.words) == (RecordState.STUCK, True)
    await desk.say(handle, "waive", "tell_world#1", note="let it be")
    await desk.ended(handle)
    assert (await desk.shown(handle)).outcome is Outcome.LEFT


REFUSED: list[tuple[str, object, str]] = [
    ("retry", "nonsense", "retry takes one JSON object"),
    ("retry", None, "retry takes one JSON object"),
    ("retry", {"step": B}, "who: Field required"),
    ("retry", {"step": B, "who": "  "}, "who: "),
    ("retry", {"step": B, "who": 7}, "who: Input should be a valid string"),
    ("retry", {"step": B, "who": "anna", "why": "x"}, "why: Extra inputs are not permitted"),
    ("resolve", {"step": B, "who": "anna"}, "resolve needs a note"),
    ("waive", {"step": B, "who": "anna"}, "waive needs a note"),
    ("waive", {"step": B, "who": "anna", "note": "x", "result": {}}, "waive takes no result"),
    ("retry", {"step": "thing#9", "who": "anna"}, f"no open step is called 'thing#9'; open: {B}"),
    ("confirm", {"step": B, "who": "anna"}, f"confirm does not fit {B}, which is stuck (conflict)"),
    ("absent", {"step": B, "who": "anna"}, "possible: retry, resolve, waive. Nothing was changed"),
]


async def test_words_that_are_refused(desk: Desk, world: World) -> None:
    """Malformed ones and such that do not fit are answered with what is wrong and what is possible; nothing changes."""
    handle = await desk.conflict(world)
    await desk.alerts(handle, 1)
    for verb, word, why in REFUSED:
        assert why in await desk.refused(handle, verb, word), (verb, word)
    assert await desk.open(handle) == [B]
    assert await desk.journal(handle, "resolve") == []
    await desk.say(handle, "waive", B, note="the test is over")


async def test_a_result_that_is_none(desk: Desk, world: World) -> None:
    """A confirmed result is checked against the tool's model; none at all is asked for where there is no lookup."""
    handle = await desk.left_behind(doubtful(world))
    word = {"step": "make_blind#2", "who": "anna"}
    why = await desk.refused(handle, "confirm", word | {"result": {"nonsense": 1}})
    assert "the result is no Thing: name: Field required" in why
    assert "confirm needs the result of make_blind#2" in await desk.refused(handle, "confirm", word)
    assert "possible: confirm, absent, resolve, waive" in await desk.refused(handle, "retry", word)
    assert await desk.states(handle) == ["undone", "in_doubt"]
    await desk.say(handle, "waive", "make_blind#2", note="the test is over")


async def test_two_people_at_once(desk: Desk, world: World) -> None:
    """One is heard; the other is told what the first did, and has changed nothing."""
    handle = await desk.left_behind(stuck(world))
    await desk.alerts(handle, 1)
    answers = await asyncio.gather(
        desk.say(handle, "waive", B, note="keep it"),
        desk.say(handle, "resolve", B, who="bert", note="deleted"),
        return_exceptions=True,
    )
    refused = [each for each in answers if isinstance(each, WorkflowUpdateFailedError)]
    taken = [each for each in answers if isinstance(each, Answer)]
    assert (len(refused), len(taken)) == (1, 1), answers
    assert deepest(refused[0].cause) == f"{B} is not open any more: {taken[0].words}. Nothing was changed"
    assert len(await desk.journal(handle, "resolve")) == 1
    await desk.ended(handle)
