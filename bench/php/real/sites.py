# SPDX-License-Identifier: BSD-3-Clause
"""WordPress, MediaWiki and a Symfony page, set up in a temporary folder from
Debian's packages as unpacked by tools/php-debs.sh."""
import getpass
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent

# In the order of their dependencies.
EXTENSIONS = ('mysqlnd pdo ctype dom exif fileinfo gd iconv intl mbstring '
              'mysqli pdo_sqlite posix simplexml sqlite3 tokenizer xml '
              'xmlreader').split()

# Differences between any two requests: the time, how long it took, and whether
# MediaWiki has work left to do afterwards.
MASKS = (rb'(?m)^(Date|Expires|Connection|Content-Length): .*\n',
         rb'"wgBackendResponseTime":\d+')

PLUGIN = r'''<?php
/* WordPress makes the style sheet of the theme anew every minute. Here it keeps
 * the style sheet, so a slow traced request costs as much as any other. */
foreach (['global_styles', 'global_styles_svg_filters'] as $name) {
    add_filter("expiration_of_transient_{$name}_twentytwentythree", fn() => DAY_IN_SECONDS);
}
'''


class Php:
    """Debian's PHP, with the packages that are unpacked below real."""

    def __init__(self, real, cli, cgi):
        self.real = real
        libraries = [str(path) for path in
                     (real / 'usr' / 'lib').glob('*-linux-gnu*')]
        self.environment = {
            'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8',
            'LD_LIBRARY_PATH': ':'.join(libraries)}
        options = ['-n', '-d', 'zend_extension=opcache',
                   # opcache skips files that are newer than two seconds.
                   '-d', 'opcache.file_update_protection=0',
                   # On a busy server almost no request checks whether a
                   # script has changed. Slow traced requests would.
                   '-d', 'opcache.revalidate_freq=86400',
                   '-d', f'include_path={real}/usr/share/php']
        for name in EXTENSIONS:
            unpacked = list(real.glob(f'usr/lib/php/2*/{name}.so'))
            options += ['-d', f'extension={unpacked[0] if unpacked else name}']
        self.cli, self.cgi = [cli, *options], [cgi, *options]

    def script(self, folder, *arguments):
        done = subprocess.run([*self.cli, *arguments], cwd=folder,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f'{arguments[0]}: {done.stdout[-2000:]}')


@dataclass
class Page:
    """One address of a site."""
    name: str
    folder: Path
    uri: str
    script: str = 'index.php'
    # A shorter page is an error page.
    at_least: int = 2000
    options: list = field(default_factory=list)

    def environment(self):
        """The variables that a web server sets for php-cgi."""
        return {
            'GATEWAY_INTERFACE': 'CGI/1.1', 'SERVER_PROTOCOL': 'HTTP/1.1',
            'REQUEST_METHOD': 'GET', 'REDIRECT_STATUS': '200',
            'HTTP_HOST': 'localhost', 'SERVER_NAME': 'localhost',
            'SERVER_PORT': '80', 'REMOTE_ADDR': '127.0.0.1',
            'REQUEST_URI': self.uri,
            'QUERY_STRING': self.uri.partition('?')[2],
            'SCRIPT_NAME': f'/{self.script}',
            'SCRIPT_FILENAME': str(self.folder / self.script),
            'DOCUMENT_ROOT': str(self.folder),
            # MediaWiki's name for the request; otherwise random.
            'UNIQUE_ID': 'hone'}

    @staticmethod
    def masked(text):
        for mask in MASKS:
            text = re.sub(mask, b'', text)
        return text


class Database:
    """MariaDB on a socket of its own, without a network."""

    def __init__(self, php, folder):
        self.real, self.folder = php.real, folder
        self.socket = folder / 'socket'
        self.environment = php.environment
        self.server = None

    def start(self):
        if self.server:
            return
        user = getpass.getuser()
        common = ['--no-defaults', f'--basedir={self.real}/usr',
                  f'--datadir={self.folder}/data', f'--user={user}']
        log = open(self.folder / 'log', 'wb')
        subprocess.run(
            [self.real / 'usr/bin/mariadb-install-db', *common,
             '--skip-test-db', '--auth-root-authentication-method=normal',
             '--cross-bootstrap'], env=self.environment, stdout=log,
            stderr=log, check=True)
        self.server = subprocess.Popen(
            [self.real / 'usr/sbin/mariadbd', *common, '--skip-networking',
             f'--socket={self.socket}', f'--pid-file={self.folder}/pid',
             f'--tmpdir={self.folder}',
             f'--lc-messages-dir={self.real}/usr/share/mysql',
             '--innodb-buffer-pool-size=64M'],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log)
        for _ in range(300):
            if self.socket.exists():
                return
            if self.server.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f'mariadbd: {(self.folder / "log").read_text()}')

    def run(self, statement):
        subprocess.run(
            [self.real / 'usr/bin/mariadb', '--no-defaults', '-u', 'root',
             f'--socket={self.socket}', '-e', statement],
            env=self.environment, check=True)

    def stop(self):
        if self.server and self.server.poll() is None:
            self.server.terminate()
            self.server.wait()


class Sites:
    """A context with the pages. The database runs until its end."""

    def __init__(self, php, folder):
        self.php, self.folder = php, folder
        (folder / 'database').mkdir()
        self.database = Database(php, folder / 'database')

    def __enter__(self):
        try:
            return [*self.wordpress(), *self.mediawiki(), *self.symfony()]
        except BaseException:
            self.database.stop()
            raise

    def __exit__(self, *_):
        self.database.stop()

    def copy(self, name, into=None):
        """The program's folder without Debian's links into /etc and /var."""
        folder = self.folder / (into or name)
        shutil.copytree(self.php.real / 'usr/share' / name, folder,
                        symlinks=True)
        for link in folder.iterdir():
            if link.is_symlink():
                link.unlink()
        return folder

    def installed_wordpress(self, name):
        """WordPress in a folder and a database of that name."""
        self.database.start()
        self.database.run(f'CREATE DATABASE {name}')
        self.php.environment.update(
            HONE_DB_SOCKET=str(self.database.socket), HONE_DB_USER='root')
        folder = self.copy('wordpress', name)
        settings = (HERE / 'wp-config.php').read_text()
        (folder / 'wp-config.php').write_text(settings.replace(
            "'DB_NAME', 'wordpress'", f"'DB_NAME', '{name}'"))
        plugins = folder / 'wp-content' / 'mu-plugins'
        plugins.mkdir()
        (plugins / 'hone.php').write_text(PLUGIN)
        self.php.script(folder, HERE / 'wp-install.php')
        return folder

    def wordpress(self):
        folder = self.installed_wordpress('wordpress')
        return [Page('WordPress, front page', folder, '/'),
                Page('WordPress, a post', folder, '/?p=1'),
                Page('WordPress, feed', folder, '/?feed=rss2',
                     at_least=1000)]

    def mediawiki(self):
        folder = self.copy('mediawiki')
        data = self.folder / 'mediawiki-data'
        for each in (data, folder / 'extensions', folder / 'images'):
            each.mkdir()
        # Debian's folders of cache and logs belong to this system.
        platform = folder / 'includes' / 'PlatformSettings.php'
        platform.write_text(re.sub(r'/var/(cache|log)/mediawiki', str(data),
                                   platform.read_text()))
        self.php.script(
            folder, 'maintenance/install.php', '--dbtype', 'sqlite',
            '--dbpath', data, '--dbname', 'wiki', '--server',
            'http://localhost', '--scriptpath', '', '--lang', 'en',
            '--pass', 'long, but not secret', 'A wiki', 'Admin')
        with (folder / 'LocalSettings.php').open('a') as settings:
            # Otherwise some requests do work that others left.
            settings.write('$wgJobRunRate = 0;\n'
                           '$wgObjectCaches[CACHE_DB]["purgePeriod"] = 0;\n')
        styles = ('lang=en&modules=skins.vector.styles.legacy&only=styles'
                  '&skin=vector')
        return [Page('MediaWiki, main page', folder,
                     '/index.php?title=Main_Page'),
                Page('MediaWiki, its style sheet', folder,
                     f'/load.php?{styles}', 'load.php')]

    def symfony(self):
        folder = self.folder / 'symfony'
        (folder / 'templates').mkdir(parents=True)
        shutil.copy(HERE / 'symfony.php', folder / 'index.php')
        for template in HERE.glob('*.twig'):
            shutil.copy(template, folder / 'templates')
        return [Page('Symfony, a table of 50 rows', folder, '/squares/50')]
