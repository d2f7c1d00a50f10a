"""The catalogue: what the declaration's validation could be led around is refused at registration."""

from typing import Any, cast

import pytest
from temporalio import activity

from rescind import Call, Catalogue, Receipt, RescindPlugin, Restoration, Risk, Tool, ToolRefused
from tests.rescind import contract_tools as wall

PAINT = Tool(
    name="wall.paint",
    description="Paint a wall; the paint is taken off again.",
    forward=wall.paint,
    compensate=wall.unpaint,
    lookup=wall.find_paint,
    is_reversible=True,
)


@activity.defn
async def repaint(call: Call[wall.Paint]) -> wall.Painted:
    """Paint once more."""
    return await wall.paint(call)


@activity.defn(name="paint")
async def paint_of_the_same_name(call: Call[wall.Paint]) -> wall.Painted:
    """Another activity that is called `paint`."""
    return await wall.paint(call)


@activity.defn(name="paint")
async def unpaint_of_the_same_name(receipt: Receipt[wall.Paint, wall.Painted]) -> Restoration:
    """A compensation that is called like its forward."""
    return await wall.unpaint(receipt)


def refusal(*tools: object) -> str:
    """The words in which these tools are refused."""
    with pytest.raises(ToolRefused) as refused:
        Catalogue(cast("Any", tools))
    return str(refused.value)


def test_a_catalogue_of_sound_tools() -> None:
    """It answers by name, and knows nothing else."""
    catalogue = Catalogue([PAINT])
    assert catalogue["wall.paint"] == PAINT
    assert [tool.name for tool in catalogue] == ["wall.paint"]
    assert "wall.paint" in catalogue
    assert "wall.wash" not in catalogue
    assert len(catalogue) == 1
    with pytest.raises(KeyError):
        catalogue["wall.wash"]


def test_a_tool_made_with_model_construct() -> None:
    """It has skipped every check, and is checked now."""
    construct: Any = Tool[wall.Paint, wall.Painted].model_construct
    assert refusal(construct(name="wall.paint", description="Paint.", forward=wall.paint)) == (
        "the tool 'wall.paint' breaks the contract:\n"
        "  - it can't be undone and its risk is medium; a point of no return has a risk of Risk.HIGH or "
        "Risk.CRITICAL, so that a person is asked"
    )
    assert refusal(construct(description="Paint.")) == (
        "the tool '?' breaks the contract:\n  - name: Field required\n  - forward: Field required"
    )


def test_a_tool_changed_with_model_copy() -> None:
    """The copy is checked now; a misspelt part is not dropped in silence."""
    assert refusal(PAINT.model_copy(update={"is_reversible": False, "risk": Risk.HIGH})) == (
        "the tool 'wall.paint' breaks the contract:\n"
        "  - it has a compensate activity and is not declared reversible, and that is declared, never derived; write "
        "is_reversible=True, or take compensate away"
    )
    assert refusal(PAINT.model_copy(update={"reversible": False})) == (
        "the tool 'wall.paint' breaks the contract:\n  - reversible: Extra inputs are not permitted"
    )


def test_the_plugin_refuses_before_there_is_a_client() -> None:
    """The same checks run when the plugin is made, before any worker starts."""
    broken = PAINT.model_copy(update={"description": ""})
    with pytest.raises(ToolRefused, match="its description is empty"):
        RescindPlugin([broken], ledger="postgresql://nowhere.invalid/ledger")


def test_something_that_is_no_tool() -> None:
    """A function in the list is named, not unpacked."""
    assert refusal("wall.paint") == (
        "the tool '?' breaks the contract:\n"
        "  - 'wall.paint' is no Tool; write Tool(...) and put that into the catalogue"
    )


def test_two_tools_of_one_name() -> None:
    """The ledger could not tell them apart."""
    again = Tool(name="wall.paint", description="Paint once more.", forward=repaint, risk=Risk.HIGH)
    assert refusal(PAINT, again) == (
        "the tool 'wall.paint' breaks the contract:\n"
        "  - another tool has this name; the ledger could not tell them apart"
    )


def test_two_activities_of_one_name() -> None:
    """Whether they are of two tools or of one, the refusal says whose name it is."""
    other = Tool(name="wall.repaint", description="Repaint.", forward=paint_of_the_same_name, risk=Risk.HIGH)
    assert refusal(PAINT, other) == (
        "the tool 'wall.repaint' breaks the contract:\n"
        "  - its activity 'paint' has the name of one of 'wall.paint'; write @activity.defn(name=...)"
    )
    itself = PAINT.model_copy(update={"compensate": unpaint_of_the_same_name})
    assert refusal(itself) == (
        "the tool 'wall.paint' breaks the contract:\n"
        "  - its activity 'paint' has the name of another activity of its own; write @activity.defn(name=...)"
    )
