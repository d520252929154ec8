#!/usr/bin/env python3
"""Harnesses that look for what only crashes, damage, failing system calls, kills and long runs bring to light.

usage: stress.py --kf BINARY [--seconds 60] [--seed N] [--case N] [--keep] [--keep-going] [--other BINARY] [--urls 400]
           [--bodies 50] [--loops 12] [NAME...]

cancel   one process of the library cancels 100,000 calls a minute under load; each must end within half a second
crash    power is cut at random moments (snapshots of an ext4, and a model that drops what was not synchronized)
equal    eight processes store equal images (--bodies) of many URLs (--urls for each), beside busy loops (--loops)
hostile  a `file:` remote among foreign files, links and pipes, with entries and objects that lie
index    the index and the files beside it are damaged
inject   the n-th system call fails, is interrupted or cut short, or kills the process
kills    many processes share one small cache, and one is killed every 100 ms
limits   threads, descriptors or memory are few
remote   a fleet shares a remote: writers are killed, and what is in the remote is damaged
server   one process of the library: 200 calls at once, limits of memory and disk, removals and cancellations; memory
         stays flat, and no image is served that was removed
soak     many processes share one small cache while images change at the origin; memory and descriptors are watched
turns    two binaries, --kf and --other, take turns on one cache and use it at the same time (with --other alone)

Each must hold: nothing wrong is ever served, nothing hangs, traps or ends with an undocumented status, the next command
heals what is broken, `cache verify --repair` leaves nothing to find, and nothing outside the cache is touched.
"""
import argparse
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from common.trial import Trial

NAMES = [
    "cancel", "crash", "equal", "hostile", "index", "inject", "kills", "limits", "remote", "server", "soak", "turns"]


def scratch_folder():
    """Memory, where there is enough of it: the harnesses make and remove many files."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and os.statvfs(memory).f_bavail * os.statvfs(memory).f_frsize > 1 << 30:
        return memory
    return None


def run(name, options, scratch):
    trial = Trial(name, options, scratch)
    print(f"stress: {name} for {options.seconds} s, seed {options.seed}", flush=True)
    try:
        importlib.import_module(name).run(trial)
    except (Exception, SystemExit):
        trial.fault(f"the harness itself failed: {traceback.format_exc()}")
    print(trial.summary(), flush=True)
    return trial.faults


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kf", required=True)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("STRESS_SECONDS") or 60))
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--seed", default=os.environ.get("STRESS_SEED") or str(time.time_ns()))
    case = os.environ.get("STRESS_CASE")
    parser.add_argument("--case", type=int, default=int(case) if case else None)
    parser.add_argument("--keep-going", action="store_true", help="do not end a harness after ten faults")
    parser.add_argument("--keep", action="store_true", help="leave the files of the last case")
    parser.add_argument("--other", default=os.environ.get("STRESS_OTHER"), help="the other binary of turns")
    parser.add_argument("--urls", type=int, default=int(os.environ.get("STRESS_URLS") or 400))
    parser.add_argument("--bodies", type=int, default=int(os.environ.get("STRESS_BODIES") or 50))
    parser.add_argument("--loops", type=int, default=int(os.environ.get("STRESS_LOOPS") or 12))
    options = parser.parse_args()
    # As Ctrl-C: what was started and mounted is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.kf = os.path.realpath(options.kf)
    if options.other:
        options.other = os.path.realpath(options.other)
    names = options.names or [name for name in NAMES if options.other or name != "turns"]
    if "turns" in names and not options.other:
        parser.error("turns needs another binary: --other, or STRESS_OTHER")
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"no harness of that name: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    faults = 0
    scratch = Path(tempfile.mkdtemp(prefix="kf-stress-", dir=scratch_folder()))
    try:
        for name in names:
            faults += run(name, options, scratch)
    finally:
        if options.keep:
            print(f"stress: {scratch} is kept")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"stress: {faults} faults")
    sys.exit(1 if faults else 0)


main()
