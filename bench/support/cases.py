# SPDX-License-Identifier: BSD-3-Clause
"""Names of the benchmarks' cases, and the comparisons that are made in them.

A comparison is a subject of libhone and its rivals in one case. These are not
rivals:

- ceilings, which do less than the task;
- PHP and Python in the cases fresh-*, since both reuse memory there;
- an array of the process itself, and pages without a cache;
- mmap() of a whole file, since it copies nothing.
"""
import re

ZERO = ("naive", "memcmp", "qemu-algorithm", "isa-l")
COPY = ("glibc", "rep-movsb", "dpdk-sse", "dpdk-avx2", "dpdk-avx512")
POOL = ("dpdk-ring", "dpdk-rts", "dpdk-hts", "dpdk-stack", "dpdk-lf-stack",
        "dpdk-later-get", "ck-ring")
MALLOC = ("glibc", "jemalloc", "mimalloc", "mimalloc-3", "tcmalloc")
MPMC = ("mutex", "ck-mpmc", "dpdk-mpmc", "dpdk-rts", "dpdk-hts")
SPSC = MPMC + ("ck-spsc", "dpdk-spsc")
WAITING = ("mutex", "moodycamel")
BARE = ("bare", "stdio")
# As runs before 2026-11-29 name PHP, and as later ones do.
PHP = ("php-8.2", "php")
LINES = ("getline", "fgets", "mmap-memchr", *PHP, "python")
OTHERS = BARE + ("stdio-unlocked", *PHP, "python")
APCU = ("apcu-php", "apcu-igbinary", "apcu-default")
CACHES = APCU + ("apcu", "yac", "include", "memcached", "redis")

# Part, pattern of its cases, subject, rivals. The first pattern that matches a
# case counts, with all of its rows.
COMPARISONS = [
    ("zero", r".*", "hone", ZERO),
    ("copy", r"(hot|dst|src|both|alike|lengths|first)\d*-.*", "keep", COPY),
    ("copy", r"dst1-src18-.*", "keep", COPY),
    ("copy", r"cold-src-.*", "keep", COPY + ("nt-loop",)),
    ("copy", r"cold-.*", "stream", COPY + ("nt-loop",)),
    ("copy", r"(read|chase)-[^-]*", "keep", ("glibc",)),
    ("copy", r"inline-.*", "hone", ("glibc", "dpdk-inline")),
    ("copy", r"(blocks|pointers|constant)-.*", "hone",
     ("glibc", "store-loop")),
    ("copy", r"clear-hot-.*", "keep", ("glibc",)),
    ("copy", r"clear-cold-.*", "stream", ("glibc",)),
    ("mempool", r".*", "hone", POOL + MALLOC),
    ("ring", r"wait-.*", "hone-queue", WAITING),
    ("ring", r"wait-.*", "hone-queue-spsc", WAITING),
    ("ring", r".*", "hone-mpmc", MPMC),
    ("ring", r".*", "hone-spsc", SPSC),
    ("stream", r"fresh-.*", "hone", BARE),
    ("stream", r"lines-.*", "hone", LINES),
    ("stream", r"(socket|ping)-.*", "hone", ("bare", "stdio", *PHP)),
    ("stream", r".*", "hone", OTHERS),
    ("php", r".*", "hone", ("stock",)),
    ("cache", r"(block copy|first fetch) .*", "hone-block", APCU + ("yac",)),
    ("cache", r".*", "hone", CACHES),
]

NAMES = {
    "qemu-algorithm": "QEMU's algorithm", "isa-l": "ISA-L",
    "memcmp": "`memcmp`", "naive": "byte loop", "glibc": "glibc",
    "rep-movsb": "`rep movsb`", "dpdk-sse": "DPDK, SSE",
    "dpdk-avx2": "DPDK, AVX2", "dpdk-avx512": "DPDK, AVX-512",
    "dpdk-inline": "DPDK, inline",
    "nt-loop": "non-temporal loop", "store-loop": "store loop",
    "dpdk-ring": "DPDK ring", "dpdk-rts": "DPDK RTS", "dpdk-hts": "DPDK HTS",
    "dpdk-later-get": "DPDK, later get", "dpdk-stack": "DPDK stack", "dpdk-lf-stack": "DPDK lock-free stack",
    "dpdk-mpmc": "DPDK", "dpdk-spsc": "DPDK SPSC", "ck-ring": "CK",
    "ck-mpmc": "CK", "ck-spsc": "CK SPSC", "mutex": "mutex",
    "moodycamel": "moodycamel",
    "bare": "system calls", "stdio": "stdio",
    "stdio-unlocked": "stdio unlocked", "php-8.2": "PHP", "php": "PHP",
    "python": "Python", "getline": "`getline`", "fgets": "`fgets`",
    "mmap-memchr": "mmap and memchr", "stock": "PHP",
    "bare-2t": "system calls",
    "poll-recv": "poll and recv", "jemalloc": "jemalloc",
    "mimalloc": "mimalloc", "mimalloc-3": "mimalloc 3", "tcmalloc": "tcmalloc",
    "apcu": "APCu", "apcu-php": "APCu, php",
    "apcu-igbinary": "APCu, igbinary", "apcu-default": "APCu, default",
    "yac": "yac", "include": "`include`", "memcached": "memcached",
    "redis": "Redis",
}

UNITS = {"": "B", "K": "KiB", "M": "MiB", "G": "GiB"}
THREADS = {"1t": "1 thread", "2t": "2 threads", "one-cpu": "2 threads, 1 CPU",
           "alone": "1 thread", "pipe": "producer, consumer",
           "both": "2 threads at both ends",
           "wait-alone": "1 thread, may wait",
           "wait-pipe": "producer, consumer, may wait",
           "wait-both": "2 threads at both ends, may wait",
           "wait-one-cpu-pipe": "producer, consumer, 1 CPU, may wait",
           "wait-ping": "a reply to each element",
           "wait-one-cpu-ping": "a reply to each element, 1 CPU",
           "one-cpu-pipe": "producer, consumer, 1 CPU",
           "one-cpu-both": "2 threads at both ends, 1 CPU"}
STREAM = {
    "read-12": "file of 12 B", "read-4K": "file of 4 KiB",
    "read-700K": "file of 700 KB", "read-10M": "file of 10 MB",
    "fresh-700K": "700 KB, fresh memory", "fresh-10M": "10 MB, fresh memory",
    "fresh-1G": "1 GiB, fresh memory", "files-10000": "10,000 files of 1 KiB",
    "fread-700K": "open file, one read of 700 KB",
    "fread-16": "open file, reads of 16 B", "lines-10": "lines of 10 B",
    "lines-80": "lines of 80 B", "lines-1000": "lines of 1000 B",
    "lines-80-16M": "lines of 80 B, 16 MB",
    "socket-8K": "message of 8 KiB, ready",
    "ping-8K": "message of 8 KiB, echoed",
}
# Part, pattern, description. The groups of PATTERNS are sizes, those of
# COUNTED are counts or keys of THREADS.
PATTERNS = [
    ("zero", r"hot-(\w+)", "{} of zeros"),
    ("zero", r"misaligned-(\w+)", "{} of zeros, misaligned"),
    ("zero", r"lengths-1\.\.(\d+)", "1 to {}, random"),
    ("zero", r"nonzero-first-(\w+)", "{}, first byte set"),
    ("zero", r"nonzero-last-(\w+)", "{}, last byte set"),
    ("zero", r"nonzero-anywhere-(\w+)", "{}, a byte set anywhere"),
    ("zero", r"cold-(\w+)", "{} of zeros, cold"),
    ("copy", r"hot-(\w+)", "{}, hot"),
    ("copy", r"dst17-(\w+)", "{}, hot, destination + 17"),
    ("copy", r"src17-(\w+)", "{}, hot, source + 17"),
    ("copy", r"both17-(\w+)", "{}, hot, both + 17"),
    ("copy", r"dst1-src18-(\w+)", "{}, hot, offsets 1 and 18"),
    ("copy", r"alike-(\w+)", "{}, hot, equal page offsets"),
    ("copy", r"lengths-1\.\.(\w+)", "1 to {}, random"),
    ("copy", r"cold-src-(\w+)", "{}, cold source, KEEP"),
    ("copy", r"cold-dst17-(\w+)", "{}, cold, misaligned, STREAM"),
    ("copy", r"cold-(\w+)", "{}, cold, STREAM"),
    ("copy", r"read-(\w+)", "{}, cold, then read, KEEP"),
    ("copy", r"chase-(\w+)", "{}, cold, then a list, KEEP"),
    ("copy", r"first-word-(\S+)", "{}, first word used next"),
    ("copy", r"inline-(\S+)", "{}, inline"),
    ("copy", r"constant-(\w+)", "{}, constant size"),
    ("copy", r"clear-hot-(\w+)", "clear {}, hot"),
    ("copy", r"clear-cold-(\w+)", "clear {}, cold, STREAM"),
]
COUNTED = [
    ("copy", r"blocks-(\S+)", "blocks of 64 B: {}"),
    ("copy", r"pointers-(\S+)", "pointers: {}"),
    ("mempool", r"(1t|2t|one-cpu)-keep(\d+)-n(\d+)",
     "{}, {} kept, {} a call"),
    ("mempool", r"(1t|2t)-any-keep(\d+)-n(\d+)",
     "{}, {} kept, {} a call, not constant"),
    ("mempool", r"(1t|2t)-touched-keep(\d+)-n(\d+)",
     "{}, {} kept, {} a call, and written"),
    ("mempool", r"native-(1t)-keep(\d+)-n(\d+)",
     "{}, {} kept, {} a call, `-march=native`"),
    ("mempool", r"cross-n(\d+)", "producer, consumer, {} a call"),
    ("mempool", r"(\d+)B-(1t|2t)-keep(\d+)-n(\d+)",
     "malloc of {} B, {}, {} kept, {} a call"),
    ("mempool", r"(\d+)B-cross-n(\d+)",
     "malloc of {} B, producer, consumer, {} a call"),
    ("ring", r"(\D+)-n(\d+)", "{}, {} a call"),
]


def size(text):
    """4K -> 4 KiB, 100 -> 100 B, 8..64 -> 8 to 64 B, half-L2 -> half-L2"""
    match = re.fullmatch(r"([\d.]+)([KMG]?)", text)
    if not match:
        return text
    return f"{match[1].replace('..', ' to ')} {UNITS[match[2]]}"


def count(text):
    """1t -> 1 thread, 1..8 -> 1 to 8"""
    return THREADS.get(text, text).replace("..", " to ")


def describe(part, case):
    """A case in words."""
    if part == "php":
        return re.sub(r" (\d+[km]?)$", lambda m: ", " + size(m[1].upper()),
                      case)
    if part == "stream":
        return STREAM.get(case, case)
    for patterns, word in ((PATTERNS, size), (COUNTED, count)):
        for of, pattern, text in patterns:
            match = of == part and re.fullmatch(pattern, case)
            if match:
                return text.format(*map(word, match.groups()))
    return case


def comparisons(part, case):
    """(subject, rivals) of a case."""
    matched = None
    for of, pattern, subject, rivals in COMPARISONS:
        if of == part and matched in (None, pattern) and re.fullmatch(
                pattern, case):
            matched = pattern
            yield subject, rivals
