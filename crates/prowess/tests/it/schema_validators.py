"""Verdicts of the Python package jsonschema: schemas and documents on standard input, true or false for each document."""

import json
import sys

from jsonschema import Draft202012Validator

given = json.load(sys.stdin)
validators = {}
for name, schema in given["schemas"].items():
    Draft202012Validator.check_schema(schema)
    validators[name] = Draft202012Validator(schema)
json.dump([validators[name].is_valid(document) for name, document in given["documents"]], sys.stdout)
