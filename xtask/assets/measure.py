"""Runs commands in turn and prints what each one cost.

Reads a JSON object on stdin: {"rounds": N, "commands": [{"argv": [...], "stdin": PATH or null}]}.
Prints one JSON list: for each command the medians over all rounds of
{"wall": seconds, "cpu": seconds, "peak_kib": KiB}. CPU is user and system time of the child and its own children.
Taking turns spreads whatever else the machine does over all commands.
"""

import json
import os
import statistics
import subprocess
import sys
import time


def once(command):
    stdin = open(command["stdin"], "rb") if command.get("stdin") else subprocess.DEVNULL
    started = time.perf_counter()
    child = subprocess.Popen(command["argv"], stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        # 1 means that problems were found, which is what a checker of real files says.
        sys.exit(f"{command['argv'][0]} ended with status {status}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    plan = json.load(sys.stdin)
    runs = [[] for _ in plan["commands"]]
    for _ in range(plan["rounds"]):
        for command, results in zip(plan["commands"], runs):
            results.append(once(command))
    medians = [[statistics.median(column) for column in zip(*results)] for results in runs]
    print(json.dumps([{"wall": wall, "cpu": cpu, "peak_kib": peak} for wall, cpu, peak in medians]))


if __name__ == "__main__":
    main()
