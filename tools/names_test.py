#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""names.py finds each kind of name that does not exist, and no other."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import names  # noqa: E402

TREE = {
    'dev': 'usage() {\n    echo "./dev bench [all|PART] [--json F]"\n}\n'
           'case $1 in\nbench) cmd_bench ;;\nhelp | -h) usage ;;\nesac\n',
    'src/zero/avx2.c': 'int hone_zero_is_avx2; /* hone_gone_too() */\n',
    'src/zero/zero.h': '/* As docs/zero.md has it. */\n'
                       '#define HONE_ZERO_MIN 16\n'
                       '#define A(name) hone_zero_find_##name\n',
    'src/zero/variants.def': 'HONE_VARIANT(sve, aarch64, HONE_CPU_SVE)\n',
    'include/hone/zero.h': 'bool hone_buffer_is_zero(void);\n',
    'src/zero/vector.h': 'int scan, php_hone_scan; /* gone() */\n',
    'bench/zero/zero_bench.cc': '',
    'tests/zero/zero_test.py': '"HONE_SEED hone_only_in_python"\n',
    'docs/zero.md': '# zero\n',
}


def complaints(path, text):
    """What is said of one more file."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, content in {**TREE, path: text}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding='utf-8')
        return [line for line in names.check(root)
                if not line.startswith('src/zero/avx2.c:1: hone_gone_too ')]


def missing(text, path='docs/page.md'):
    """The names in a page that do not exist."""
    return [line.split(': ', 1)[1].replace(' does not exist', '')
            for line in complaints(path, text)]


class Names(unittest.TestCase):
    def test_the_tree_alone_is_right_but_for_its_planted_comment(self):
        self.assertEqual(complaints('README.md', ''), [])
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'a.c').write_text('int a; /* hone_gone() */\n')
            self.assertEqual(list(names.check(root)),
                             ['a.c:1: hone_gone does not exist'])

    def test_a_complaint_names_file_and_line(self):
        self.assertEqual(complaints('docs/page.md', 'a\n\n`hone_gone()`\n'),
                         ['docs/page.md:3: hone_gone does not exist'])

    def test_names_of_code(self):
        for name in ('hone_buffer_is_zero', 'HONE_ZERO_MIN', 'HONE_SEED',
                     'hone_zero_is_avx2', 'hone_zero_find_sve',
                     'hone_buffer_*', 'hone_*', 'hone_buffer_VERB_NOUN',
                     'hone_zero_is_NAME', 'HONE_CPU_NAME'):
            self.assertEqual(missing(f'{name}, `{name}()`'), [], name)
        for name in ('hone_gone', 'HONE_GONE', 'hone_only_in_python',
                     'hone_gone_too', 'hone_gone_*', 'hone_gone_NAME',
                     'HONE_GONE_NAME', 'hone_buffer_is_zero_'):
            self.assertEqual(missing(name), [name])

    def test_names_and_files_in_comments_of_c(self):
        for words, wrong in (
                ('php_hone_scan(), php_hone_*, php_hone_NOUN, Scan.image_x', []),
                ('image_gone() and php_hone_gone', ['image_gone', 'php_hone_gone']),
                ("zero/zero.h, linux/fs.h, QEMU's zero/gone.c, gone.c", []),
                ('zero/gone.h, zero/avx2.h.', ['zero/avx2.h', 'zero/gone.h'])):
            self.assertEqual(missing(f'/* {words} */', 'a.c'), wrong)

    def test_paths(self):
        for path in ('src/zero/', 'src/zero/avx2.c', 'src/PART/', 'tests',
                     'src/zero/NAME.c', 'docs/*.md', 'bench/PART/',
                     'bench/zero/zero_bench', "QEMU's src/gone.c",
                     'php/php-src', 'https://x.org/src/gone.c',
                     'build/gone.c'):
            self.assertEqual(missing(f'in {path}. In `{path}`:'), [], path)
        for path in ('src/gone/', 'src/zero/gone.c', 'src/NAME.md',
                     'docs/*.rst', 'bench/zero/gone_bench'):
            self.assertEqual(missing(f'in {path}.'), [path])

    def test_files_in_inline_code(self):
        for file in ('zero.h', 'avx2.c', 'hone/zero.h', 'zero/avx2.c',
                     'zero_*.py', '<hone/zero.h>', 'disk.img'):
            self.assertEqual(missing(f'`{file}`, ``{file}``'), [], file)
        for file in ('gone.h', 'hone/gone.h', 'gone/avx2.c', 'gone_*.py'):
            self.assertEqual(missing(f'`{file}`'), [file])
        self.assertEqual(missing("PHP's `gone.c`, and gone.c in text"), [])

    def test_functions_in_inline_code(self):
        for code in ('scan()', '`scan(p)` `gone(p)` `php_hone_scan`',
                     '`scan()` `php_hone_scan()` `NAME_run()` `a->gone()`',
                     "PHP's `gone()`", 'gone() in text'):
            self.assertEqual(missing(code), [], code)
        for code in ('`gone()`', '``gone()``', '`scan(); gone();`'):
            self.assertEqual(missing(code), ['gone'])
        self.assertEqual(missing('`php_hone_gone`'), ['php_hone_gone'])

    def test_commands(self):
        for text in ('`./dev bench zero --json FILE`', '`./dev help`',
                     '`./dev bench all`',
                     '    ./dev bench --json x | less', '`./dev\nbench`'):
            self.assertEqual(missing(text), [], text)
        self.assertEqual(missing('`./dev gone`'), ['./dev gone'])
        self.assertEqual(missing('    ./dev gone # not there'),
                         ['./dev gone'])
        self.assertEqual(missing('`./dev bench esac --lost`'),
                         ['./dev bench --lost', './dev bench esac'])

    def test_links(self):
        self.assertEqual(missing('[a](zero.md#zero) [b](../dev) [c](#d)'), [])
        self.assertEqual(missing('[a](gone.md)'), ['gone.md'])
        self.assertEqual(missing('```c\nx[i](gone)\n```\n'), [])

    def test_comments_of_sources(self):
        self.assertEqual(missing('/* See docs/gone.md,\n * hone_gone() */\n'
                                 'int hone_new; char *a = "docs/lost.md";\n',
                                 'src/a.c'),
                         ['docs/gone.md', 'hone_gone'])

    def test_exceptions_are_listed_and_needed(self):
        marker = '<!-- names elsewhere: {} -->\n'
        self.assertEqual(
            missing('`hone_gone`\n' + marker.format('hone_gone')), [])
        self.assertEqual(
            missing('.. names elsewhere: src/gone.c, hone_gone\n\n'
                    'src/gone.c and hone_gone', 'docs/page.rst'), [])
        for unneeded in ('hone_gone', 'hone_buffer_is_zero'):
            self.assertEqual(
                complaints('docs/page.md', '\n' + marker.format(unneeded)),
                [f'docs/page.md:2: {unneeded} is listed as named elsewhere '
                 'and need not be'])


if __name__ == '__main__':
    unittest.main()
