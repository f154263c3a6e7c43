"""Imports a skill's tools.py and calls its functions, one request at a time.

Requests come on descriptor 3 and answers go to descriptor 4: four bytes of length, then JSON. Descriptors 5 and 6
become standard output and error, so that nothing a tool prints can be taken for an answer.
"""

import json
import os
import sys

REQUESTS, ANSWERS = os.dup(3), os.dup(4)  # Not inherited by programs that a tool starts.
os.dup2(5, 1)
os.dup2(6, 2)
for number in range(3, 7):
    os.close(number)
OWN_PROCESS = os.getpid()
FOLDERS = ["", ""]  # Of the skill: in here, and outside.


def receive():
    """The next request. Nothing follows one before it is answered, so whatever comes belongs to it."""
    received = os.read(REQUESTS, 1 << 16)
    if len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
        received = receive_rest(bytearray(received))
    return json.loads(received[4:]) if received else None


def receive_rest(received):
    """A request that did not come in one piece."""
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
        piece = os.read(REQUESTS, 1 << 20)
        if not piece:
            return None
        received += piece
    return received


def send(text):
    payload = text.encode()
    view = memoryview(len(payload).to_bytes(4, "big") + payload)
    while view:
        view = view[os.write(ANSWERS, view) :]


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # A tool may have closed it.


def words_of(error):
    """The type of an exception and what it says."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        return {"type": name, "message": str(error)}
    except Exception:
        return {"type": name, "message": ""}


def describe(error):
    """Prints the traceback, less the frames of this file, and gives the words for the answer."""
    import traceback

    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
        # The user knows the file under its own name, and not under that of its copy in here.
        sys.stderr.write(text.replace(f'File "{FOLDERS[0]}/', f'File "{FOLDERS[1]}/'))
    except Exception:
        pass
    return {"error": words_of(error)}


def load(folder, packages, outside):
    """Imports tools.py and tells which functions are decorated."""
    import site

    FOLDERS[:] = folder, outside
    # What `-S` leaves out and scripts expect.
    site.setquit()
    if packages:
        site.addsitedir(packages)
    sys.path.insert(0, folder)
    __import__("tools")
    return {"tools": sorted(registry())}


def registry():
    from gaia.agents.base.tools import _TOOL_REGISTRY

    return _TOOL_REGISTRY


def call(name, arguments):
    """Calls a tool, and gives what it returns as JSON text."""
    function = registry()[name]["function"]
    code = getattr(function, "__code__", None)
    first = code.co_varnames[: code.co_posonlyargcount] if code else ()
    positional = []
    for parameter in first:
        if parameter not in arguments:
            break
        positional.append(arguments.pop(parameter))
    result = function(*positional, **arguments)
    if hasattr(result, "__await__"):
        import asyncio

        async def wait():
            return await result

        result = asyncio.run(wait())
    return result


def as_json(result):
    """What a tool returned, as JSON text; or the words for why it can't be that."""
    try:
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(result).__name__
        return {"unserializable": f"a value of type `{kind}`: {error}"}
    return '{"id": %s, "result": ' + text + "}"


def answer(request):
    """The text of an answer, with a place for the number of the request."""
    try:
        if "load" in request:
            sys.path.insert(0, os.path.dirname(__file__))
            return load(**request["load"])
        return as_json(call(request["call"], request["arguments"]))
    except BaseException as error:  # Also SystemExit: a tool ends itself, not its worker.
        return describe(error)


def main():
    while (request := receive()) is not None:
        number = json.dumps(request.pop("id"))
        reply = answer(request)
        if os.getpid() != OWN_PROCESS:
            os._exit(0)  # A tool has forked and its copy has returned too: one answer is enough.
        flush()
        if isinstance(reply, str):
            send(reply.replace("%s", number, 1))
        else:
            # Texts of exceptions may hold anything, also halves of characters.
            send(json.dumps({"id": json.loads(number), **reply}))


main()
