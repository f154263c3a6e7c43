import asyncio, importlib.util, inspect, json, os, sys, traceback

path, name, folder, *packages = sys.argv[1:]
result_pipe = os.fdopen(3, "w", encoding="utf-8")
# Whatever the handler prints is talk; its result is what it returns.
os.dup2(2, 1)
sys.path[:0] = [os.path.dirname(path), folder, *packages]
arguments = json.load(sys.stdin)


def tell(**message):
    json.dump(message, result_pipe, ensure_ascii=False, allow_nan=False)
    result_pipe.close()


def fail(reason):
    tell(failed=reason)
    sys.exit(1)


def own_functions(module):
    found = inspect.getmembers(module, inspect.isfunction)
    return [key for key, value in found if value.__module__ == "handler" and not key.startswith("_")]


try:
    spec = importlib.util.spec_from_file_location("handler", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["handler"] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        functions = ", ".join(own_functions(module)) or "none"
        fail(f"has no function `{name}` in {os.path.relpath(path, folder)}; the functions there: {functions}")
    result = function(**arguments)
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
except Exception as error:
    # The first frame is this file, which is none of the author's business.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    traceback.print_exception(type(error), error, frames)
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    fail(f"raised {words}")
try:
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    text.encode()
except (TypeError, ValueError, RecursionError) as error:
    fail(f"returned a value that is not JSON: {error}")
result_pipe.write('{"returned": ' + text + "}")
result_pipe.close()
