"""A filesystem in a process, just large enough to try the walls on: two files that can be read and written."""

import errno
import os
import struct
import sys

FILES = {2: [b"a", b"data"], 3: [b"script", b"#!/bin/sh\necho ran\n"]}
HEADER = struct.Struct("<IIQQIIII")


def attributes(node):
    size = len(FILES[node][1]) if node in FILES else 0
    mode = 0o100777 if node in FILES else 0o040777
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def entry(node):
    return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + attributes(node)


def listing():
    names = [(1, b".", 4), (1, b"..", 4)] + [(node, name, 8) for node, (name, _) in FILES.items()]
    text = b""
    for number, (node, name, kind) in enumerate(names, 1):
        record = struct.pack("<QQII", node, number, len(name), kind) + name
        text += record + b"\0" * (-len(record) % 8)
    return text


def answer(call, node, body):
    if call == 26:  # INIT
        return struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0, *[0] * 7)
    if call == 1:  # LOOKUP
        name = body.rstrip(b"\0")
        for found, (known, _) in FILES.items():
            if known == name:
                return entry(found)
        return errno.ENOENT
    if call in (3, 4):  # GETATTR, SETATTR
        if call == 4 and node in FILES:
            FILES[node][1] = FILES[node][1][: struct.unpack_from("<Q", body, 16)[0]]
        return struct.pack("<QII", 0, 0, 0) + attributes(node)
    if call in (14, 27):  # OPEN, OPENDIR
        return struct.pack("<QII", 0, 1, 0)
    if call in (15, 28):  # READ, READDIR
        _, offset, size = struct.unpack_from("<QQI", body)
        text = FILES[node][1] if call == 15 else listing()
        if call == 28:
            return b"" if offset else text
        return text[offset : offset + size]
    if call == 16:  # WRITE
        _, offset, size = struct.unpack_from("<QQI", body)
        FILES[node][1] = FILES[node][1][:offset] + body[40 : 40 + size]
        return struct.pack("<II", size, 0)
    if call == 17:  # STATFS
        return struct.pack("<QQQQQIIII6I", 9, 9, 9, 9, 9, 4096, 255, 4096, 0, *[0] * 6)
    if call in (18, 25, 29, 34):  # RELEASE, FLUSH, RELEASEDIR, ACCESS
        return b""
    return errno.ENOSYS


device = int(sys.argv[1])
while True:
    try:
        request = os.read(device, 1 << 20)
    except OSError:
        sys.exit()  # Nobody has it mounted any more.
    length, call, unique, node, *_ = HEADER.unpack_from(request)
    if call in (2, 42):  # FORGET, BATCH_FORGET
        continue
    result = answer(call, node, request[HEADER.size :])
    code, payload = (-result, b"") if isinstance(result, int) else (0, result)
    os.write(device, struct.pack("<IiQ", 16 + len(payload), code, unique) + payload)
