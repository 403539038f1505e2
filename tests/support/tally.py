#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the results of all the stages of ./dev test.

tally.py [--all] STAGES NAME...

STAGES has a line for each file of results, in any order: the name of the stage,
its exit status, the kind of the results and where they are, split by tabs. Kinds:
meson (testlog.json), pytest (JUnit XML), tap, none (the status is the result).
Every NAME must be among the stages.

Prints each failure and each skip with its reason, and last, alone on a line,
"N passed, N failed, N skipped". Exits 1 on any failure, on a stage that is
missing or left no results, and if nothing ran at all. With --all, so of
./dev test --all, a skip for want of a program or package is a failure: the
command has installed all of them.
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PASS, FAIL, SKIP = 'passed', 'failed', 'skipped'

TAP_PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$', re.I)
TAP_LINE = re.compile(r'^(not )?ok\b\s*(\d*)\s*(.*)$')
TAP_SKIP = re.compile(r'^(.*?)\s*#\s*skip\S*\s*(.*)$', re.I)


def tap_line(failed, text, comment):
    """(result, name, reason) of one "ok" or "not ok" line."""
    skip = TAP_SKIP.match(text)
    if skip:
        # cmocka 1.1 writes "not ok 2 # SKIP name", and the reason is what
        # the test printed before.
        before, after = skip.groups()
        name = re.sub(r'^-\s*', '', before) or after
        return SKIP, name, (after if before else comment) or comment
    name = re.sub(r'^-\s*', '', text)
    return (FAIL if failed else PASS), name, ''


def tap_results(text):
    """[(result, name, reason)] of TAP, or None if it is none."""
    results, planned, comment = [], 0, ''
    seen_plan = False
    for line in text.splitlines():
        plan = TAP_PLAN.match(line)
        test = TAP_LINE.match(line)
        if plan:
            seen_plan = True
            planned += int(plan[1])
            if int(plan[1]) == 0:
                reason = plan[2] or 'no reason given'
                results.append((SKIP, '', reason))
                planned += 1
        elif test:
            results.append(tap_line(test[1], test[3], comment))
            comment = ''
        elif line.startswith('#'):
            comment = line.lstrip('# ').strip()
            if results and results[-1][0] == FAIL:
                # cmocka prints the reason of a failure after it.
                result, name, reason = results[-1]
                results[-1] = (result, name, f'{reason} {comment}'.strip())
    if not seen_plan and not results:
        return None
    if not seen_plan:
        results.append((FAIL, 'plan', 'no plan: it ended early'))
    elif planned != len(results):
        results.append((FAIL, 'plan',
                        f'{planned} tests planned, {len(results)} reported, '
                        f'the last: {results[-1][1] if results else "none"}'))
    return results


def last_line(text):
    lines = [line for line in (text or '').splitlines() if line.strip()]
    return lines[-1].strip() if lines else 'no output'


def meson_test(test):
    """Results of one test of testlog.json."""
    outcome, out = test['result'], test.get('stdout') or ''
    err = test.get('stderr') or ''
    good = outcome in ('OK', 'EXPECTEDFAIL')
    results = tap_results(out)
    if results is not None:
        bad = any(result == FAIL for result, _, _ in results)
        if not good and outcome != 'SKIP' and not bad:
            results.append((FAIL, outcome, last_line(err or out)))
        return results
    if good:
        return [(PASS, '', '')]
    if outcome == 'SKIP':
        return [(SKIP, '', last_line(out + '\n' + err))]
    return [(FAIL, '', f'{outcome}: {last_line(err or out)}')]


def meson_results(path):
    results = []
    for line in path.read_text(errors='replace').splitlines():
        test = json.loads(line)
        title = test['name'].split(' / ')[-1]
        for result, name, reason in meson_test(test):
            results.append((result, f'{title} {name}'.strip(), reason))
    return results


def pytest_results(path):
    results = []
    for case in ElementTree.parse(path).iter('testcase'):
        result, reason = PASS, ''
        for child in case:
            # run-tests.php warns of a test that should have failed.
            if child.tag in ('failure', 'error', 'warning'):
                result = FAIL
            elif child.tag == 'skipped' and result == PASS:
                result = SKIP
            else:
                continue
            text = child.get('message') or child.text or 'no reason given'
            reason = text.splitlines()[0]
        name = f"{case.get('classname', '')} {case.get('name', '')}".strip()
        results.append((result, name, reason))
    return results


READERS = {
    'meson': meson_results,
    'pytest': pytest_results,
    'tap': lambda path: tap_results(path.read_text(errors='replace')) or [],
    'none': lambda path: [],
}


def without_want(result, name, reason):
    """The same, but in ./dev test --all nothing may be missing."""
    if (result == SKIP and sys.argv[1] == '--all' and
            re.search(r'(is|are) not (installed|set|below)|could not import|'
                      r'there is no ', reason)):
        result = FAIL
    return result, name, reason


def stage_results(status, kind, path):
    """Results in one file."""
    if kind == 'none':
        return [(FAIL if status else PASS, '', f'exit status {status}')]
    try:
        results = READERS[kind](path)
    except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
        return [(FAIL, '', f'exit status {status}, no results: {error}')]
    if not results:
        return [(FAIL, '', f'exit status {status}, no test was run')]
    return results


def main():
    words = [word for word in sys.argv[1:] if word != '--all']
    stages, expected = Path(words[0]), words[1:]
    rows = [line.split('\t') for line in stages.read_text().splitlines()]
    ran = [row[0] for row in rows]
    # The stages end in any order; print them in the order of the names.
    rows.sort(key=lambda row: (expected + ran).index(row[0]))
    found = []
    for name, status, kind, path in rows:
        for result in stage_results(int(status), kind, Path(path)):
            found.append((name, *without_want(*result)))
    # A stage that failed always has a failure.
    for name, status in dict(row[:2] for row in rows).items():
        if status != '0' and not any(each[:2] == (name, FAIL) for each in found):
            found.append((name, FAIL, '', f'exit status {status}, every test passed'))
    for name in expected:
        if name not in ran:
            found.append((name, FAIL, '', 'this stage was not run'))

    counts = {PASS: 0, FAIL: 0, SKIP: 0}
    for stage, result, name, reason in found:
        counts[result] += 1
    for kind, word in ((SKIP, 'skip'), (FAIL, 'FAIL')):
        for stage, result, name, reason in found:
            if result == kind:
                print(f'{word}  {stage}: {name}{": " if name else ""}'
                      f'{reason or "no reason given"}')
    print(f'{counts[PASS]} passed, {counts[FAIL]} failed, {counts[SKIP]} skipped')
    return 1 if counts[FAIL] or not counts[PASS] else 0


if __name__ == '__main__':
    sys.exit(main())
