"""Times the reference validator `skills-ref` on many skills in one process.

Run by `cargo xtask bench check` with an interpreter that has `skills-ref`
installed. Reads one skill directory per line on stdin and prints one JSON
object:

    {"files": N, "valid": N, "cpu_seconds": X, "wall_seconds": X}

Both clocks cover the validate() calls alone. Starting Python and importing
the library are left out, which favours the reference.
"""

import json
import sys
import time
from pathlib import Path

from skills_ref import validate


def is_valid(directory: Path) -> bool:
    """Say whether the reference accepts the skill in `directory`.

    validate() lets some exceptions escape on bad input: invalid UTF-8,
    control characters, deep nesting. Such a file counts as invalid and the
    run goes on.
    """
    try:
        return not validate(directory)
    except Exception:
        return False


def main() -> None:
    # Bytes that are not UTF-8 in a path must survive the trip to the file system.
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    lines = (line.rstrip("\n") for line in sys.stdin)
    directories = [Path(line) for line in lines if line]

    wall = time.perf_counter()
    cpu = time.process_time()
    valid = sum(is_valid(directory) for directory in directories)
    cpu = time.process_time() - cpu
    wall = time.perf_counter() - wall

    result = {
        "files": len(directories),
        "valid": valid,
        "cpu_seconds": round(cpu, 6),
        "wall_seconds": round(wall, 6),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
