# SPDX-License-Identifier: BSD-3-Clause
"""What docs/benchmarks.md, the chart and the table of README.md show of the
kept runs. A row is a case; by itself it has the comparisons of cases.py."""
import collections

import cases

# subject and rivals are those of cases.py if None.
Row = collections.namedtuple("Row", "case label subject rivals",
                             defaults=(None, None, None))
Table = collections.namedtuple("Table", "title note rows")


def rows(*names):
    """A row for each case, with the names of cases.py."""
    return [Row(name) for name in names]


ABOUT = {
    "zero": ("is this buffer all zeros, and where is it not",
             "[reasons and limits](design/zero.md)"),
    "copy": ("copies that keep the data in cache or write past it",
             "[reasons and limits](design/copy.md)"),
    "mempool": ("objects of one size, taken and given back by many threads",
                "[reasons and limits](design/mempool.md)"),
    "ring": ("pointers from thread to thread",
             "[reasons and limits](design/ring.md)"),
    "stream": ("files, lines and messages",
               "[reasons and limits](design/stream.md)"),
    "php": ("PHP's file functions without and with the extension",
            "[reasons and limits](design/php-files.md)"),
    "cache": ("values of PHP that processes share",
              "[reasons and limits](design/cache.md)"),
}

VALUES = ("20 B", "1 KB", "64 integers", "100 keys", "600 options",
          "2,000 rows", "10,000 nested", "object graph")

TABLES = {
    "zero": [Table("", "The library is linked statically, as the rivals are. "
                   "A call into the shared library takes up to 2 ns "
                   "more (`hone-shared` in the runs).", rows(
                       "hot-16", "hot-24", "hot-100", "hot-256", "hot-512",
                       "hot-1K", "hot-4K", "hot-32K", "hot-1M", "hot-64M",
                       "hot-512M", "misaligned-512", "misaligned-4K",
                       "lengths-1..64", "lengths-1..256", "nonzero-first-4K",
                       "nonzero-anywhere-4K", "cold-4K"))],
    "copy": [
        Table("In cache, KEEP", "", rows(
            "hot-8", "hot-16", "hot-64", "hot-256", "hot-1K", "hot-4K",
            "hot-32K", "hot-1M", "both17-4K", "dst17-32K", "lengths-1..64",
            "lengths-1..256", "first-word-8..64")),
        Table("Past the cache, STREAM, both sides cold", "", rows(
            "cold-4K", "cold-16K", "cold-64K", "cold-256K", "cold-1M",
            "cold-4M", "cold-64M", "cold-256M", "clear-cold-1M")),
        Table("Both sides cold, then the copy is read",
              "The copy is read in order, or line by line as a list of "
              "pointers. STREAM is the wrong policy for a list.",
              [Row(f"{how}-{size}",
                   f"{cases.size(size)}, {word}, {policy.upper()}",
                   policy, ("glibc",))
               for how, word in (("read", "in order"), ("chase", "a list"))
               for size in ("64K", "1M", "16M")
               for policy in ("keep", "stream")]),
        Table("Inline copies, whole lines, pointers, constant sizes, clearing",
              "Inline: a copy of a size that the compiler does not know, "
              "in the loop that is timed.", rows(
            "inline-8", "inline-16", "inline-32", "inline-64", "inline-8..64",
            "blocks-1", "blocks-16", "blocks-512", "pointers-8",
            "pointers-1..8", "constant-64", "clear-hot-64", "clear-hot-4K",
            "cold-src-4M")),
    ],
    "mempool": [
        Table("Beside pools", "M pairs of get and put a second, all threads "
              "together.",
              rows("1t-keep512-n1", "1t-keep512-n32", "1t-keep8192-n32",
                   "1t-touched-keep512-n32", "2t-keep512-n32",
                   "2t-keep8192-n32", "one-cpu-keep8192-n32", "cross-n1",
                   "cross-n32", "cross-n256") +
              [Row("1t-keep512-n1", "1 thread, 512 kept, 1 a call, cursor",
                   "hone-cursor", cases.POOL),
               Row("2t-keep8192-n256", "2 threads, 8192 kept, whole "
                   "magazines", "hone-magazine", cases.POOL),
               Row("one-cpu-keep8192-n32", "2 threads, 1 CPU, 8192 kept, "
                   "beside DPDK's default", "hone", ("dpdk-ring",))] +
              rows("native-1t-keep32-n32", "native-1t-keep512-n32")),
        Table("Beside malloc", "", rows(
            "64B-1t-keep512-n32", "64B-2t-keep8192-n32", "64B-cross-n32",
            "2048B-2t-keep512-n32", "2048B-cross-n32")),
    ],
    "ring": [
        Table("One producer, one consumer", "M elements a second.",
              [Row(name, None, "hone-spsc", cases.SPSC) for name in (
                  "alone-n1", "alone-n8", "pipe-n1", "pipe-n8", "pipe-n32",
                  "pipe-n256", "one-cpu-pipe-n1", "one-cpu-pipe-n32")]),
        Table("Any number of either", "",
              [Row(name, None, "hone-mpmc", cases.MPMC) for name in (
                  "alone-n1", "alone-n8", "alone-n32", "pipe-n1", "pipe-n32",
                  "both-n1", "both-n8", "both-n32", "both-n256",
                  "one-cpu-both-n1", "one-cpu-both-n32")]),
        Table("Queues that wait", "Several threads at both ends are allowed. "
              "moodycamel's queue has no limit, so its producers "
              "never wait.",
              [Row(name, None, "hone-queue", cases.WAITING) for name in (
                  "wait-alone-n1", "wait-alone-n32", "wait-pipe-n1",
                  "wait-pipe-n32", "wait-both-n1", "wait-both-n32",
                  "wait-one-cpu-pipe-n1", "wait-one-cpu-pipe-n32",
                  "wait-ping-n1", "wait-one-cpu-ping-n1")]),
    ],
    "stream": [
        Table("Whole files", "The files are in the page cache. Each subject "
              "allocates, reads and frees. `mmap` is left out: it copies "
              "nothing.",
              rows("read-12", "read-4K", "read-700K", "read-10M",
                   "fresh-700K", "fresh-10M", "fresh-1G") +
              [Row("fresh-10M", "10 MB, fresh memory, huge pages",
                   "hone-huge", cases.BARE),
               Row("fresh-1G", "1 GiB, fresh memory, huge pages",
                   "hone-huge", cases.BARE),
               Row("files-10000", "10,000 files of 1 KiB, batch",
                   "hone-batch", cases.OTHERS),
               Row("files-10000", "10,000 files of 1 KiB, batch, 2 threads",
                   "hone-batch-2t", ("bare-2t",))]),
        Table("An open file", "",
              rows("fread-700K", "fread-16", "lines-10", "lines-80",
                   "lines-1000", "lines-80-16M")),
        Table("A socket", "",
              rows("socket-8K", "ping-8K") +
              [Row("socket-8K", "message of 8 KiB, ready, with a deadline",
                   "hone-deadline", ("poll-recv",)),
               Row("ping-8K", "message of 8 KiB, echoed, with a deadline",
                   "hone-deadline", ("poll-recv",))]),
    ],
    "php": [
        Table("", "The rival is PHP 8.2 without the extension. A call that "
              "is passed on is one that the extension leaves to PHP. The "
              "ratio is the median of the ratios of neighbouring turns.", rows(
                  "file_get_contents 12", "file_get_contents 4k",
                  "file_get_contents 64k", "file_get_contents 700k",
                  "file_get_contents 10m", "file_get_contents of /proc",
                  "fread 20000", "fread 700k", "fread 10m",
                  "stream_get_contents 12", "stream_get_contents 700k",
                  "stream_get_contents 10m", "readfile 12", "readfile 64k",
                  "readfile 700k", "fpassthru 12", "fpassthru 700k",
                  "file 12", "file 1000 lines", "copy 12", "copy 700k",
                  "passed on: a short fread",
                  "passed on: fread of another stream", "passed on: a URL",
                  "passed on: no such file"))],
    "cache": [
        Table("Fetch", "PHP with opcache. The time is that of a call from "
              "PHP, and of freeing the value of the call before. `fetch`: "
              "the same key each time. `one fetch`: each of 1,000 keys once, "
              "in another order than they were stored.",
              rows(*(f"fetch {value}" for value in VALUES),
                   *(f"one fetch {value}" for value in VALUES[:2]))),
        Table("Fetch, and read all of the value", "",
              rows(*(f"fetch and read {value}" for value in VALUES))),
        Table("Block copy: the first fetch of a key in a request",
              "`block copy`: of a few keys that the request before has fetched, "
              "too. `first fetch`: of keys with 10 MB of values. The time "
              "does not include the end of the request, which frees the copy.",
              rows(*(f"{work} {value}" for value in VALUES[2:-1]
                     for work in ("block copy", "first fetch")))),
        Table("Store", "", rows(*(f"store {value}" for value in VALUES))),
        Table("99 fetches to a store", "100 keys, at random.",
              rows(*(f"99 fetches, 1 store {value}"
                     for value in ("20 B", "1 KB", "100 keys",
                                   "600 options")))),
        Table("Readers and a writer", "1,000 keys, at random. The time is "
              "divided by the fetches of all readers: two undisturbed readers "
              "have half the time of one.",
              [Row(f"{who}, {value}") for value in ("20 B", "100 keys")
               for who in ("1 reader", "2 readers", "1 reader, a writer",
                           "2 readers, a writer",
                           "2 readers, a slow writer")]),
        Table("Requests of real programs", "", rows(
            "Symfony, a cached array of 10,000", "WordPress, front page",
            "WordPress, a post", "WordPress, feed", "MediaWiki, main page",
            "MediaWiki, its style sheet")),
    ],
}

# The machine of the figures in README.md and in the chart of the cache.
README_MACHINE = "zen4"
