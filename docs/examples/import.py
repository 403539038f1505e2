#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""import.py SRC DST: convert an image with a report, a limit and tries."""
import json
import os
import subprocess
import sys
import threading
import time

TRIES, SECONDS = 5, 3600


def show(progress):
    """One line for each quarter that was read, and for each other phase."""
    last = None
    with open(progress, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            now = line["phase"]
            if now == "read" and line.get("total"):
                now += f" {4 * line['bytes'] // line['total'] * 25} %"
            if now != last:
                print(now, flush=True)
            last = now


def convert(source, target):
    """The exit status, the result and the message of one run."""
    read, write = os.pipe()
    command = ["hone", "convert", "--json", "--progress-json",
               "--progress-fd", str(write), "--", source, target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[write],
                          stderr=subprocess.PIPE, text=True) as process:
        os.close(write)
        reader = threading.Thread(target=show, args=[read])
        reader.start()
        try:
            result, message = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()
            result, message = process.communicate()
        reader.join()
    return process.returncode, result, message


def main():
    """Exits with the status of hone."""
    if len(sys.argv) != 3:
        print("usage: import.py SRC DST", file=sys.stderr)
        return 2
    for number in range(TRIES):
        time.sleep(0 if number == 0 else 2 ** number)
        status, result, message = convert(*sys.argv[1:])
        if status != 4:
            break
        print("again:", message, file=sys.stderr)
    if status == 0:
        made = json.loads(result)
        print(made["destination"], "has", made["data_bytes"], "bytes of data")
    elif status == 3:
        print("do not use this image:", message, file=sys.stderr)
    else:
        print(message, file=sys.stderr)
    return status if status >= 0 else 1


if __name__ == "__main__":
    sys.exit(main())
