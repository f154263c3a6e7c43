"""Prints the verdict of the reference validator `skills-ref` for each skill.

The tests compare these verdicts with `prowess check --dialect agent-skills
--strict`. Reads one skill directory per line on stdin and prints one JSON
object per line, in the same order:

    {"path": "...", "errors": ["...", ...]}

An empty list means valid. A file the reference cannot parse has exactly one
entry. Where the reference raises instead of reporting, the entry starts with
"Crash: " and names the exception.
"""

import json
import sys
from pathlib import Path

from skills_ref import validate


def verdict(directory: str) -> list[str]:
    """Return the reference's messages for one skill directory.

    validate() reports parse errors as a message, but lets some exceptions
    escape: invalid UTF-8, control characters, collections as mapping keys,
    deep nesting. They become one entry, so that a bad file never ends the run.
    """
    try:
        return validate(Path(directory))
    except Exception as error:
        return [f"Crash: {type(error).__name__}: {error}"]


def main() -> None:
    # Bytes that are not UTF-8 in a path must survive the trip to the file system.
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    for line in sys.stdin:
        directory = line.rstrip("\n")
        if not directory:
            continue
        # ASCII output: the result does not depend on the locale of the caller.
        record = {"path": directory, "errors": verdict(directory)}
        print(json.dumps(record))


if __name__ == "__main__":
    main()
