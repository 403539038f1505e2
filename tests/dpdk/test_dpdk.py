# SPDX-License-Identifier: BSD-3-Clause
"""The mempool driver in DPDK: DPDK's own tests, threads and processes that
share a pool, and packets that testpmd forwards. ./dev test --all builds what
they need; HONE_DPDK is that build, HONE_DPDK_ROOT Debian's packages."""
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

import pytest

BUILD = pathlib.Path(os.environ["HONE_DPDK"]) / "integrations/dpdk"
ROOT = pathlib.Path(os.environ["HONE_DPDK_ROOT"])
LIBS = ":".join(sorted({str(path.parent) for path in ROOT.rglob("*.so.*")}))
SHIM = BUILD / "libshim.so"
HUGE = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
CPUS = sorted(os.sched_getaffinity(0))
# No file of EAL stays. Each of two lcores has a CPU of its own, if there are
# two.
ALONE = ["--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m", "2048"]
LCORES = ["--lcores", f"0@{CPUS[0]},1@{CPUS[-1]}"]
LIMIT = 170


def safe(folder):
    """Whether EAL loads a driver from there: nobody else may write to it, or
    to a folder above it."""
    return os.access(folder, os.W_OK) and not any(
        path.stat().st_mode & stat.S_IWOTH
        for path in [folder, *folder.parents])


@pytest.fixture(scope="module")
def driver():
    """The driver where EAL accepts it."""
    folders = [BUILD, os.environ.get("XDG_RUNTIME_DIR", ""), "/run",
               pathlib.Path.home()]
    for folder in filter(None, folders):
        if safe(pathlib.Path(folder).resolve()):
            break
    else:
        pytest.skip("EAL loads no driver below a folder that all may write "
                    "to, and there is no other one")
    with tempfile.TemporaryDirectory(dir=folder, prefix="hone-dpdk-") as made:
        yield shutil.copy(BUILD / "librte_mempool_hone.so", made)


@pytest.fixture(scope="module")
def drivers(driver):
    """The options for it, and for what an installed DPDK opens by itself:
    each rte_mempool has the ops ring_mp_mc at first."""
    names = ["librte_mempool_ring.so.*", "librte_net_null.so.*"]
    found = [shutil.copy(next(ROOT.rglob(name)), pathlib.Path(driver).parent)
             for name in names]
    return [word for path in [*found, driver] for word in ("-d", path)]


def run(program, *options, env=None, text=None, status=0):
    """The output of a program of DPDK, which must end with this status."""
    with tempfile.TemporaryDirectory() as runtime:
        done = subprocess.run(
            [program, *options], input=text, timeout=LIMIT, check=False,
            encoding="utf-8", errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "LD_LIBRARY_PATH": LIBS,
                 "XDG_RUNTIME_DIR": runtime, **(env or {})})
    sys.stdout.write(done.stdout)
    assert done.returncode == status
    return done.stdout


def tool(name):
    """A program of dpdk-dev."""
    return next(ROOT.rglob(name))


def pools(out):
    """Pool -> its ops, of the pools that the output shows. All objects of a
    pool are there when it is shown last."""
    ops, objects = {}, {}
    for name, size, its, cached, left in re.findall(
            r"^mempool <(\w+)>@.*?^  size=(\d+)$.*?^  ops_name: <(\w+)>$.*?"
            r"(?:^    total_cache_count=(\d+)$\s)?^  common_pool_count=(\d+)$",
            out, re.M | re.S):
        ops[name] = its
        objects[name] = int(size), int(cached or 0) + int(left)
    assert all(size == n for size, n in objects.values()), objects
    return ops


def dpdks(test, *options, preload=(), env=None):
    """What run() takes for one of DPDK's own tests. Newer releases do not link it
    with the ops that it names: an installed DPDK opens them."""
    ops = [next(ROOT.rglob(f"librte_mempool_{name}.so.*")) for name in ("ring", "stack")]
    return [tool("dpdk-test"), *ALONE, *LCORES, *options], {
        "DPDK_TEST": test, **(env or {}),
        "LD_PRELOAD": " ".join(map(str, [*preload, *ops]))}


def passes(*args, **kwargs):
    """What one of DPDK's own tests prints."""
    words, env = dpdks(*args, **kwargs)
    out = run(*words, env=env)
    assert "Test OK" in out
    return out


@pytest.mark.parametrize("test, pool", [
    ("mempool_autotest", "default_pool"), ("mbuf_autotest", "refcnt_pool")])
def test_dpdks_own_test_passes_by_the_options(driver, test, pool):
    """What takes the default of mbufs is the driver's."""
    out = passes(test, "-d", driver, "--mbuf-pool-ops-name=hone")
    assert pools(out)[pool] == "hone"


@pytest.mark.parametrize("test, others", [
    ("mempool_autotest", {"test_stack": "stack"}), ("mbuf_autotest", {})])
def test_dpdks_own_test_passes_where_it_names_ring_mp_mc(driver, test, others):
    out = passes(test, "-d", driver, preload=[SHIM])
    assert "shim: ring_mp_mc is hone" in out
    found = pools(out)
    assert found and found == dict.fromkeys(found, "hone") | others


def test_the_rivals_of_the_benchmark_take_the_same_places():
    """Without them, bench/dpdk would compare the driver with itself."""
    out = passes("mempool_autotest", preload=[SHIM], env={"HONE_DPDK_OPS": "stack"})
    assert "shim: ring_mp_mc is stack" in out
    assert set(pools(out).values()) == {"stack"}


def until(pattern, words, env, folder):
    """What a program prints up to a line with this pattern, which ends it."""
    lines = []
    with subprocess.Popen(
            ["timeout", str(LIMIT), "stdbuf", "-oL", *words], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "LD_LIBRARY_PATH": LIBS,
                 "XDG_RUNTIME_DIR": str(folder), **env}) as program:
        for line in program.stdout:
            lines.append(line)
            if re.search(pattern, line):
                os.killpg(program.pid, signal.SIGKILL)
    return "".join(lines)


def test_dpdks_performance_test_passes(driver, tmp_path):
    """Each case takes some ms, not 5 s. Half of them have no cache, so that
    each get and put calls the driver. Newer releases have thousands of cases, which
    take minutes: of these, the first, which hold few objects."""
    words, env = dpdks("mempool_perf_autotest", "-d", driver, preload=[SHIM],
                       env={"HONE_DPDK_SHORTER": "5000"})
    newer = r"n_keep= *2048 "
    out = until(newer, words, env, tmp_path)
    cases = re.findall(r" cache=(\d+) .* rate_persec= *[1-9]", out)
    assert "shim: ring_mp_mc is hone" in out
    if re.search(newer, out):
        assert len(cases) > 3 and set(cases) == {"0"}
        return
    assert "Test OK" in out
    assert len(cases) == 720 and cases.count("0") == 360
    assert pools(out) == dict.fromkeys(
        ["perf_test_nocache", "perf_test_cache", "default_pool"], "hone")


def whole(out):
    """The stress lost nothing, and found no error."""
    assert re.search(r"^\d+ objects, \d+ in caches, 0 lost, 0 errors$", out, re.M)


@pytest.mark.parametrize("cache", ["0", "32"])
@pytest.mark.parametrize("how", ["", "fork", "kill"])
def test_lcores_other_threads_and_a_process_lose_nothing(drivers, cache, how):
    """A process that is killed loses what it held."""
    out = run(BUILD / "stress", *ALONE, *LCORES, *drivers, "--", cache, how)
    if how == "kill":
        assert ", 0 errors\n" in out
    else:
        whole(out)


@pytest.mark.parametrize("bug, found", [
    ("lose", "no object is lost"),
    ("twice", "an object belongs to one thread at a time")])
def test_the_stress_finds_a_bug(drivers, bug, found):
    """The driver has none, so the stress does what one with a bug does."""
    out = run(BUILD / "stress", *ALONE, *LCORES, *drivers, "--", "0", bug, status=1)
    assert f"not so: {found}" in out
    with pytest.raises(AssertionError):
        whole(out)


def test_lcores_on_one_cpu_lose_nothing(drivers):
    whole(run(BUILD / "stress", *ALONE, *drivers, "--lcores",
              f"(0-3)@{CPUS[0]}", "--", "0"))


@contextlib.contextmanager
def huge_pages(n):
    """n more huge pages; yields the number that there are more."""
    with open(HUGE, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = int(file.read())
        try:
            HUGE.write_text(str(before + n), encoding="ascii")
            yield int(HUGE.read_text(encoding="ascii")) - before
        finally:
            HUGE.write_text(str(before), encoding="ascii")


def test_a_secondary_process_loses_nothing(drivers):
    """In huge pages, by EAL's own way to share a pool."""
    if os.getuid() != 0 or not HUGE.exists():
        pytest.skip("setting huge pages aside takes root, and a kernel with "
                    "huge pages")
    mount = ["unshare", "--mount", "mount", "-t", "hugetlbfs", "none", "/mnt"]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("hugetlbfs cannot be mounted here")
    with huge_pages(64) as more, tempfile.TemporaryDirectory() as folder:
        if more < 64:
            pytest.skip(f"64 huge pages are needed, the system gave {more}")
        both_processes(drivers, folder)


def both_processes(drivers, folder):
    """A mount of hugetlbfs that only they see."""
    script = '''
        set -e
        mount -t hugetlbfs none "$1"
        cd "$2"
        common="--no-pci --no-telemetry --huge-dir $1 --file-prefix hone $3"
        mkfifo go
        ./stress --proc-type primary -m 64 --lcores "0@$4" $common -- 0 wait \\
            <go >primary 2>&1 &
        exec 3>go
        until grep -q ready primary; do
            kill -0 $! || { cat primary; exit 1; }
            sleep 0.1
        done
        ./stress --proc-type secondary --lcores "1@$5" $common -- 0 secondary
        echo >&3
        wait $!
        cat primary'''
    huge, work = pathlib.Path(folder, "huge"), pathlib.Path(folder, "work")
    huge.mkdir()
    work.mkdir()
    shutil.copy(BUILD / "stress", work)
    # If the time is up, all processes of the script end with unshare.
    whole(run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh",
              "-c", script, "sh", str(huge), str(work), " ".join(drivers),
              str(CPUS[0]), str(CPUS[-1])))


def test_testpmd_forwards_between_null_devices(drivers):
    # By lines: testpmd writes its prompt past the buffer of the rest. The name of
    # a command that dumps depends on the release.
    out = run("stdbuf", "-oL", tool("dpdk-testpmd"), *ALONE, *LCORES, *drivers,
              "--mbuf-pool-ops-name=hone", "--vdev=net_null0",
              "--vdev=net_null1", "--", "-i", "--total-num-mbufs=8192",
              text="start\nshow port stats all\nstop\ndump_mempool\n"
                   "dump mempool\nquit\n")
    sent = re.findall(r"TX-total: (\d+)", out)
    assert sent and int(sent[-1]) > 0
    assert pools(out) == {"mb_pool_0": "hone"}
