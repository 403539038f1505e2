# SPDX-License-Identifier: BSD-3-Clause
"""The files of classes change below one running php-fpm with opcache: a fetch
returns what unserialize() returns in a new process that has the new files."""
import json
import os
import shutil
from urllib.parse import urlencode

import pytest

import fpm

PAGE = os.path.join(fpm.PAGES, 'deploy.php')
MODES = ('shared', 'block', 'copy', 'auto')

ITEM = ('class Item extends Root { public int $id = 1; protected $kept = [2]; '
        'private ?Part $part = null; public ?Of $of = null; '
        'static function made() { $i = new Item; $i->id = 5; $i->part = new Part; '
        '$i->of = $i->part; $i->kept = [$i->part, [Kind::A]]; return $i; } }')
FILES = {
    'Item': ITEM,
    'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; }',
    'Own': 'trait Own { private array $own = [1, 2]; }',
    'Of': 'interface Of {}',
    'Part': 'class Part implements Of { public $p = 1; public Kind $kind = Kind::B; '
            'public $text = Texts::NAME; }',
    'Kind': 'enum Kind: string { case A = "a"; case B = "b"; const C = self::A; }',
    'Texts': 'class Texts { const NAME = "name"; }',
}
CHANGES = {
    'nothing': {},
    'the parent: a property more': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; public $more = 1; }'},
    'the parent: a property less': {'Root': 'class Root { use Own; private $hidden = 7; }'},
    'the parent: another name': {'Root': 'class Root { use Own; private $secret = 7; protected $shown = "s"; }'},
    'the parent: more visible': {'Root': 'class Root { use Own; public $hidden = 7; public $shown = "s"; }'},
    'the parent: a type': {'Root': 'class Root { use Own; private int $hidden = 7; protected ?array $shown = null; }'},
    'the parent: readonly': {'Root': 'class Root { use Own; private readonly int $hidden; protected $shown = "s"; }'},
    'the parent: static': {'Root': 'class Root { use Own; private static $hidden = 7; protected static $shown = "s"; }'},
    'the parent: other defaults': {'Root': 'class Root { use Own; private $hidden = 70; protected $shown = Texts::NAME; }'},
    'the parent: another order': {'Root': 'class Root { protected $shown = "s"; private $hidden = 7; use Own; }'},
    'the parent: abstract': {'Root': 'abstract class Root { use Own; private $hidden = 7; protected $shown = "s"; }'},
    'the parent: an abstract method': {'Root': 'abstract class Root { use Own; private $hidden = 7; protected $shown = "s"; abstract function f(); }'},
    'the parent: final': {'Root': 'final class Root { use Own; private $hidden = 7; protected $shown = "s"; }'},
    'the parent: readonly class': {'Root': 'readonly class Root { }'},
    'the parent: gone': {'Root': None},
    'the parent: an interface': {'Root': 'interface Root {}'},
    'the parent: an enum': {'Root': 'enum Root { case A; }'},
    'the parent: a file without it': {'Root': ''},
    'the parent: a file with an error': {'Root': 'class Root {'},
    'the parent: __wakeup': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; function __wakeup() { Objects\\Log::add("awake"); } }'},
    'the parent: __unserialize': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; function __unserialize(array $d) { Objects\\Log::add(json_encode(array_keys($d))); } }'},
    'the parent: __serialize and __unserialize': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; function __serialize(): array { return []; } function __unserialize(array $d) { Objects\\Log::add(json_encode(array_keys($d))); } }'},
    'the parent: __unserialize that throws': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; function __unserialize(array $d) { throw new LogicException("no"); } }'},
    'the parent: __sleep': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; function __sleep() { throw new LogicException("no"); } }'},
    'the parent: __destruct': {'Root': 'class Root { use Own; private $hidden = 7; protected $shown = "s"; function __destruct() { Objects\\Log::add("destructor"); } }'},
    'the parent: ArrayObject': {'Root': 'class Root extends ArrayObject { use Own; private $hidden = 7; protected $shown = "s"; }'},
    'the parent: dynamic properties': {'Root': '#[AllowDynamicProperties] class Root { }'},
    'the parent: Serializable': {'Root': 'class Root implements Serializable { use Own; private $hidden = 7; protected $shown = "s"; '
                                         'function serialize() {} function unserialize($d) {} function __serialize(): array { return []; } function __unserialize(array $d): void {} }'},
    'another parent': {'Item': ITEM.replace('Root', 'Other'), 'Other': 'class Other { public $hidden = 8; protected $shown = "o"; private array $own = [3]; }'},
    'a parent in between': {'Item': ITEM.replace('Root', 'Between'), 'Between': 'class Between extends Root { private $own = "between"; }'},
    'no parent': {'Item': ITEM.replace('extends Root', '')},
    'the trait: a property more': {'Own': 'trait Own { private array $own = [1, 2]; public $more = 2; }'},
    'the trait: no property': {'Own': 'trait Own {}'},
    'the trait: __wakeup': {'Own': 'trait Own { private array $own = [1, 2]; function __wakeup() { Objects\\Log::add("awake"); } }'},
    'the trait: gone': {'Own': None},
    'the trait: a class': {'Own': 'class Own {}'},
    'the part: no longer of the interface': {'Part': FILES['Part'].replace('implements Of', '')},
    'the part: gone': {'Part': None},
    'the part: abstract': {'Part': 'abstract ' + FILES['Part']},
    'the part: an enum': {'Part': 'enum Part implements Of { case P; }'},
    'the part: an alias': {'Part': 'class Whole implements Of { public $p = 1; } class_alias("Whole", "Part");'},
    'the part: in other letters': {'Part': FILES['Part'].replace('Part', 'PART')},
    'the part: a typed property': {'Part': FILES['Part'].replace('public $p', 'public string $p')},
    'the part: a type that does not fit': {'Part': FILES['Part'].replace('public $p = 1', 'public array $p = []')},
    'the part: a default that is gone': {'Texts': 'class Texts { }'},
    'the part: a class of a default that is gone': {'Texts': None},
    'the part: another default': {'Texts': 'class Texts { const NAME = "other"; }'},
    'the interface: gone': {'Of': None},
    'the interface: a method more': {'Of': 'interface Of { function f(); }'},
    'the interface: a class': {'Of': 'class Of {}'},
    'the enum: a case less': {'Kind': 'enum Kind: string { case B = "b"; }'},
    'the enum: other values': {'Kind': 'enum Kind: string { case A = "A"; case B = "B"; }'},
    'the enum: ints': {'Kind': 'enum Kind: int { case A = 1; case B = 2; }'},
    'the enum: no values': {'Kind': 'enum Kind { case A; case B; }'},
    'the enum: a constant': {'Kind': 'enum Kind: string { const A = self::B; case B = "b"; }'},
    'the enum: a case that is the same value twice': {'Kind': 'enum Kind: string { case A = "b"; case B = "b"; }'},
    'the enum: a constant that fails': {'Kind': FILES['Kind'].replace('self::A', 'Missing::X')},
    'the enum: a constant of another class': {'Kind': FILES['Kind'].replace('self::A', 'More::X'), 'More': 'class More { const X = 1; }'},
    'the enum: a case that fails': {'Kind': FILES['Kind'].replace('"a"', 'Missing::X . "a"')},
    'the enum: a case of another class': {'Kind': FILES['Kind'].replace('"a"', 'More::X . "a"'), 'More': 'class More { const X = 1; }'},
    'the enum: a case of another type': {'Kind': FILES['Kind'].replace('"a"', 'More::X'), 'More': 'class More { const X = 1; }'},
    'the enum: a class': {'Kind': 'class Kind { const A = 1; const B = 2; }'},
    'the enum: gone': {'Kind': None},
    'the class: gone': {'Item': None},
    'the class: an error in its file': {'Item': 'class Item {'},
    'the class: a file that throws': {'Item': 'throw new LogicException("no file");'},
    'the class: a file that warns': {'Item': 'trigger_error("old", E_USER_DEPRECATED); ' + ITEM},
    'the class: a file that stores': {'Item': 'Hone\\Cache::store("other", [new stdClass]); ' + ITEM},
    'the class: an enum': {'Item': 'enum Item { case A; }'},
    'the class: a trait': {'Item': 'trait Item {}'},
    'the class: abstract': {'Item': 'abstract ' + ITEM},
    'the class: abstract in fact': {'Item': ITEM.replace('extends Root', 'extends Root implements Countable')},
    'the class: an override that does not fit': {'Item': ITEM.replace('static function', 'public int $shown = 1; static function')},
    'the class: an override that is less visible': {'Item': ITEM.replace('static function', 'private $shown = "p"; static function')},
    'the class: a wider override': {'Item': ITEM.replace('static function', 'public $shown = "p"; private $hidden = "h"; static function')},
    'the class: another type': {'Item': ITEM.replace('?Part $part', '?Texts $part')},
    'the class: a type that exists no more': {'Item': ITEM.replace('?Of $of', '?Missing $of')},
    'the class: a wider type': {'Item': ITEM.replace('?Part $part', '?object $part').replace('int $id', 'int|string $id')},
    'the class: a narrower type': {'Item': ITEM.replace('?Of $of', '?Part $of')},
    'the class: an intersection': {'Item': ITEM.replace('?Of $of = null', 'Of&Countable $of').replace('?Part $part = null', 'Of&Part $part')},
}
SETTINGS = {
    'hone.cache_size': '32M', 'opcache.enable': 1, 'opcache.validate_timestamps': 1,
    'opcache.revalidate_freq': 0, 'opcache.file_update_protection': 0,
    'display_errors': 1, 'html_errors': 0, 'log_errors': 0}


class Deploy:
    """A worker, and the folder of its classes."""

    def __init__(self, start_fpm, server, folder):
        self.server, self.folder, self.time = server, folder / 'classes', 10 ** 9
        self.master = start_fpm(
            {'zend_extension': 'opcache', **SETTINGS},
            {'www': {'pm': 'static', 'pm.max_children': 1}})
        self.pid = None

    def write(self, files):
        """The deploy: the folder has these files, with new times."""
        self.folder.mkdir(exist_ok=True)
        self.time += 10
        for name, code in files.items():
            path = self.folder / f'{name}.php'
            if code is None:
                path.unlink(missing_ok=True)
                continue
            new = self.folder / 'new'
            new.write_text('<?php ' + code)
            os.utime(new, (self.time, self.time))
            new.rename(path)

    def ask(self, **query):
        answer = self.master.page('www', script=PAGE, **self.query(query))
        assert not answer.errors, answer.errors
        return answer.body

    def ask_new_process(self, **query):
        """The same of a process that has no classes yet."""
        result = self.server.php(
            [PAGE, urlencode(self.query(query))],
            ['display_errors=1', 'html_errors=0', 'log_errors=0', 'hone.cache_cli=1'])
        assert result.returncode in (0, 255), result
        return result.stdout.encode()

    def query(self, more):
        return {'folder': self.folder, 'code': '', 'read': 'auto', 'once': 0, **more}

    def differs(self, before, after, value, code=''):
        """The first difference after a deploy, or None."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.write(before)
        stored = json.loads(self.ask(do='store', value=value))
        self.pid = self.pid or stored['pid']
        assert stored == {'stored': True, 'type': 'objects', 'not cached': [],
                          'pid': self.pid}, stored
        self.write({name: None for name in before if name not in after})
        self.write(after)
        fetches = [('item', mode, 0) for mode in MODES]
        if 'delete' in code:
            # After one fetch, the value is gone.
            fetches = [('gone', 'auto', 1)]
        wanted = self.ask_new_process(
            do='fetch', by='unserialize', code=code, once=fetches[0][2])
        for by, read, once in fetches:
            found = self.ask(do='fetch', by=by, read=read, code=code, once=once)
            if found != wanted:
                return f'{read}:\n+ {found!r}\n- {wanted!r}'
        return None


def none_differs(deploy, cases):
    """Fails with all differences of {name: arguments of differs()}."""
    found = [f'{name}, {difference}' for name, case in cases.items()
             for difference in [deploy.differs(*case)] if difference]
    if found:
        pytest.fail('\n'.join(found), pytrace=False)


@pytest.fixture
def deploy(start_fpm, server, tmp_path):
    return Deploy(start_fpm, server, tmp_path)


def test_a_file_that_changes_has_the_result_of_unserialize(deploy, server):
    cases = json.loads(server.php([PAGE, 'do=cases']).stdout)
    assert len(cases) > 120
    none_differs(deploy, {
        name: ({'all': before}, {'all': after}, value, *code)
        for name, (before, after, value, *code) in cases.items()})


@pytest.mark.parametrize('value', (
    'Item::made()',
    '["a" => Item::made(), "k" => [new Part, Kind::A], new stdClass]'))
def test_classes_that_are_autoloaded_change_one_by_one(deploy, value):
    none_differs(deploy, {
        name: (FILES, {**FILES, **change}, value)
        for name, change in CHANGES.items()})
