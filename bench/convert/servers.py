# SPDX-License-Identifier: BSD-3-Clause
"""Servers of images on this machine, and a slow line to them."""
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.error;
events {{}}
http {{
    access_log off;
    sendfile on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def wait_for(connect, process):
    """Wait until the server accepts connections."""
    for _ in range(500):
        with contextlib.suppress(OSError):
            connect().close()
            return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    process.kill()
    sys.exit(f'convert.py: {process.args[0]} does not answer')


class Servers:
    """What was started, and is stopped at the end of a case."""

    def __init__(self, folder):
        self.folder, self.running = Path(folder).resolve(), []

    def start(self, command, connect):
        process = subprocess.Popen(list(map(str, command)),
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.running.append(process)
        wait_for(connect, process)

    def stop(self):
        for process in self.running:
            process.terminate()
            process.wait()
        self.running.clear()

    def nginx(self, root):
        """Serve the files of a folder; returns the port."""
        port = free_port()
        folder = self.folder / 'nginx'
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / 'conf').write_text(
            NGINX.format(folder=folder, port=port, root=root))
        self.start(['nginx', '-c', folder / 'conf', '-e', folder / 'nginx.error'],
                   lambda: socket.create_connection(('127.0.0.1', port)))
        return port

    def registry(self):
        """An empty registry of OCI images; returns the port."""
        port = free_port()
        config = self.folder / 'registry.yml'
        config.write_text(json.dumps({
            'version': '0.1', 'http': {'addr': f'127.0.0.1:{port}'},
            'storage': {'filesystem': {
                'rootdirectory': str(self.folder / 'registry')}}}))
        self.start(['docker-registry', 'serve', config],
                   lambda: socket.create_connection(('127.0.0.1', port)))
        return port

    def line(self, to, delay, rate):
        """A line to a port of this machine: seconds and bytes a second of
        each direction; returns its port."""
        port = free_port()
        self.start([sys.executable, Path(__file__).parent / 'line.py', port,
                    to, delay, rate],
                   lambda: socket.create_connection(('127.0.0.1', port)))
        return port

    def qemu_nbd(self, path, form, *options):
        """Serve an image; returns its address."""
        name = self.folder / 'nbd.socket'
        name.unlink(missing_ok=True)

        def connect():
            probe = socket.socket(socket.AF_UNIX)
            probe.connect(str(name))
            return probe
        self.start(['qemu-nbd', '-f', form, '-k', name, '-t', '-e', '8',
                    '--cache=writeback', '--discard=unmap', *options, path],
                   connect)
        return f'nbd+unix:///?socket={name}'
