#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that what the documentation names exists.

names.py [ROOT]

Reads every Markdown and reStructuredText page below ROOT and checks

- each name hone_* and HONE_*: some code has it, outside of comments;
- each function() and each php_hone_* name in inline code: some code has it;
- each path: `tests/ring/`, `hone/zero.h`, `report.py`, a link's target;
- each `./dev COMMAND`, with its words and its options.

In the comments of C sources it checks the names, those image_* and php_hone_*
too, the paths, and the files whose path begins in a folder below ROOT.

In all of them upper case stands for any text (`src/PART/`, `hone_NOUN_VERB`),
and so does `*`. A path that follows "QEMU's" or the like is not ours. A page
that has to name anything else that does not exist says so, by a comment with
the words "names elsewhere:" and a list. A name in that list that the page does
not use, or that exists, is an error too.
"""
import fnmatch
import os
import pathlib
import re
import sys

PAGES = {'.md', '.rst'}
C_LIKE = {'.c', '.h', '.cc', '.def'}
SKIPPED = re.compile(r'build.*|_build|__pycache__|\.git|\.hypothesis|'
                     r'\.pytest_cache|autom4te\.cache')

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
FENCE = re.compile(r'^( *)```.*?^\1```', re.DOTALL | re.MULTILINE)
SPAN = re.compile(r'(`+)(?!`)(.+?)(?<!`)\1(?!`)', re.DOTALL)
LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
NAME = re.compile(r'(?<![\w/.-])((?:hone|HONE)_\w*\*?)(?![\w*]*[-.]\w)')
WORD = re.compile(r'(?<![\w.>-])(?!hone_|HONE_)'
                  r'(\w+\(\)|(?:php_hone|PHP_HONE)_\w+)')
PART = re.compile(r'(?<![\w/.-])((?:image|php_hone)_\w+\*?)(?![\w*]*[-.]\w)')
# Headers of the kernel are not in our folder linux.
BELOW = re.compile(r'(?<![\w/.-])(?!linux/)([\w-]+)/[\w/.-]*\w')
FILE = re.compile(r'(?!build/)(?:[\w.*-]+/)*[\w*.-]*[\w*]\.'
                  r'(?:c|h|cc|def|py|sh|md|rst|php|phpt|pml|toml|json|m4|svg|'
                  r'inc|css|js)')
COMMAND = re.compile(r'^(?: {3,}|\t|\$ )*(\./dev .*)$', re.MULTILINE)
OTHERS = re.compile(r"\b(?!Hone)[A-Z]\w*'s\s(?:\s*\*\s)?\s*`{0,2}$")
ELSEWHERE = re.compile(r'(?:<!--|\.\.|/\*)\s+names elsewhere:(.*?)'
                       r'(?:-->|\*/|\n\s*\n|\Z)', re.DOTALL)


def line_of(text, at):
    """The number of the line that has this offset."""
    return text.count('\n', 0, at) + 1


def pattern_of(name):
    """What a name with placeholders stands for, or None if it has none."""
    if not re.search(r'[A-Z]{2,}|\*', name):
        return None
    escaped = re.escape(name).replace(r'\*', r'[^/]*')
    return re.compile(re.sub(r'[A-Z]{2,}', '[^/]+', escaped) + '/?')


def blank(match):
    """As many lines, and nothing on them."""
    return '\n' * match[0].count('\n')


class Tree:
    """What exists: paths, names in code, commands of ./dev."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(self.walk())
        self.files = [p for p in self.paths if (root / p).is_file()]
        self.tops = sorted({p.split('/')[0] for p in self.paths
                            if (root / p.split('/')[0]).is_dir()})
        self.folders = {os.path.basename(p) for p in self.paths
                        if (root / p).is_dir()}
        tops = '|'.join(map(re.escape, self.tops)) or '(?!)'
        # PHP's repository is not a path in our folder php.
        self.path = re.compile(rf'(?<![\w/.-])(?:\.\./)*(?!php/php-src\b)'
                               rf'((?:{tops})/[\w./*+-]*[\w/*+])')
        self.words = set()
        self.names = self.collect()
        self.dev = self.dev_words()

    def walk(self):
        """Every folder and file, but for what is built."""
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if not SKIPPED.fullmatch(f)]
            for name in folders + files:
                yield os.path.relpath(os.path.join(folder, name), self.root)

    def read(self, path):
        """The text of a file; empty if it is not text."""
        try:
            return (self.root / path).read_text(encoding='utf-8')
        except (UnicodeDecodeError, OSError):
            return ''

    def collect(self):
        """Every hone_* name that code has, and in self.words every word.
        Capitals may be variables of the environment, which Python and shell
        know too."""
        names = set()
        for path in self.files:
            ending = pathlib.Path(path).suffix
            base = os.path.basename(path)
            if ending in C_LIKE or base in ('meson.build', 'config.m4'):
                text = COMMENT.sub(' ', self.read(path))
                names |= set(re.findall(r'\b(?:hone|HONE)_\w+', text))
            elif (ending in ('.py', '.sh', '.php', '.phpt', '.inc', '.pml')
                  or base == 'dev'):
                text = self.read(path)
                names |= set(re.findall(r'\bHONE_\w+', text))
            else:
                continue
            self.words |= set(re.findall(r'\w+', text))
        return names | self.pasted(names)

    def pasted(self, names):
        """Names that the rows of a .def make: hone_zero_is_##name."""
        made = set()
        stems = {n for n in names if n.endswith('_')}
        for path in self.files:
            if path.endswith('.def'):
                for row in re.findall(r'\((\w+)', self.read(path)):
                    made |= {stem + row for stem in stems}
        return made

    def dev_words(self):
        """The commands of ./dev, its help, and where options are parsed."""
        text = self.read('dev')
        usage = re.search(r'^usage\(\) \{$.*?^\}$', text, re.DOTALL |
                          re.MULTILINE)
        commands = set(re.findall(r'^(\w+)(?: \|[^)]*)?\)', text,
                                  re.MULTILINE))
        scripts = [p for p in self.files
                   if re.match(r'(tools|bench|tests)/.*\.(py|sh)$', p)]
        return (commands, usage[0] if usage else '',
                text + ''.join(map(self.read, scripts)))

    def has_name(self, name):
        """Does code have it, or one that its placeholders allow?"""
        if name in self.names:
            return True
        # Of the capitals of a constant, NAME alone stands for any text.
        name = re.sub('(?<=_)NAME', '*', name)
        glob = name if name.startswith('HONE_') else re.sub(
            '[A-Z]{2,}', '*', name)
        return '*' in glob and bool(fnmatch.filter(self.names, glob))

    def has_path(self, path):
        """Is there such a file or folder?"""
        path = path.rstrip('/')
        # A benchmark is named as it is run: bench/zero/zero_bench.
        if any((self.root / (path + e)).exists() for e in ('', '.cc')):
            return True
        pattern = pattern_of(path)
        return bool(pattern and any(map(pattern.fullmatch, self.paths)))

    def has_file(self, name):
        """Is there a file whose path ends like this?"""
        if self.has_path(name):
            return True
        if pattern_of(name) or '*' in name:
            glob = re.sub(r'[A-Z]{2,}', '*', name)
            return any(fnmatch.fnmatch(p, '*/' + glob) for p in self.paths)
        return any(p.endswith('/' + name) for p in self.paths)


class Page:
    """One file, and what it names."""

    def __init__(self, tree, path):
        self.tree = tree
        self.path = path
        text = tree.read(path)
        self.elsewhere = {}
        for match in ELSEWHERE.finditer(text):
            for word in match[1].replace(',', ' ').split():
                self.elsewhere[word] = line_of(text, match.start())
        # An exception is no use of what it lists.
        self.text = ELSEWHERE.sub(blank, text)
        self.used = set()
        self.wrong = set()

    def note(self, at, name, exists):
        """A name at this offset; a complaint unless it exists."""
        if exists:
            return
        if name in self.elsewhere:
            self.used.add(name)
        else:
            self.wrong.add((line_of(self.text, at), f'{name} does not exist'))

    def check_names(self, begin, end):
        """hone_* and HONE_* in a range of the text."""
        for match in NAME.finditer(self.text, begin, end):
            self.note(match.start(1), match[1], self.tree.has_name(match[1]))

    def check_paths(self, begin, end):
        """Paths from the root of the tree, in a range of the text."""
        for match in self.tree.path.finditer(self.text, begin, end):
            at = match.start(1)
            if not OTHERS.search(self.text, max(0, at - 40), at):
                self.note(at, match[1], self.tree.has_path(match[1]))

    def check_files(self, at, code):
        """Names of files in inline code, wherever these lie."""
        if OTHERS.search(self.text, max(0, at - 40), at):
            return
        for match in re.finditer(r'[^\s<>()"\'`=,;]+', code):
            word = match[0].rstrip('.:')
            if FILE.fullmatch(word) and not self.tree.path.match(word):
                self.note(at + match.start(), word, self.tree.has_file(word))

    def check_words(self, at, code):
        """Functions, and names of the PHP extension, in inline code."""
        if OTHERS.search(self.text, max(0, at - 40), at):
            return
        for match in WORD.finditer(code):
            word = match[1].removesuffix('()')
            exists = word in self.tree.words or bool(pattern_of(word))
            self.note(at + match.start(), word, exists)

    def check_dev(self, at, code):
        """`./dev bench zero --json FILE`"""
        match = re.match(r'\./dev\s+([a-z]+)\b([^|&;#\n]*)', code)
        if not match:
            return
        command, rest = match.groups()
        commands, usage, everything = self.tree.dev
        name = f'./dev {command}'
        self.note(at, name, command in commands)
        if command not in commands:
            return
        before = ''
        for word in rest.split():
            word, last = word.strip('[]().,:'), before
            before = word
            if re.fullmatch('--[a-z-]+', word):
                known = re.search(rf'{word}(?![\w-])', everything)
            elif re.fullmatch('[a-z]+', word) and not last.startswith('-'):
                known = (re.search(rf'\b{word}\b', usage)
                         or self.tree.has_path(f'src/{word}'))
            else:
                continue
            self.note(at, f'{name} {word}', bool(known))

    def check_links(self):
        """Links of Markdown, from the folder of the page."""
        folder = (self.tree.root / self.path).parent
        for match in LINK.finditer(self.prose()):
            if not re.match(r'[a-z]+:', match[1]):
                self.note(match.start(1), match[1],
                          (folder / match[1]).exists())

    def prose(self):
        """The text with fenced code blanked out, at the same offsets."""
        return FENCE.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]), self.text)

    def check_page(self):
        """A page of documentation."""
        self.check_names(0, len(self.text))
        self.check_paths(0, len(self.text))
        for match in SPAN.finditer(self.prose()):
            self.check_files(match.start(2), match[2])
            self.check_words(match.start(2), match[2])
            self.check_dev(match.start(2), match[2])
        for match in COMMAND.finditer(self.text):
            self.check_dev(match.start(1), match[1])
        if self.path.endswith('.md'):
            self.check_links()

    def check_comments(self):
        """A C source."""
        for match in COMMENT.finditer(self.text):
            self.check_names(*match.span())
            self.check_paths(*match.span())
            for name in PART.finditer(self.text, *match.span()):
                self.note(name.start(), name[1], name[1] in self.tree.words
                          or bool(pattern_of(name[1])))
            for path in BELOW.finditer(self.text, *match.span()):
                if path[1] in self.tree.folders:
                    self.check_files(path.start(), path[0])

    def complaints(self):
        """All that is wrong, by line."""
        for name, line in self.elsewhere.items():
            if name not in self.used:
                self.wrong.add((line, f'{name} is listed as named elsewhere '
                                'and need not be'))
        return sorted(self.wrong)


def check(root):
    """Complaints about all pages and comments, as FILE:LINE: WHAT."""
    tree = Tree(root)
    for path in tree.files:
        ending = pathlib.Path(path).suffix
        if ending not in PAGES | C_LIKE:
            continue
        page = Page(tree, path)
        if ending in PAGES:
            page.check_page()
        else:
            page.check_comments()
        for line, what in page.complaints():
            yield f'{path}:{line}: {what}'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    found = list(check(root))
    print('\n'.join(found))
    print(f'{len(found)} names that do not exist')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
