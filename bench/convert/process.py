# SPDX-License-Identifier: BSD-3-Clause
"""One run of one tool: what it took, and what it left."""
import os
import re
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass


@dataclass
class Outcome:
    """What one run took."""
    seconds: float
    cpu: float
    memory: int  # bytes resident at the most, of the largest process
    status: int
    stderr: str
    stdout: str = ''
    stopped: bool = False


def remove(outputs):
    for path in outputs:
        path.unlink(missing_ok=True)


def warm(path):
    """Have a file's data in the page cache, whatever a tool dropped."""
    with open(path, 'rb', buffering=0) as file:
        end, at = file.seek(0, os.SEEK_END), 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                hole = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            except OSError:
                break  # nothing but a hole to the end
            while at < hole:
                at += len(os.pread(file.fileno(), min(1 << 20, hole - at), at))


def run(command, outputs, limit=None):
    """Run a command whose outputs do not exist yet; stop it at the limit."""
    remove(outputs)
    stopped = []
    began = time.monotonic()
    with subprocess.Popen([str(word) for word in command],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        def stop():
            stopped.append(True)
            process.kill()

        timer = threading.Timer(limit or 0, stop)
        if limit:
            timer.start()
        stdout, stderr = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return Outcome(seconds, usage.ru_utime + usage.ru_stime,
                   usage.ru_maxrss * 1024, process.returncode, stderr, stdout,
                   bool(stopped))


def disk_usage(path):
    return path.stat().st_blocks * 512 if path.exists() else 0


def page_cache(path):
    """Bytes of a file that are in the page cache."""
    if not path.exists():
        return 0
    out = subprocess.run(['fincore', '-b', '-n', '-o', 'RES', str(path)],
                         capture_output=True, text=True, check=True).stdout
    return int(out.strip() or 0)


def system_calls(command, outputs):
    """System calls of a run of all its threads, or None without strace."""
    if not shutil.which('strace'):
        return None
    remove(outputs)
    done = subprocess.run(['strace', '-f', '-c', '-S', 'calls',
                           *map(str, command)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, check=False)
    total = [line for line in done.stderr.splitlines()
             if re.search(r'\btotal$', line)]
    return int(total[-1].split()[3]) if total else None
