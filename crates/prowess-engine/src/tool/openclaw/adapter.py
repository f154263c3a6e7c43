import asyncio, importlib.util, inspect, json, os, sys, traceback

path, name, folder = sys.argv[1:4]
result_pipe = os.fdopen(3, "w", encoding="utf-8")
# Whatever the handler prints is talk; its result is what it returns.
os.dup2(2, 1)
sys.path[:0] = [os.path.dirname(path), folder]
arguments = json.load(sys.stdin)
try:
    spec = importlib.util.spec_from_file_location("handler", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["handler"] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        sys.exit(f"{os.path.basename(path)} has no function {name}")
    result = function(**arguments)
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    json.dump(result, result_pipe, ensure_ascii=False)
    result_pipe.close()
except Exception:
    traceback.print_exc()
    sys.exit(1)
