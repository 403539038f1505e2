# SPDX-License-Identifier: BSD-3-Clause
"""moto, which stands for the services of AWS. ./dev test --all installs it."""
import contextlib
import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from harness import free_port

PLACE = pathlib.Path(__file__).resolve().parents[2] / "build" / "moto"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "not+checked/by/moto",
        "AWS_DEFAULT_REGION": "us-east-1"}


def why_not():
    """The reason why moto cannot run here, or None."""
    for module in "boto3", "flask", "flask_cors", "responses", "xmltodict":
        if not importlib.util.find_spec(module):
            return f"the Python module {module} is not installed"
    if not (PLACE / "moto").is_dir():
        return "moto is missing; ./dev test --all fetches it"
    return None


def post(address, body):
    """Send a request to moto itself."""
    with urllib.request.urlopen(urllib.request.Request(
            address, data=body, headers={"Content-Type": "text/plain"},
            method="POST")) as answer:
        return answer.read()


@contextlib.contextmanager
def moto():
    """The address of a server with all services, which is ended with the
    block."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    port = free_port()
    # It ignores the settings of the user.
    environment = {**os.environ, "PYTHONPATH": str(PLACE), **KEYS}
    with subprocess.Popen(
            [sys.executable, "-B", "-m", "moto.server", "-H", "127.0.0.1",
             "-p", str(port)], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                assert server.poll() is None, "moto has ended"
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
