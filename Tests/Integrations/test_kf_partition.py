#!/usr/bin/python3
"""Tests of Sources/Integrations/kf_partition.py, with kf and with programs in its place that crash, hang or babble.

usage: KF_BINARY=kf test_kf_partition.py
"""

import contextlib
import datetime
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2] / "Sources/Integrations")]
import skips  # noqa: E402
from kf_partition import RESULT_COLUMNS, KFError, fetch, map_frame, map_frames, result_schema  # noqa: E402
from origin import Origin  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None

KF = os.environ.get("KF_BINARY") or sys.exit(__doc__)
LIMIT = 60.0  # seconds that any wait of these tests may take


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


def is_running(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children():
    """The processes that this one started and did not reap, zombies too."""
    for _ in range(1000):
        # A thread that ends meanwhile takes its file along, and another one gets its children.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return [
                int(number)
                for task in Path("/proc/self/task").iterdir()
                for number in (task / "children").read_text().split()
            ]
    raise AssertionError("threads end without end")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.options = ["--cache-dir", str(self.folder / "cache"), "--retry", "0"]
        self.before = children()

    def tearDown(self):
        self.assertEqual(children(), self.before, "a process is left")

    def program(self, text):
        """A program in the place of kf."""
        path = self.folder / "program"
        path.write_text("#!/usr/bin/env python3\nimport json, os, signal, sys, time\n" + textwrap.dedent(text))
        path.chmod(0o755)
        return str(path)

    def wrapper(self):
        """A program that notes its number and becomes kf; and the file of the number."""
        path, note = self.folder / "wrapper", self.folder / "number"
        path.write_text(f'#!/bin/sh\necho $$ >"{note}.new"; mv "{note}.new" "{note}"; exec "{KF}" "$@"\n')
        path.chmod(0o755)
        return str(path), note


class Rows(Case):
    def test_each_row_has_its_result_and_a_404_does_not_fail_the_others(self):
        with Origin() as origin:
            rows = [{"url": f"{origin.address}/{place}.jpg", "id": place} for place in range(300)]
            rows[7]["url"] = f"{origin.address}/none.jpg"
            results = list(fetch(iter(rows), self.options, kf=KF))
        self.assertCountEqual([row["id"] for row in results], range(300))
        by_id = {row["id"]: row for row in results}
        for place, row in by_id.items():
            self.assertEqual(row["url"], rows[place]["url"])
            self.assertEqual(set(row), {"url", "id", *RESULT_COLUMNS})
            if place != 7:
                self.assertEqual((row["status"], row["error"], row["attempts"]), ("fetched", None, 1))
                self.assertEqual(Path(row["path"]).stat().st_size, row["bytes"])
        gone = by_id[7]
        self.assertEqual((gone["status"], gone["http_status"], gone["error_code"]), ("failed", 404, 2002))
        self.assertIn("404", gone["error"])
        self.assertEqual(origin.counts.total(), 300)

    def test_a_row_without_a_string_fails_and_kf_is_not_asked(self):
        rows = [{"url": None}, {"url": float("nan")}, {"url": 5}, {"url": b"http://h/"}, {}]
        for ordered in (False, True):
            results = list(fetch(rows, kf="/nonexistent", ordered=ordered))
            self.assertEqual([row["status"] for row in results], ["failed"] * 5)
            self.assertEqual(results[0]["error"], "the column url has no string")
            self.assertEqual({key: results[2][key] for key in ("url", "attempts")}, {"url": 5, "attempts": 0})

    def test_no_row_starts_no_process(self):
        self.assertEqual(list(fetch([], kf="/nonexistent")), [])

    def test_every_text_gets_an_answer(self):
        texts = ["", " ", "a\nb", "x\ud800", "\0", "https://ex\u00e4mple.invalid/\U0001f600", "x" * 100_000, "y" * 2_000_000]
        results = list(fetch(({"url": text} for text in texts), self.options, kf=KF, ordered=True))
        self.assertEqual([row["url"] for row in results], texts)
        self.assertTrue(all(row["status"] == "failed" and row["error"] for row in results))

    def test_duplicates_are_answered_each_and_fetched_once(self):
        with Origin() as origin:
            rows = [{"url": f"{origin.address}/one.jpg", "id": place} for place in range(50)]
            results = list(fetch(rows, self.options, kf=KF))
        self.assertCountEqual([row["id"] for row in results], range(50))
        self.assertTrue(all(row["path"] for row in results))
        self.assertEqual(origin.counts.total(), 1)

    def test_by_arrival_and_in_order(self):
        for ordered in (False, True):
            with self.subTest(ordered=ordered), Origin() as origin:
                rows = [{"url": f"{origin.address}/{'held' if place == 0 else place}.jpg"} for place in range(20)]
                seen = []
                timer = None
                if ordered:
                    timer = threading.Thread(target=lambda: (origin.wait_for_requests(20), origin.release()))
                    timer.start()
                for row in fetch(rows, [*self.options, "--force-refresh"], kf=KF, ordered=ordered):
                    seen.append(row["url"])
                    if len(seen) == 19:
                        origin.release()
                if timer:
                    timer.join()
                urls = [row["url"] for row in rows]
                if ordered:
                    self.assertEqual(seen, urls)
                else:
                    self.assertEqual(seen[-1], urls[0])
                    self.assertCountEqual(seen, urls)

    def test_answers_come_while_the_input_waits(self):
        answered = []
        with Origin() as origin:

            def rows():
                for place in range(5):
                    self.assertEqual(len(answered), place)
                    yield {"url": f"{origin.address}/{place}.jpg"}

            # With a window of one, each row is answered before the next one is read.
            for row in fetch(rows(), self.options, kf=KF, window=1):
                answered.append(row)
        self.assertEqual(len(answered), 5)

    def test_a_row_is_sent_while_the_input_waits_for_its_next_one(self):
        with Origin() as origin:

            def rows():
                for place in range(3):
                    yield {"url": f"{origin.address}/{place}.jpg"}
                    origin.wait_for_requests(place + 1)

            self.assertEqual(len(list(fetch(rows(), self.options, kf=KF))), 3)

    def test_a_wait_for_the_input_is_no_timeout(self):
        program = self.program(
            """
            for number, line in enumerate(sys.stdin, 1):
                time.sleep(0.05)
                print(json.dumps({"line": number, "status": "fetched"}), flush=True)
            """
        )
        clock, real = [0], time.monotonic

        def rows():
            yield {"url": "http://h/"}
            clock[0] += 1000
            yield {"url": "http://h/"}

        with mock.patch("time.monotonic", lambda: real() + clock[0]):
            self.assertEqual(len(list(fetch(rows(), window=1, timeout=LIMIT, kf=program))), 2)

    def test_each_variant_has_a_row(self):
        with Origin() as origin:
            names = ["1.jpg", "none.jpg", "1.jpg", None]
            rows = [{"url": name and f"{origin.address}/{name}", "id": place} for place, name in enumerate(names)]
            for options, variants in (
                (["--variant", "b=resize:10x", "--variant=a=resize:5x|>encode:png", "-f", "webp", "-fjpeg"], ["b", "b", "a"]),
                (["--widths", "20,3,20", "--format=webp", "-f", "webp"], ["3", "20"]),
                (["-f", "png", "-f", "webp"], [None, None]),
            ):
                for ordered in (False, True):
                    with self.subTest(options=options, ordered=ordered):
                        results = list(fetch(rows, [*self.options, *options], kf=KF, ordered=ordered))
                        for place in range(4):
                            made = [row for row in results if row["id"] == place]
                            self.assertEqual([row["variant"] for row in made], variants)
                            self.assertEqual({row["error"] is None for row in made}, {place in (0, 2)})
                        if ordered:
                            self.assertEqual([row["id"] for row in results], sorted(list(range(4)) * len(variants)))
            widths = [row["width"] for row in fetch(rows[:1], [*self.options, "--widths", "20,3"], kf=KF)]
            self.assertEqual(widths, [3, 20])

    def test_a_column_that_no_row_has_is_an_error_before_kf_starts(self):
        rows = ({"picture": f"http://h/{place}", **({"size": 3} if place == 5 else {})} for place in itertools.count())
        for arguments in ({}, {"url": "picture", "columns": ["id"]}, {"url": "picture", "columns": ["size"]}):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(ValueError, "no row has the column '(url|id|size)'"):
                next(fetch(rows, kf="/nonexistent", window=5, **arguments))
        program = self.program("for line in sys.stdin: print(json.dumps({'line': 1, 'status': 'fetched', 'path': line}))")
        sparse = [{"url": "http://h/"}, {"url": None, "size": 3}]
        self.assertEqual([row["status"] for row in fetch(sparse, columns=["size"], kf=program, ordered=True)], ["fetched", "failed"])

    def test_only_named_columns_reach_kf_in_forms_that_json_has(self):
        class Scalar:  # as those of numpy
            def __init__(self, value):
                self.value = value

            def item(self):
                return self.value

        program = self.program(
            """
            for number, line in enumerate(sys.stdin, 1):
                print(json.dumps({"line": number, "status": "fetched", "path": line}), flush=True)
            """
        )
        values = {
            "a": Scalar(7), "b": b"caf\xc3\xa9", "c": datetime.date(2024, 2, 29), "d": float("nan"), "e": None,
            "f": "two\nlines \u2028", "g": {"Accept": Scalar("x")}, "h": 1.5, "not": object(),
        }  # fmt: skip
        row = {"picture": "http://h/", **values}
        (result,) = fetch([row], url="picture", columns=list("abcdefgh"), kf=program)
        sent = json.loads(result["path"])
        self.assertEqual(
            sent,
            {"url": "http://h/", "a": 7, "b": "caf\u00e9", "c": "2024-02-29", "f": values["f"], "g": {"Accept": "x"}, "h": 1.5},
        )
        self.assertEqual({key: result[key] for key in row}, row)
        bad = [{"url": "http://h/", "a": value} for value in (object(), b"\xff", float("inf"))]
        for result in fetch(bad, columns=["a"], kf="/nonexistent"):
            self.assertEqual(result["status"], "failed")
            self.assertIn("cannot be written as JSON", result["error"])

    def test_columns_name_the_copies(self):
        with Origin() as origin:
            rows = [{"picture": f"{origin.address}/1.jpg", "id": "cat"}]
            options = [*self.options, "-P", str(self.folder), "--name", "{id}.{ext}"]
            (row,) = fetch(rows, options, url="picture", columns=["id"], kf=KF)
        self.assertEqual(row["output"], str(self.folder / "cat.jpg"))

    def test_a_prefix_keeps_the_columns_of_a_row(self):
        with self.assertRaisesRegex(ValueError, "width"):
            list(fetch([{"url": None, "width": 3}]))
        (row,) = fetch([{"url": None, "width": 3}], prefix="kf_")
        self.assertEqual((row["width"], row["kf_width"], row["kf_status"]), (3, None, "failed"))
        self.assertIn("kf_bytes bigint", result_schema("kf_"))


class Bounds(Case):
    def test_the_window_bounds_the_rows_without_an_answer(self):
        program = self.program("for line in sys.stdin: pass\ntime.sleep(60)")
        pulled = itertools.count()
        with self.assertRaisesRegex(KFError, "no progress"):
            list(fetch(({"url": f"http://h/{next(pulled)}"} for _ in range(1000)), window=10, timeout=0.3, kf=program))
        self.assertEqual(next(pulled), 10)

    def test_the_backlog_bounds_the_rows_that_wait_for_an_earlier_one(self):
        program = self.program(
            """
            for number, line in enumerate(sys.stdin, 1):
                if number > 1: print(json.dumps({"line": number, "status": "fetched"}), flush=True)
            """
        )
        pulled = itertools.count()
        rows = ({"url": f"http://h/{next(pulled)}"} for _ in range(1000))
        with self.assertRaisesRegex(KFError, "no progress"):
            list(fetch(rows, ordered=True, window=10, backlog=25, timeout=0.5, kf=program))
        self.assertEqual(next(pulled), 25)

    def test_full_pipes_in_all_directions_do_not_deadlock(self):
        # Each answer has the URL in it: 12 MB go in and come out, and kf gets 300 messages' worth of standard error.
        rows = [{"url": f"{place}" * (20_000 // len(f"{place}"))} for place in range(600)]
        results = list(fetch(rows, [*self.options, "-v"], kf=KF, timeout=LIMIT))
        self.assertEqual(len(results), 600)
        program = self.program(
            """
            sys.stderr.write("x" * 3_000_000 + "\\n"); sys.stderr.flush()
            for number, line in enumerate(sys.stdin, 1):
                print(json.dumps({"line": number, "status": "fetched", "pad": "x" * 50_000}), flush=True)
                sys.stderr.write("y" * 10_000 + "\\n")
            """
        )
        self.assertEqual(len(list(fetch(rows, kf=program, timeout=LIMIT))), 600)

    def test_a_reader_that_is_slow_is_waited_for(self):
        program = self.program(
            """
            for number, line in enumerate(sys.stdin, 1):
                print(json.dumps({"line": number, "status": "fetched", "pad": "x" * 500}), flush=True)
            """
        )
        results = fetch(({"url": "http://h/"} for _ in range(3000)), window=500, timeout=LIMIT, kf=program)
        next(results)
        # Longer than the timeout: it counts only while kf is waited for.
        with mock.patch("time.monotonic", lambda now=time.monotonic: now() + 1000):
            self.assertEqual(len(list(results)), 2999)


class Failures(Case):
    def fails(self, text, reason, status, *said):
        program = self.program(text)
        with self.assertRaises(KFError) as caught:
            list(fetch(({"url": f"http://h/{place}"} for place in range(5000)), timeout=LIMIT, kf=program))
        error = caught.exception
        self.assertIn(reason, str(error))
        self.assertEqual(error.status, status)
        for words in said:
            self.assertIn(words, str(error))
        return error

    def test_a_program_that_is_missing(self):
        with self.assertRaisesRegex(KFError, "missing cannot be started: No such file"):
            list(fetch([{"url": "http://h/"}], kf=str(self.folder / "missing")))

    def test_a_crash_has_the_signal_and_the_last_messages(self):
        error = self.fails(
            """
            for number in range(100): print("message", number, file=sys.stderr)
            sys.stderr.flush(); os.kill(os.getpid(), signal.SIGKILL)
            """,
            "signal 9 (Killed) and left", -9, "message 99", "message 80",
        )  # fmt: skip
        self.assertEqual(len(error.messages), 20)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.status), (str(error), -9))

    def test_statuses_other_than_0_and_1(self):
        self.fails("print('kf: no space', file=sys.stderr); sys.exit(3)", "ended with status 3", 3, "kf: no space")
        text = """
            for number, line in enumerate(sys.stdin, 1): print(json.dumps({"line": number, "status": "failed"}))
            sys.exit(%d)
            """
        for status in (2, 3, 4, 130, 143):  # those of the manual
            self.fails(text % status, f"ended with status {status}", status)
        program = self.program(text % 1)
        self.assertEqual(len(list(fetch([{"url": "http://h/"}] * 9, kf=program))), 9)

    def test_a_mistake_in_the_options_has_kfs_message(self):
        with self.assertRaisesRegex(KFError, "status 2(.|\n)*--never"):
            list(fetch([{"url": "http://h/"}], ["--never"], kf=KF))

    def test_a_run_that_stops_early_fails_the_task(self):
        with Origin() as origin:
            rows = [{"url": f"{origin.address}/none{place}.jpg"} for place in range(100)]
            with self.assertRaises(KFError) as caught:
                list(fetch(rows, [*self.options, "--max-failures", "3"], kf=KF))
        self.assertEqual(caught.exception.status, 4)

    def test_a_full_disk_fails_the_task_with_its_reason(self):
        cache = self.folder / "cache"
        cache.mkdir()
        path = self.folder / "wrapper"
        mount = f'mount -t tmpfs -o mode=700,size=64k none "{cache}" && exec "{KF}" "$@"'
        path.write_text(f"#!/bin/sh\nexec unshare -rm /bin/sh -c '{mount}' sh \"$@\"\n")
        path.chmod(0o755)
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
            self.skipTest("a small disk needs a mount namespace: allow user namespaces, or run `make engines` as root")
        with Origin() as origin, self.assertRaisesRegex(KFError, "status 3(.|\n)*the disk is full") as caught:
            rows = [{"url": f"{origin.address}/{place}.jpg"} for place in range(100)]
            list(fetch(rows, self.options, kf=str(path)))
        self.assertEqual(caught.exception.status, 3)

    def test_a_megabyte_of_messages_leaves_a_small_error(self):
        for line in ('b"\\xff" * 50_000 + b"\\n"', 'b"x" * 1_000_000'):
            error = self.fails(
                f"""
                sys.stdin.readline()
                for number in range(20): sys.stderr.buffer.write({line})
                sys.stderr.flush(); os._exit(7)
                """,
                "status 7", 7,
            )  # fmt: skip
            self.assertTrue(error.messages)
            self.assertLess(len(pickle.dumps(error)), 300_000)

    def test_half_an_answer_of_a_killed_kf_is_an_error(self):
        text = """
            sys.stdin.readline(); print(json.dumps({"line": 1, "status": "fetched"}))
            sys.stdout.write('{"line": 2, "status": "fet'); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)
            """
        self.fails(text, "broke off within an answer", -9)

    def test_answers_that_are_none(self):
        self.fails("print('hello', flush=True); time.sleep(60)", "no answer: b'hello'", None)
        self.fails("print(5, flush=True); time.sleep(60)", "no answer: b'5'", None)
        self.fails("sys.stdout.write('{\"status\"')", "broke off", 0)
        line = "print(json.dumps({'line': %s, 'status': 'fetched'}), flush=True); "
        self.fails("sys.stdin.readline(); " + line % 1 * 2 + "time.sleep(60)", "answered line 1", None)
        self.fails("sys.stdin.readline(); " + line % "'x'" + "time.sleep(60)", "answered line x", None)
        self.fails("sys.stdin.readline(); " + line % "[1]" + "time.sleep(60)", "answered line", None)
        self.fails("sys.stdin.readline(); " + line % 1, "left", 0)
        self.fails("sys.stdin.readline(); " + line % "1, 'variant': 'small'" + "time.sleep(60)", "variant small, which is not next", None)
        error = "print(json.dumps({'line': 1, 'status': 'failed', 'error': 'boom'}), flush=True); time.sleep(60)"
        self.fails("sys.stdin.readline(); " + error, "error that is no object", None)
        self.fails("print('[' * 200000, flush=True); time.sleep(60)", "no answer", None)

    def test_bytes_that_make_no_answer_do_not_put_the_timeout_off(self):
        program = self.program(
            "while True:\n    sys.stdout.write(' ')\n    sys.stdout.flush()\n    time.sleep(0.05)"
        )
        with self.assertRaisesRegex(KFError, "no progress"):
            list(fetch([{"url": "http://h/"}], timeout=0.5, kf=program))

    def test_options_that_give_rows_no_results_are_refused(self):
        rows = [{"url": "http://h/", "id": 1}]
        for options in (["--shard", "0/2"], ["--srcset=a.html"], ["--shards", "x"], ["--key-column", "id"]):
            with self.subTest(options=options), self.assertRaises(ValueError):
                list(fetch(rows, options, kf=KF))
        for arguments in ((rows, "--jobs 3"), (rows[0],), (rows, [], "id")):
            with self.subTest(arguments=arguments), self.assertRaises(TypeError):
                list(fetch(*arguments[:2], kf=KF, columns=arguments[2] if len(arguments) > 2 else ()))

    def test_urls_that_a_line_would_change_go_as_objects(self):
        program = self.program(
            """
            for number, line in enumerate(sys.stdin, 1):
                url = json.loads(line)["url"] if line.startswith("{") else None
                print(json.dumps({"line": number, "status": "fetched", "path": url}), flush=True)
            print(json.dumps({"summary": True}))
            """
        )
        odd = ["http://h/a b", "http://h/a#b", "'http://h/'", '"http://h/",', " http://h/", "{", "http://h/\u00e4", "http://h/a\nb"]
        plain = ["http://h/a", "https://u:p@h:1/a,?b=%20&c=1", "http://h/" + "x" * 1000]
        found = {row["url"]: row["path"] for row in fetch([{"url": url} for url in odd + plain], kf=program)}
        self.assertEqual(found, {**{url: url for url in odd}, **{url: None for url in plain}})

    def test_a_fork_leaves_kf_to_its_parent(self):
        with Origin() as origin:
            answers = fetch(({"url": f"{origin.address}/{place}.jpg"} for place in range(20)), self.options, kf=KF, window=5)
            first = next(answers)
            child = os.fork()
            if child == 0:
                warnings.simplefilter("ignore")  # the copy of kf's Popen is not waited for here
                answers.close()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(len([first, *answers]), 20)

    def test_a_standstill_ends_kf_and_what_it_started(self):
        note = self.folder / "note"
        program = self.program(
            f"""
            import subprocess
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(["sleep", "1000"])
            open({str(note)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
            for line in sys.stdin: pass
            time.sleep(1000)
            """
        )
        with self.assertRaisesRegex(KFError, "no progress"):
            list(fetch([{"url": "http://h/"}], timeout=1, kf=program))
        for number in note.read_text().split():
            wait_until(lambda: not is_running(int(number)), f"{number} is running")

    def test_a_failing_input_ends_kf(self):
        def rows():
            yield from ({"url": f"http://127.0.0.1:1/{place}"} for place in range(2000))
            raise OSError("the input broke")

        with self.assertRaisesRegex(OSError, "the input broke"):
            list(fetch(rows(), self.options, kf=KF))


class Ends(Case):
    def test_an_interrupted_task_ends_kf(self):
        # A shell lets what it runs in the background ignore the signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        program = self.program("sys.stdin.readline(); os.kill(os.getppid(), signal.SIGINT); time.sleep(60)")
        for ordered in (False, True):
            with self.assertRaises(KeyboardInterrupt):
                list(fetch([{"url": "http://h/"}], kf=program, ordered=ordered, timeout=LIMIT))
            self.assertEqual(children(), self.before)

    def test_a_terminated_kf_fails_the_task(self):
        program, note = self.wrapper()
        with Origin() as origin:
            rows = [{"url": f"{origin.address}/held{place}.jpg"} for place in range(5000)]

            def end():
                origin.wait_for_requests(4)
                os.kill(int(note.read_text()), signal.SIGTERM)
                origin.release()  # kf waits for what is on its way

            with ThreadPoolExecutor(1) as pool, self.assertRaises(KFError) as caught:
                pool.submit(end)
                list(fetch(rows, [*self.options, "--jobs", "4"], kf=program))
        self.assertEqual(caught.exception.status, 143)
        self.assertLess(origin.counts.total(), len(rows))

    def test_two_partitions_share_one_cache(self):
        with Origin() as origin, ThreadPoolExecutor(2) as pool:
            rows = [{"url": f"{origin.address}/held{place}.jpg"} for place in range(100)]
            tasks = [pool.submit(lambda: list(fetch(rows, self.options, kf=KF))) for _ in range(2)]
            origin.wait_for_requests(4)  # as many as kf asks a host for that has not answered yet
            origin.release()
            for task in tasks:
                results = task.result(LIMIT)
                self.assertEqual(len(results), 100)
                self.assertTrue(all(row["path"] for row in results))
            self.assertEqual(origin.twice(), set())

    def test_a_generator_that_is_closed_ends_kf(self):
        program, note = self.wrapper()
        with Origin() as origin:
            rows = [{"url": f"{origin.address}/1.jpg"}, *({"url": f"{origin.address}/held{n}"} for n in range(5))]
            results = fetch(rows, self.options, kf=program)
            self.assertEqual(next(results)["status"], "fetched")
            origin.wait_for_requests(6)
            self.assertEqual(len(children()), len(self.before) + 1)
            results.close()
            self.assertEqual(children(), self.before)
            self.assertFalse(is_running(int(note.read_text())))

    def test_a_python_that_is_killed_leaves_no_kf(self):
        program, note = self.wrapper()
        with Origin() as origin:
            text = f"""if True:
                import sys; sys.path.insert(0, {str(Path(fetch.__code__.co_filename).parent)!r})
                from kf_partition import fetch
                rows = ({{"url": {origin.address!r} + f"/held{{n}}"}} for n in range(100000))
                list(fetch(rows, {self.options!r} + ["--jobs", "4"], kf={program!r}))
                """
            with subprocess.Popen([sys.executable, "-c", text]) as python:
                origin.wait_for_requests(4)
                python.send_signal(signal.SIGKILL)
            number = int(note.read_text())
            self.assertTrue(is_running(number))
            origin.release()
            wait_until(lambda: not is_running(number), "kf is running")
        self.assertLess(origin.counts.total(), 1000)

    def test_the_retry_of_a_killed_kf_fetches_only_what_was_in_flight(self):
        program, note = self.wrapper()
        with Origin(delay=0.01) as origin:
            rows = [{"url": f"{origin.address}/{place}.jpg"} for place in range(200)]
            answered = set()
            with self.assertRaisesRegex(KFError, "signal 9"):
                for row in fetch(rows, [*self.options, "--jobs", "4"], window=12, kf=program):
                    answered.add("/" + row["url"].rsplit("/", 1)[1])
                    if len(answered) == 60:
                        os.kill(int(note.read_text()), signal.SIGKILL)
            results = list(fetch(rows, self.options, kf=KF))
            self.assertEqual(len(results), 200)
            self.assertTrue(all(row["path"] for row in results))
            self.assertEqual(origin.twice() & answered, set())
            self.assertLessEqual(len(origin.twice()), 12)


@unittest.skipUnless(pandas, "pandas is missing: run `apt-get install python3-pandas`")
class Frames(Case):
    def test_frames_keep_their_rows_index_and_types(self):
        with Origin() as origin:
            frames = [
                pandas.DataFrame(
                    {"url": [f"{origin.address}/{batch}-{row}.jpg" for row in range(40)], "id": range(40)},
                    index=range(100, 140),
                )
                for batch in range(5)
            ]
            frames[2].loc[103, "url"] = None
            frames[4].loc[104, "url"] = f"{origin.address}/none.jpg"
            results = list(map_frames(iter([*frames, frames[0][:0]]), self.options, window=7, backlog=50, kf=KF))
        self.assertEqual(sorted(map(len, results)), [0, 40, 40, 40, 40, 40])
        for result in results:
            self.assertEqual(list(result.columns), ["url", "id", *RESULT_COLUMNS])
            self.assertEqual((str(result["width"].dtype), str(result["bytes"].dtype)), ("Int32", "Int64"))
            if len(result):
                self.assertEqual(list(result.index), list(range(100, 140)))
                self.assertEqual(list(result["id"]), list(range(40)))
        failed = pandas.concat(results).query("status == 'failed'")
        self.assertCountEqual(failed.index, [103, 104])

    def test_one_frame(self):
        with Origin() as origin:
            frame = pandas.DataFrame({"picture": [f"{origin.address}/{row}.jpg" for row in range(9)]})
            result = map_frame(frame, self.options, url="picture", prefix="kf_", kf=KF)
        self.assertEqual(list(result["kf_status"]), ["fetched"] * 9)
        self.assertEqual(list(result["picture"]), list(frame["picture"]))
        self.assertEqual(len(map_frame(frame[:0], url="picture", kf="/nonexistent")), 0)

    def test_each_variant_has_a_row_of_the_frame(self):
        with Origin() as origin:
            urls = [f"{origin.address}/1.jpg", None, f"{origin.address}/none.jpg"]
            frame = pandas.DataFrame({"url": urls, "id": [5, 6, 7]}, index=[1, 1, 9])
            result = map_frame(frame, [*self.options, "--widths", "3,20"], kf=KF)
        self.assertEqual(list(result.index), [1, 1, 1, 1, 9, 9])
        self.assertEqual(list(result["id"]), [5, 5, 6, 6, 7, 7])
        self.assertEqual(list(result["variant"]), ["3", "20"] * 3)
        self.assertEqual(list(result["width"].dropna()), [3, 20])
        empty = map_frame(frame[:0], ["--widths", "3,20"], kf="/nonexistent")
        self.assertEqual((list(empty.columns), len(empty)), (list(result.columns), 0))

    def test_the_last_row_of_a_frame_is_sent_while_the_next_frame_is_waited_for(self):
        with Origin() as origin:

            def frames():
                for place in range(3):
                    urls = [f"{origin.address}/{place}-{row}.jpg" for row in range(5)]
                    yield pandas.DataFrame({"url": [*urls, None]})
                    origin.wait_for_requests(5 * (place + 1))

            self.assertEqual([len(result) for result in map_frames(frames(), self.options, kf=KF)], [6] * 3)

    def test_a_frame_without_a_column_is_an_error(self):
        for columns, frame in (([], {"picture": ["x"]}), (["id"], {"url": ["x"]}), ([], {"picture": []})):
            with self.subTest(columns=columns), self.assertRaisesRegex(ValueError, "no column '(url|id)'; it has"):
                map_frame(pandas.DataFrame(frame), columns=columns, kf="/nonexistent")

    def test_a_frame_larger_than_the_backlog(self):
        program = self.program(
            """
            for number, line in enumerate(sys.stdin, 1):
                print(json.dumps({"line": number, "status": "fetched"}), flush=True)
            """
        )
        frames = [pandas.DataFrame({"url": ["http://h/"] * 100}) for _ in range(3)]
        results = list(map_frames(frames, window=3, backlog=1, timeout=LIMIT, kf=program))
        self.assertEqual([len(result) for result in results], [100] * 3)

    def test_frames_that_are_no_longer_wanted_end_kf(self):
        program = self.program(
            """
            print(json.dumps({"line": 1, "status": "fetched"}), flush=True)
            for line in sys.stdin: pass
            time.sleep(60)
            """
        )
        frames = [pandas.DataFrame({"url": ["http://h/"] * count}) for count in (1, 5)]
        results = map_frames(frames, timeout=LIMIT, kf=program)
        self.assertEqual(len(next(results)), 1)
        results.close()
        self.assertEqual(children(), self.before)

    def test_a_column_of_the_results_name_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "status"):
            map_frame(pandas.DataFrame({"url": ["x"], "status": [1]}))


if __name__ == "__main__":
    skips.main()
