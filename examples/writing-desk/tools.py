import re

from gaia.agents.base.tools import tool


@tool
def file_name(title: str) -> dict:
    """Make a file name of a title."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return {"name": "-".join(words)[:60] + ".md"}
