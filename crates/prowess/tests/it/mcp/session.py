"""A session through the official SDK for Python: list, read, take a quiz, be refused, be approved, run, cancel, see a change."""

import json
import os
import pathlib
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

PATIENCE = 60
ONCE = ElicitResult(action="accept", content={"answer": "once"})
ANSWERS = [ElicitResult(action="decline"), ONCE, ONCE]


async def answer(context, params):
    assert " wants to run" in params.message, params.message
    return ANSWERS.pop(0)


class Notices:
    """What the server says without being asked."""

    def __init__(self):
        self.tools_changed = anyio.Event()

    async def __call__(self, message):
        if "ToolListChanged" in repr(message):
            self.tools_changed.set()


def text(result):
    return result.content[0].text.strip()


async def read(session, uri):
    return (await session.read_resource(uri)).contents[0].text


async def names(session):
    return [tool.name for tool in (await session.list_tools()).tools]


async def take_quiz(session):
    """Answers the questions of `tides` as they come, the first one wrongly at first."""
    answers = {0: ["Feet", "Metres"], 1: [["Brest", "Oban"]]}
    while True:
        asked = json.loads(text(await session.call_tool("quiz_next", {"skill": "tides"})))
        assert "correct" not in asked, asked
        if asked["passed"]:
            return not any(answers.values())
        answer = answers[asked["question"]].pop(0)
        arguments = {"skill": "tides", "quiz": asked["quiz"], "question": asked["question"]}
        got = json.loads(text(await session.call_tool("quiz_answer", {**arguments, "answer": answer})))
        assert got["correct"] == (answer != "Feet"), got


async def cancel(session):
    """Starts a tool that never ends, and gives up when it runs."""
    with anyio.CancelScope() as scope:

        async def started(progress, total, message):
            scope.cancel()

        await session.call_tool("rest__rest", {}, progress_callback=started)
    return scope.cancelled_caught


async def main():
    prowess, skills = sys.argv[1], pathlib.Path(sys.argv[2])
    server = StdioServerParameters(command=prowess, args=["mcp", str(skills)], env=dict(os.environ))
    notices = Notices()
    async with stdio_client(server) as (incoming, outgoing):
        async with ClientSession(
            incoming, outgoing, elicitation_callback=answer, message_handler=notices
        ) as session:
            await session.initialize()
            print("tools", *await names(session))
            print("read", (await read(session, "skill://notes/references/how.md")).strip())
            print("withheld", "SECRET-BODY" not in await read(session, "skill://tides/SKILL.md"))
            print("quiz", await take_quiz(session))
            print("open", "SECRET-BODY" in await read(session, "skill://tides/SKILL.md"))
            refused = await session.call_tool("say__say", {"text": "hi"})
            print("refused", refused.is_error)
            done = await session.call_tool("say__say", {"text": "hi"})
            print("approved", text(done), not done.is_error)
            print("cancelled", await cancel(session))
            file = skills / "say" / "SKILL.md"
            notices.tools_changed = anyio.Event()
            file.write_text(file.read_text().replace("### say", "### tell"))
            await notices.tools_changed.wait()
            print("tools", *await names(session))
            try:
                await session.call_tool("say__say", {"text": "hi"})
            except MCPError as error:
                print("gone", error)


async def bounded():
    with anyio.fail_after(PATIENCE):
        await main()


anyio.run(bounded)
