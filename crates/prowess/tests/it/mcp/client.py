"""The client under test of the official suite: `prowess`, with the suite's server in its settings.

The suite adds the address of its server as the last argument, and names the scenario in a variable.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROWESS, URL = sys.argv[1], sys.argv[-1]
SKILL = "pdf-processing"
# Listing what a server offers loads nothing; installing a skill loads it.
COMMANDS = {
    "sep-2640-client-no-prefetch": ["mcp", "servers", "docs", "--connect", "--yes"],
}
INSTALL = ["install", f"mcp:docs/{SKILL}", "--user", "--allow-experimental", "--yes"]


def main():
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "home").mkdir()
        project = place / "project"
        (project / ".git").mkdir(parents=True)
        (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
        servers = {"mcpServers": {"docs": {"type": "http", "url": URL}}}
        (project / ".mcp.json").write_text(json.dumps(servers))
        environment = {"PATH": os.environ["PATH"], "HOME": str(place / "home")}
        command = COMMANDS.get(scenario, INSTALL)
        ended = subprocess.run([PROWESS, *command], cwd=project, env=environment, check=False)
        if command is not INSTALL:
            return ended.returncode
        if list((place / "home").rglob(f"skills/{SKILL}")):
            print("the tampered skill was installed", file=sys.stderr)
            return 99
        return 0 if ended.returncode else 98


sys.exit(main())
