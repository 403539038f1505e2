#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Simulate when threads of a queue that share a CPU yield: docs/design/ring.md.

Beside a program that computes for 10 ms at a time. The rule is that of
queue_give_way() in src/ring/queue.c; the times are in seconds.
"""
SECONDS = 60
BUSY = 10e-3
SLEEP, SLEEP_BESIDE, YIELD, SLICE = 6.7e-6, 11e-6, 2.6e-6, 3e-3
CALM, SLOW_MAX = 20e-3, 7


def simulate(period, halves):
    """(replies, the part of them that yielded, lost time slices) of a run"""
    now = calm = 0.0
    slow = waits = yields = lost = 0
    while now < SECONDS:
        needed = CALM * 2 ** slow
        phase = now % period
        waits += 1
        if calm < needed:
            took = SLEEP_BESIDE if phase < BUSY else SLEEP
            calm = min(calm + took, needed)
            now += took
            continue
        yields += 1
        if phase < BUSY:
            took = min(SLICE, BUSY - phase)
            now += took
            if took >= 0.5e-3:
                slow = min(slow + 1, SLOW_MAX)
                lost += 1
            calm = 0.0
            continue
        now += YIELD
        if halves and slow > 0:
            calm += YIELD
            if calm >= 1.5 * needed:
                slow -= 1
                calm = needed / 2
    return waits / SECONDS, yields / waits, lost / SECONDS


for each in 10, 3, 1, 0.1, 0.05:
    for halved in False, True:
        rate, part, slices = simulate(each, halved)
        print(f"each {each} s, {'halved' if halved else 'never halved'}: "
              f"{rate:,.0f} replies/s, {part:.2f} yield, {slices:.2f} lost/s")
