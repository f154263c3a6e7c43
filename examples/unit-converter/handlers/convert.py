"""Converts an amount between units of the same kind."""

LENGTHS = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "mi": 1609.344}
WEIGHTS = {"kg": 1.0, "lb": 0.45359237}


def convert(amount, source, target):
    if (source, target) == ("c", "f"):
        result = amount * 9 / 5 + 32
    elif (source, target) == ("f", "c"):
        result = (amount - 32) * 5 / 9
    else:
        for kind in (LENGTHS, WEIGHTS):
            if source in kind and target in kind:
                result = amount * kind[source] / kind[target]
                break
        else:
            raise ValueError(f"`{source}` can't be converted to `{target}`")
    return {"amount": round(result, 6), "unit": target}
