# SPDX-License-Identifier: BSD-3-Clause
"""Pages of WordPress, MediaWiki and Symfony with a cache in shared memory.

As bench/php/real.py has the programs. WordPress has the object cache of
sites/object-cache.php, MediaWiki has CACHE_ACCEL, and Symfony's page has an
array of 10,000 in the framework's cache. All three call apcu_*, of APCu or of
Hone; without either they use no cache, and Symfony uses files. A second
WordPress has 20 posts on its front page: WordPress caches posts as objects.

A figure is the time of a request under "php-cgi -T" with warm caches, or its
instructions.
"""
import dataclasses
import re
import shutil
import statistics
import sys
from pathlib import Path

from programs import Trouble

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / 'php'), str(HERE.parent / 'php' / 'real')]
import real  # noqa: E402 (bench/php/real.py)
import sites  # noqa: E402 (bench/php/real/sites.py)

WARM = 4  # requests that fill the caches
SYMFONY = 'Symfony, a cached array of 10,000'
POSTS = 'WordPress, 20 posts'
SUBJECTS = ('apcu', 'apcu-igbinary', 'hone')


class Sites(sites.Sites):
    """A context with {name of a page: {subject: page}}: all of them, or the
    one with posts."""

    def __init__(self, php, folder, kit, subjects, every):
        super().__init__(php, folder)
        self.kit, self.subjects, self.every = kit, subjects, every

    def __enter__(self):
        try:
            made = self.both(self.posts(), self.cached_wordpress)
            if self.every:
                made = {**self.both(self.wordpress(), self.cached_wordpress),
                        **self.both(self.mediawiki(), self.cached_mediawiki),
                        **self.cached_symfony(), **made}
            return made
        except BaseException:
            self.database.stop()
            raise

    def options(self, subject):
        """The extension of a subject, and its settings."""
        if subject.startswith('apcu'):
            lines = [f"extension={self.kit.extension('apcu')}",
                     'apc.shm_size=64M']
            if subject == 'apcu-igbinary':
                lines = [f"extension={self.kit.extension('igbinary')}", *lines,
                         'apc.serializer=igbinary']
        else:
            lines = [f"extension={self.kit.extension('hone')}",
                     'hone.cache_size=64M', 'hone.apcu_compat=1']
        return [word for line in lines for word in ('-d', line)]

    def with_cache(self, page, folder):
        """Subject -> the page, in a folder where the cache is used."""
        return {subject: dataclasses.replace(
            page, folder=folder, options=page.options + self.options(subject))
                for subject in self.subjects}

    def both(self, pages, prepare):
        """The pages without a cache and with it."""
        folder = pages[0].folder
        cached = folder.with_name(f'{folder.name}-cached')
        shutil.copytree(folder, cached, symlinks=True)
        prepare(cached)
        return {page.name: {'none': page, **self.with_cache(page, cached)}
                for page in pages}

    def posts(self):
        folder = self.installed_wordpress('posts')
        self.php.script(folder, HERE / 'sites' / 'posts.php')
        return [sites.Page(POSTS, folder, '/', at_least=60000)]

    @staticmethod
    def cached_wordpress(folder):
        shutil.copy(HERE / 'sites' / 'object-cache.php', folder / 'wp-content')

    @staticmethod
    def cached_mediawiki(folder):
        with (folder / 'LocalSettings.php').open('a') as settings:
            settings.write('$wgMainCacheType = CACHE_ACCEL;\n')

    def cached_symfony(self):
        templates = self.symfony()[0].folder / 'templates'
        folders = {}
        for adapter in ('filesystem', 'apcu'):
            folder = folders[adapter] = self.folder / f'symfony-{adapter}'
            folder.mkdir()
            shutil.copytree(templates, folder / 'templates')
            shutil.copy(HERE / 'sites' / 'symfony.php', folder / 'index.php')
            (folder / 'adapter').write_text(f'cache.adapter.{adapter}\n')
        page = sites.Page(SYMFONY, folders['filesystem'], '/squares/5000')
        return {SYMFONY: {'none': page,
                          **self.with_cache(page, folders['apcu'])}}


class Cgi(real.Cgi):
    warm = WARM


def body(text):
    """Without the headers, whose order a cache may change, and without the
    times of MediaWiki's parser, in comments and in a script."""
    text = text.partition(b'\r\n\r\n')[2]
    return re.sub(rb'<!--(?s:.*?)-->|^Last-Modified:.*\n|'
                  rb'"wgPageParseReport":.*', b'', text, flags=re.MULTILINE)


def right(pages, php, troubles):
    """Subject -> Cgi, of those whose page is that of the first one."""
    runs, first = {}, None
    for subject, page in pages.items():
        cgi = Cgi(php, None, page)
        try:
            cgi.run(1)  # what the program writes to its folder
            text = body(page.masked(cgi.run(1)[0]))
        except real.Trouble as trouble:
            troubles.append((page.name, subject, str(trouble)))
            continue
        if first is None:
            first = text
        if text != first or len(text) < page.at_least:
            troubles.append((page.name, subject, 'wrong: another page: ' +
                             real.difference(first, text)[:300]))
            continue
        runs[subject] = cgi
    return runs


def times(runs, rounds, requests):
    """Subject -> figures of one page."""
    samples = {subject: [] for subject in runs}
    for turn in range(rounds):
        for subject in list(runs) if turn % 2 else list(runs)[::-1]:
            samples[subject].append(runs[subject].seconds(requests) * 1e9)
    return {subject: {'median_ns': round(statistics.median(took)),
                      'least_ns': round(min(took)), 'repetitions': rounds}
            for subject, took in samples.items() if took}


def counts(pages, interpreter, troubles):
    """{POSTS: subject -> instructions of a request}"""
    runs = right(pages[POSTS], interpreter, troubles)
    return {POSTS: {subject: round(cgi.instructions())
                    for subject, cgi in runs.items()}}


def available(kit, troubles):
    """Those of SUBJECTS whose extensions are there."""
    found = []
    for subject in SUBJECTS:
        try:
            for name in subject.split('-'):
                kit.extension(name)
            found.append(subject)
        except Trouble as trouble:
            troubles.append(('pages', subject, str(trouble)))
    return found


def measure(kit, unpacked, php, rounds, requests, only, counted=False):
    """(page -> subject -> figures, troubles); if `counted`, the figures are
    instructions."""
    results, troubles = {}, []
    if counted and only not in POSTS:
        return results, troubles
    folder = kit.work / ('counted' if counted else 'sites')
    folder.mkdir()
    subjects = available(kit, troubles)
    print('\rsetting up WordPress, MediaWiki and Symfony'.ljust(60), end='',
          file=sys.stderr)
    interpreter = sites.Php(unpacked, php, kit.cgi)
    with Sites(interpreter, folder, kit, subjects, not counted) as pages:
        if counted:
            return counts(pages, interpreter, troubles), troubles
        for name, of in pages.items():
            if only not in name:
                continue
            print(f'\r{name}'.ljust(60), end='', file=sys.stderr)
            results[name] = times(right(of, interpreter, troubles), rounds,
                                  requests)
    print('\r'.ljust(61), end='\r', file=sys.stderr)
    return results, troubles
