"""An MCP server of the protocol before 2026-07-28 that behaves as its first argument says."""

import json
import os
import sys
import time

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else "echo"


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def answer(request):
    send({"id": "q", "method": "elicitation/create",
          "params": {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}})
    reply = json.loads(sys.stdin.readline())
    return text("the user: " + json.dumps(reply.get("result") or reply.get("error", {}).get("code")))


def look():
    """What a server can see."""
    seen = {"variables": sorted(name for name in os.environ if not name.startswith("LC_")), "files": [], "written": False}
    for path in sys.argv[2:]:
        try:
            with open(path, "rb") as file:
                seen["files"].append(len(file.read()) > 0)
        except OSError:
            seen["files"].append(None)
    try:
        with open("made", "w") as file:
            file.write("x")
        seen["written"] = True
    except OSError:
        pass
    return seen


def call(arguments):
    if BEHAVIOUR == "echo":
        return text(arguments["text"], structuredContent={"said": arguments["text"]})
    if BEHAVIOUR == "types":
        return text(json.dumps(arguments, sort_keys=True))
    if BEHAVIOUR == "error":
        return text("the repository is archived", isError=True)
    if BEHAVIOUR == "die":
        print("cannot open the database", file=sys.stderr, flush=True)
        os._exit(3)
    if BEHAVIOUR == "hang":
        time.sleep(3600)
    if BEHAVIOUR == "large":
        return text("x" * 10_000_000)
    if BEHAVIOUR == "flood":
        while True:
            sys.stdout.write("y" * 65536)
    if BEHAVIOUR == "garbage":
        print("no message at all", flush=True)
        print('{"jsonrpc": "2.0", "id": 99, "result": {}}', flush=True)
        return text("fine")
    if BEHAVIOUR == "secret":
        token = os.environ["SERVER_TOKEN"]
        print("using " + token, file=sys.stderr, flush=True)
        return text("token " + token, structuredContent={"token": token})
    if BEHAVIOUR == "ask":
        return answer(arguments)
    if BEHAVIOUR == "look":
        return text("", structuredContent=look())
    if BEHAVIOUR == "later":
        return {"resultType": "input_required", "inputRequests": {}, "requestState": "x"}
    return text("done")


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    number, method = request["id"], request["method"]
    if method == "initialize":
        if BEHAVIOUR == "mute":
            time.sleep(3600)
        send({"id": number, "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test \x1b[31mserver", "version": "1"}}})
    elif method == "tools/list":
        more = {"nextCursor": "again"} if BEHAVIOUR == "pages" else {}
        send({"id": number, "result": {
            "tools": [{"name": "say", "inputSchema": {"type": "object"}}], **more}})
    elif method == "tools/call" and request["params"]["name"] == "say":
        send({"id": number, "result": call(request["params"]["arguments"])})
    elif method == "tools/call":
        send({"id": number, "error": {"code": -32602, "message": "Unknown tool"}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
