"""Tools of the skill @NAME@."""

from gaia.agents.base.tools import tool


@tool
def @TOOL@(who: str, times: int = 1) -> dict:
    """Greet someone by name."""
    return {"greetings": [f"Hello, {who}!"] * times}
