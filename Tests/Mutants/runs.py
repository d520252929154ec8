"""Runs tests of the tree of mutants: one target at a time, until the first failure or a time limit."""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36
WIDTH = "8"


class Outcome:
    """How a run ended: `failed` are the tests with issues (all of them, when the run was to go on to its end)."""

    def __init__(self):
        self.how = None  # "issue", "crash", "time", or None when all passed
        self.failed = []
        self.spans = {}
        self.seconds = 0


def adopt_orphans():
    """Servers that a killed test leaves behind become children of this process, which ends them."""
    libc = ctypes.CDLL(None)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)


def end_children():
    """Ends the tests and the servers that they started: those of a killed test become children of this process."""
    while True:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        if not children:
            return
        for child in map(int, children):
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def run(tree, number, patterns, skipped, limit, to_the_end=False):
    """Runs the tests whose names match, with one mutant (0: none), in a process of its own."""
    outcome, start = Outcome(), time.monotonic()
    scratch = tempfile.mkdtemp(prefix="kf-mutants-")
    events = Path(scratch, "events")
    events.touch()
    binary = tree / ".build/debug/kfPackageTests.xctest"
    command = [binary, "--testing-library", "swift-testing", "--experimental-maximum-parallelization-width", WIDTH]
    command += ["--event-stream-output-path", events, "--event-stream-version", "0"]
    for pattern in patterns:
        command += ["--filter", pattern]
    for test in skipped:
        command += ["--skip", "^" + re.escape(test)]
    environment = os.environ | {"TMPDIR": scratch, "SWIFT_BACKTRACE": "enable=no"}
    environment.pop("MUTANT", None)
    if number:
        environment["MUTANT"] = str(number)
    started, has_ended = {}, False
    try:
        with open(Path(scratch, "log"), "wb") as log, open(events, "rb") as stream:
            process = subprocess.Popen(
                command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
            rest = b""
            while True:
                status = process.poll()
                rest += stream.read()
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    record = json.loads(line)
                    event = record["payload"]
                    if record["kind"] != "event":
                        continue
                    test, now = event.get("testID"), event["instant"]["absolute"]
                    if event["kind"] == "testStarted":
                        started[test] = now
                    elif event["kind"] == "testEnded":
                        outcome.spans[test] = now - started.get(test, now)
                    elif event["kind"] == "issueRecorded" and is_failure(event["issue"]):
                        outcome.how = "issue"
                        if test not in outcome.failed:
                            outcome.failed.append(test)
                    elif event["kind"] == "runEnded":
                        has_ended = True
                outcome.seconds = time.monotonic() - start
                if outcome.how and not to_the_end or status is not None:
                    break
                if outcome.seconds > limit:
                    outcome.how = "time"
                    break
                time.sleep(0.05)
            if status is not None and outcome.how is None and (status != 0 or not has_ended):
                outcome.how = "crash"
    finally:
        # Once begun, this is not interrupted.
        handler = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_children()
        shutil.rmtree(scratch, ignore_errors=True)
        signal.signal(signal.SIGTERM, handler)
    return outcome


def is_failure(issue):
    return not issue.get("isKnown") and issue.get("severity", "error") == "error"


def judge(tree, number, target, skipped, limit):
    """Runs a target with one mutant. Returns what noticed it, or None.

    A test that fails must fail once more alone: else it is left out, and the target runs again. After the time limit
    the rest of the tests has as much time again, as long as some of them end: the machine may be busy. When none ends,
    they must end without the mutant.
    """
    skipped = list(skipped)
    for _ in range(8):
        outcome = run(tree, number, [rf"^{target}\."], skipped, limit)
        ended = [test for test in outcome.spans if ".swift:" in test]
        if outcome.how == "time" and ended:
            skipped += ended
            continue
        if outcome.how == "time" and run(tree, 0, [rf"^{target}\."], skipped, limit).how == "time":
            continue
        if outcome.how != "issue":
            return outcome.how
        test = outcome.failed[0]
        if test is None:
            return "issue"
        if run(tree, number, ["^" + re.escape(test)], [], limit).how:
            return test
        skipped.append(test)
    return None
