#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time the extension's cache beside APCu, yac, opcache, memcached and Redis.

Calls of one process (calls.py), readers and a writer (crowd.py), hit rates
(hits.py), bytes of values (memory.py), pages of real programs (pages.py), and
instructions of real programs that cache objects (counts). What is not there is
skipped and named. memcached and Redis listen on sockets in a temporary folder
alone, and end with the benchmark.

Exits 1 if a target is missed, or if the extension's cache has no figure in a
case or gives a wrong value.
"""
import argparse
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import calls  # noqa: E402
import count  # noqa: E402
import crowd  # noqa: E402
import hits  # noqa: E402
import memory  # noqa: E402
import pages  # noqa: E402
import programs  # noqa: E402

sys.path.append(str(HERE.parent / 'support'))
import report  # noqa: E402 (from bench/support)
import rivals  # noqa: E402

PARTS = ('calls', 'crowd', 'hits', 'bytes', 'pages', 'counts')
# Those of programs that Debian 12 has for its PHP.
OF_DEBIAN_12 = ('pages', 'counts')


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--php-cgi', default='php-cgi8.2')
    parser.add_argument('--php', default='php8.2')
    parser.add_argument('--module', type=Path, required=True, help='hone.so')
    parser.add_argument('--unpacked', type=Path, required=True,
                        help="Debian's packages of the rivals, unpacked")
    parser.add_argument('--real', type=Path,
                        help="Debian's packages of the pages, unpacked")
    parser.add_argument('--parts', default=','.join(PARTS),
                        help=f'some of {",".join(PARTS)} (all)')
    parser.add_argument('--rivals', choices=('newest', 'debian12'),
                        default='newest',
                        help='PHP and the rivals of Debian sid, in a chroot\n'
                        '(needs root; without pages and counts), or those of\n'
                        'this system')
    parser.add_argument('--root', type=Path, help=argparse.SUPPRESS)
    parser.add_argument('--opcache', default='on,off',
                        help='calls: on, off or both (on,off)')
    parser.add_argument('--keys', choices=(*hits.ORDERS, 'all'),
                        default='zipf-0.9',
                        help='hits: the order of the keys (zipf-0.9); all: a\n'
                        'line for each order and size, and nothing else')
    parser.add_argument('--request', type=int, default=1000, metavar='KEYS',
                        help='hits: keys that a request fetches (1000)')
    parser.add_argument('--only', default='',
                        help='cases whose name has this')
    parser.add_argument('--rounds', type=int, default=15,
                        help='samples of each kind (15)')
    parser.add_argument('--json', type=Path, help='write the results there')
    parser.add_argument('--noisy', action='store_true',
                        help='other programs run here: take the least of all\n'
                        'samples in place of the median')
    parser.add_argument('--count', metavar='SUBJECTS',
                        help='time nothing; count instructions of these\n'
                        'subjects: hone,apcu-igbinary; with --rivals debian12')
    parser.add_argument('--profile', type=Path, metavar='FILE',
                        help="time nothing; write callgrind's FILE of the\n"
                        'first case of --only; with --rivals debian12')
    args = parser.parse_args()
    if args.keys == 'all' and args.parts != 'hits':
        parser.error('--keys all needs --parts hits')
    if args.keys == 'all' and args.only:
        parser.error('--keys all measures arrays, and has no --only')
    if args.root and (args.count or args.profile):
        parser.error('--count and --profile need --rivals debian12: the chroot '
                     'has no valgrind')
    # A request belongs to one half of the stream.
    if args.request < 1 or hits.HALF % args.request:
        parser.error(f'--request: {hits.HALF} is no multiple of it')
    return args


def command(args):
    """What to type for this run."""
    return ' '.join(['./dev bench cache', *(
        f'--{name} {value}' for name, value, default in (
            ('parts', args.parts, ','.join(PARTS)),
            ('keys', args.keys, 'zipf-0.9'), ('request', args.request, 1000),
            ('only', shlex.quote(args.only), "''"),
            ('opcache', args.opcache, 'on,off'),
            ('rivals', 'newest' if args.root else 'debian12', 'newest'))
        if value != default)])


def measure(args, kit):
    """The report."""
    for part in OF_DEBIAN_12:
        if args.root and part in args.parts.split(','):
            print(f'left out: {part}, which needs --rivals debian12')
    parts = [part for part in args.parts.split(',')
             if not (args.root and part in OF_DEBIAN_12)]
    results, rates, arrays, sizes, counts, troubles = {}, {}, {}, {}, {}, []
    parts_of_arrays = {}
    with programs.Servers(kit) as servers:
        skipped = dict(servers.skipped)
        if 'calls' in parts:
            found, trouble = calls.measure(
                kit, skipped, args.opcache.split(','), args.rounds, args.only,
                args.noisy)
            results.update(found)
            troubles += trouble
    if 'crowd' in parts:
        found, trouble = crowd.measure(kit, skipped, args.rounds, args.only,
                                       args.noisy)
        results.update(found)
        troubles += trouble
    if 'hits' in parts:
        rates, trouble = hits.measure(kit, args, skipped, 'texts')
        troubles += trouble
        arrays, trouble = hits.measure(kit, args, skipped, 'arrays')
        troubles += trouble
        parts_of_arrays, trouble = hits.measure_parts(kit, args, skipped)
        troubles += trouble
    if 'bytes' in parts:
        sizes, trouble = memory.measure(kit, skipped, args.only)
        troubles += trouble
    if 'pages' in parts and args.real:
        found, trouble = pages.measure(
            kit, args.real.resolve(), args.php, max(3, args.rounds // 2), 20,
            args.only)
        results.update(found)
        troubles += trouble
    if 'counts' in parts and args.real:
        counts, trouble = count.measure(kit, args.only)
        found, more = pages.measure(kit, args.real.resolve(), args.php, 0, 0,
                                    args.only, counted=True)
        counts.update(found)
        troubles += trouble + more
    return {'machine': report.machine(),
            'command': command(args),
            'rivals': rivals.about(args.root),
            'versions': kit.versions(),
            'rounds': args.rounds, 'noisy': args.noisy,
            'parts': {'cache': results}, 'hits': rates, 'array_hits': arrays,
            'array_parts': parts_of_arrays,
            'bytes': sizes, 'instructions': counts, 'skipped': skipped,
            'troubles': [{'case': case, 'subject': subject, 'reason': reason}
                         for case, subject, reason in troubles]}


def failed(made):
    """Is a target missed, or the extension's cache without a figure?"""
    return (any(t['verdict'] != 'ok' for t in made['targets']['cache']) or
            any(t['subject'].startswith('hone') for t in made['troubles']) or
            any(s.startswith('hone') for s in made['skipped']))


def all_orders(args, kit):
    """--keys all."""
    rows, troubles = hits.measure_orders(kit, args, set())
    for trouble in troubles:
        print('; '.join(trouble))
    if args.json:
        report.save(args.json, {
            'machine': report.machine(), 'command': command(args),
            'versions': kit.versions(), 'rivals': rivals.about(args.root),
            'array_orders': rows})
    return int(any(subject.startswith('hone') for _, subject, _ in troubles))


def one_case(args, kit):
    """--count and --profile."""
    if args.count:
        count.table(kit, args.only, args.count.split(','))
        return 0
    case = calls.cases(['off'], args.only)[0]
    print(f'{case.name}: {args.profile}')
    count.profile(kit, case, 'hone', args.profile.resolve())
    subprocess.run(['callgrind_annotate', args.profile], check=False)
    return 0


def main():
    args = arguments()
    # The servers end too: "with" and "finally" are left in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix='hone-cache-') as work:
        kit = programs.Kit(args.php_cgi, args.php, args.module.resolve(),
                           args.unpacked.resolve(), Path(work),
                           args.real and args.real.resolve(),
                           args.root and args.root.resolve())
        try:
            if args.count or args.profile:
                return one_case(args, kit)
            if args.keys == 'all':
                return all_orders(args, kit)
            made = measure(args, kit)
        except programs.Trouble as trouble:
            sys.exit(f'cache.py: {trouble}')
    report.print_report(made)
    if args.json:
        report.save(args.json, made)
    return 1 if failed(made) else 0


if __name__ == '__main__':
    sys.exit(main())
