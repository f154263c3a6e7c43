"""The `@tool` decorator that skills import."""

_TOOL_REGISTRY = {}


def tool(function=None, *, atomic=False, **_options):
    """Makes a function a tool, as `@tool` or as `@tool(atomic=True)`."""

    def register(function):
        name = function.__name__
        _TOOL_REGISTRY[name] = {
            "name": name,
            "description": function.__doc__ or "",
            "function": function,
            "atomic": atomic,
        }
        return function

    return register if function is None else register(function)
