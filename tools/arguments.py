# SPDX-License-Identifier: BSD-3-Clause
"""Parses the arguments of a script of ./dev, and does not run the script:
arguments.py COMMAND SCRIPT ARGUMENT... ./dev calls it before it builds anything. If the
parser of SCRIPT would refuse an ARGUMENT, prints why in one line, and the status is 1."""
import argparse
import os
import runpy
import sys

COMMAND, SCRIPT = sys.argv[1:3]


def refuse(parser, why):
    """End with one line that lists the options, without those that are required
    and hence given by ./dev."""
    names = [action.option_strings[-1] for action in parser._actions
             if action.option_strings and action.help != argparse.SUPPRESS
             and action.dest not in GIVEN]
    sys.exit(f"dev: {COMMAND}: {why}; the options are: {' '.join(names)}")


def parse(parser):
    """In place of ArgumentParser.parse_args."""
    for action in parser._actions:
        if action.required and action.option_strings:
            GIVEN.add(action.dest)
            action.required = False
    unknown = parser.parse_known_args(sys.argv[1:])[1]
    if unknown:
        refuse(parser, f"'{unknown[0]}' is not an argument")
    sys.exit()


GIVEN = set()
argparse.ArgumentParser.parse_args = parse
argparse.ArgumentParser.error = refuse
sys.argv[:] = sys.argv[2:]
sys.path[0] = os.path.dirname(SCRIPT)
try:
    runpy.run_path(SCRIPT, run_name="__main__")
except ImportError:
    pass  # ./dev installs what SCRIPT needs
