"""Fetches the images of a partition with kf: for mapInPandas of Spark, Dask, Ray, and plain Python.

    from kf_partition import fetch
    for row in fetch([{"url": "https://example.com/cat.jpg", "id": 7}], ["--cache-dir", "/scratch/kf"]):
        print(row["id"], row["status"], row["path"])

One `kf prefetch - --json` runs for each partition. A bounded number of rows is on its way through kf at any time. A row
that fails has an error in its result. A KFError is raised when kf itself fails, so that the engine retries the task.

Needs Python 3.9 and Linux, and kf in KF_BINARY, on the PATH or beside Python, where the wheel puts it. Has no
dependencies.
"""

import fcntl
import json
import math
import os
import re
import select
import shutil
import signal
import subprocess
import sysconfig
import time
from collections import deque
from contextlib import closing, suppress
from itertools import chain
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

__all__ = ["RESULT_COLUMNS", "KFError", "fetch", "map_frame", "map_frames", "result_schema"]

# The columns of a result with their types in Spark's SQL. `status` is never null, `variant` is without variants.
RESULT_COLUMNS = {
    "status": "string",
    "path": "string",
    "output": "string",
    "format": "string",
    "width": "int",
    "height": "int",
    "bytes": "bigint",
    "sha256": "string",
    "http_status": "int",
    "attempts": "int",
    "error": "string",
    "error_code": "int",
    "final_url": "string",
    "variant": "string",
}
_Result = Tuple[Any, ...]  # a value for each of them

_PLAIN_URL = re.compile(r"https?://[!$%&(-;=?-Z_a-z~]+", re.ASCII).fullmatch  # no space, quote, fragment or brace
_NORMAL = (0, 1)  # 1: some images failed, which their rows say
_MESSAGES = 20  # last lines of kf's standard error that an error carries
_MESSAGE = 4096  # last bytes of each
_BLOCK = 1 << 18  # bytes of one read
_FLUSH = 1 << 14  # bytes of lines that are written together, when the next rows are at hand
_PATIENCE = 0.005  # seconds of reading rows after which answers are looked for
# A wake-up for each answer would cost more than the answer. After a small block, the next read waits for more to come:
# less than kf needs for the rows that it has.
_SMALL = 1 << 16  # bytes of a small block
_GATHERING = 25e-6  # seconds for each row that kf has
_PIPE = 1 << 18  # bytes that kf can write meanwhile
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which Python has from 3.10 on
_LINE_LIMIT = 1 << 24  # bytes without a newline that are no answer of kf
_GRACE = 3.0  # seconds that kf has after SIGTERM to keep the images in flight


class KFError(RuntimeError):
    """A failure of kf itself: a crash, a stall, a missing program, or an answer that is none.

    `status` is the exit status, negative for a signal, or None. `messages` are the last lines of kf's standard error.
    """

    def __init__(self, reason: str, status: Optional[int] = None, messages: Sequence[str] = ()):
        super().__init__(reason, status, messages)  # all of them, so that engines can pickle it
        self.reason, self.status, self.messages = reason, status, list(messages)

    def __str__(self) -> str:
        return "\n  ".join([self.reason, *self.messages])


def result_schema(prefix: str = "") -> str:
    """Returns the columns of a result as Spark's DDL."""
    return ", ".join(f"{prefix}{name} {kind}" for name, kind in RESULT_COLUMNS.items())


def _installed() -> str:
    """The program on the PATH, or the wheel's in an environment that is not active."""
    beside = os.path.join(sysconfig.get_path("scripts"), "kf")
    return "kf" if shutil.which("kf") or not os.access(beside, os.X_OK) else beside


def fetch(
    rows: Iterable[Mapping[str, Any]],
    options: Sequence[str] = (),
    *,
    url: str = "url",
    columns: Sequence[str] = (),
    prefix: str = "",
    ordered: bool = False,
    window: int = 1000,
    backlog: int = 32000,
    timeout: float = 300.0,
    kf: Optional[str] = None,
) -> Iterator[Dict[str, Any]]:
    """Yields each row with its result as soon as kf answers, or in the order of the input.

    With --variant, --widths or several formats, a row has several results, one after the other: those of each variant in
    the order of the options (widths by size), in each format.

    options: options of `kf prefetch`, such as ["--jobs", "64", "--remote", "https://cache.example.com/team"].
    url: the column with the URL. Without a string there, the row fails and kf is not asked.
    columns: other columns that the options name (--key-column, {id} in --name); only these and the URL reach kf.
        ValueError if none of the first `window` rows has one of them, or the URL's; kf is not started before one has.
    prefix: goes before the names of the result's columns. ValueError if a row has such a column itself.
    window: the greatest number of rows that kf has not answered.
    backlog: with `ordered`, the greatest number of rows that wait for an earlier one.
    timeout: seconds without an answer after which kf is killed and KFError raised.
    kf: the program; KF_BINARY, or `kf` on the PATH or beside Python by default.
    """
    names = [prefix + name for name in RESULT_COLUMNS]
    taken = frozenset(names)

    def joined(row: Mapping[str, Any], results: Sequence[_Result]) -> Iterator[Dict[str, Any]]:
        if not taken.isdisjoint(row):
            raise ValueError(f"rows have columns of the result's names, {sorted(taken.intersection(row))}: set prefix")
        for result in results:
            yield {**row, **dict(zip(names, result))}

    if min(window, backlog) < 1:
        raise ValueError("window and backlog are at least 1")
    if isinstance(rows, Mapping):
        raise TypeError("rows is an iterable of rows, and not one row")
    record = _Recorder(options, url, columns)
    rows = record.with_columns(rows, window)
    if not ordered:
        with closing(_answers(((row, record(row), False) for row in rows), record, window, timeout, kf)) as answers:
            for row, results in answers:
                yield from joined(row, results)
        return
    waiting: deque = deque()  # of [row, results or None], in the order of the input

    def entries() -> Iterator[Tuple[list, Any, bool]]:
        for row in rows:
            waiting.append([row, None])
            yield waiting[-1], record(row), False

    has_room = lambda: len(waiting) < backlog  # noqa: E731
    with closing(_answers(entries(), record, window, timeout, kf, has_room)) as answers:
        for entry, results in answers:
            entry[1] = results
            while waiting and waiting[0][1] is not None:
                yield from joined(*waiting.popleft())


def map_frames(
    frames: Iterable[Any],
    options: Sequence[str] = (),
    *,
    url: str = "url",
    columns: Sequence[str] = (),
    prefix: str = "",
    window: int = 1000,
    backlog: int = 32000,
    timeout: float = 300.0,
    kf: Optional[str] = None,
) -> Iterator[Any]:
    """Yields each pandas DataFrame with the columns of the results, once all its rows are answered (Spark).

    The rows of a frame keep their order and index; frames can overtake each other. A row with several results is there as
    often, with its index. While kf works on the last rows of a frame, it gets those of the next ones, up to `backlog`
    rows. ValueError if the frame has not the URL's column or one of `columns`. The other parameters are those of `fetch`.
    """
    if min(window, backlog) < 1:
        raise ValueError("window and backlog are at least 1")
    held = 0  # the rows of frames that were sent in full and are not answered in full
    record = _Recorder(options, url, columns)

    def entries() -> Iterator[Tuple[Any, Any, bool]]:
        nonlocal held
        for frame in frames:
            taken = [prefix + name for name in RESULT_COLUMNS if prefix + name in frame.columns]
            if taken:
                raise ValueError(f"the frame has columns of the result's names, {taken}: set prefix")
            absent = [name for name in record.columns if name not in frame.columns]
            if absent:
                raise ValueError(f"the frame has no column {absent[0]!r}; it has {list(frame.columns)}")
            batch = _Batch(frame)
            if not batch.missing:
                yield (batch, None), None, False
            for position, line in enumerate(record.of_frame(frame)):
                yield (batch, position), line, position + 1 < len(frame)
            if batch.missing:
                batch.held = len(frame)
                held += batch.held

    with closing(_answers(entries(), record, window, timeout, kf, lambda: held < backlog)) as answers:
        for (batch, position), results in answers:
            if position is not None:
                batch.results[position] = results
                batch.missing -= 1
            if batch.missing == 0:
                held -= batch.held
                yield _with_results(batch.frame, batch.results, prefix)


def map_frame(frame: Any, options: Sequence[str] = (), **settings: Any) -> Any:
    """Returns one pandas DataFrame with the columns of the results (map_partitions of Dask, map_batches of Ray).

    The rows keep their order and index. An empty frame starts no process. The parameters are those of `map_frames`.
    """
    (result,) = map_frames([frame], options, **settings)
    return result


# The options with which rows and results do not correspond.
_REFUSED = ("--shard", "--shards", "--srcset", "--dry-run", "--input-format", "--url-column")


def _given(options: Sequence[str], *names: str) -> List[str]:
    """Returns the values of options, whose names are `--name` or `-n`."""
    values = []
    for option, following in zip(options, [*options[1:], ""]):
        for name in names:
            if option == name:
                values.append(following)
            elif option.startswith(name if len(name) == 2 else name + "="):
                values.append(option[len(name) :].removeprefix("="))
    return values


def _checked(options: Sequence[str], columns: Sequence[str]) -> None:
    """Raises TypeError or ValueError for options with which rows and answers do not correspond."""
    if isinstance(options, (str, bytes)) or isinstance(columns, (str, bytes)):
        raise TypeError("options and columns are lists of strings")
    for option in options:
        if option.split("=", 1)[0] in _REFUSED:
            raise ValueError(f"the option {option.split('=', 1)[0]} does not go with rows, each of which has its own results")
    for name in ("--key-column", "--name-column", "--headers-column", "--process-column"):
        for value in _given(options, name)[-1:]:
            if value not in columns and value != "url":
                raise ValueError(f"{name} names '{value}', which is not among columns, so that kf would not get it")


def _variants(options: Sequence[str]) -> List[Optional[str]]:
    """Returns the variant of each result of a row, in the order of kf's answers: a variant is there for each format."""

    def encodes(text: str) -> bool:
        return text.rsplit("|>", 1)[-1].strip().startswith("encode:")

    widths = {int(width) for width in ",".join(_given(options, "--widths")[-1:]).split(",") if width.isdecimal()}
    named = [text.partition("=") for text in _given(options, "--variant")]
    texts = [(str(width), "") for width in sorted(widths)] or [(name, text) for name, _, text in named] or [(None, "")]
    formats = len(set(_given(options, "-f", "--format"))) or 1
    start = any(encodes(text) for text in _given(options, "-p", "--process")[-1:])
    return [name for name, text in texts for _ in range(1 if start or encodes(text) else formats)]


def _with_results(frame: Any, results: Sequence[Sequence[_Result]], prefix: str) -> Any:
    import pandas  # here alone, so that rows need no pandas

    kinds = {"string": object, "int": "Int32", "bigint": "Int64"}
    if results and len(results[0]) > 1:
        frame = frame.iloc[[place for place, of_row in enumerate(results) for _ in of_row]]
    columns = zip(*chain.from_iterable(results)) if results else [()] * len(RESULT_COLUMNS)
    made = {
        prefix + name: pandas.Series(list(column), index=frame.index, dtype=kinds[kind])
        for (name, kind), column in zip(RESULT_COLUMNS.items(), columns)
    }
    return frame.assign(**made)


class _Batch:
    """A frame and its results so far."""

    def __init__(self, frame: Any):
        self.frame = frame
        self.missing = len(frame)
        self.held = 0  # the rows that count against the backlog
        self.results: List[Any] = [None] * len(frame)


class _Recorder:
    """Makes the line that kf gets of a row, or the results of a row that kf need not see."""

    def __init__(self, options: Sequence[str], url: str, columns: Sequence[str]):
        _checked(options, columns)
        if "url" in columns and url != "url":
            raise ValueError("kf gets the URL as the member 'url', so that no other column can have this name")
        self.options, self.variants = options, _variants(options)
        self.columns = [url, *(name for name in columns if name != url)]
        self.others = self.columns[1:]

    def with_columns(self, rows: Iterable[Mapping[str, Any]], most: int) -> Iterator[Mapping[str, Any]]:
        """Returns the rows. Raises ValueError if none of the first ones, `most` of them, has one of the columns."""
        missing, first, rows = set(self.columns), [], iter(rows)
        for row in rows:
            first.append(row)
            missing.difference_update(row)
            if not missing or len(first) == most:
                break
        if missing and first:
            raise ValueError(f"no row has the column {min(missing)!r} ({len(first)} read); the first has {list(first[0])}")
        return chain(first, rows)

    def __call__(self, row: Mapping[str, Any]) -> Any:
        return self._record(row.get(self.columns[0]), [row.get(name) for name in self.others])

    def of_frame(self, frame: Any) -> Iterator[Any]:
        others = zip(*(frame[name].tolist() for name in self.others)) if self.others else iter(lambda: (), None)
        for url, values in zip(frame[self.columns[0]].tolist(), others):
            yield self._record(url, values)

    def _record(self, url: Any, values: Sequence[Any]) -> Any:
        if not isinstance(url, str):
            return self._failed(f"the column {self.columns[0]} has no string")
        if not values:
            # Most URLs are a line as they are, which costs kf and this process half of an object.
            return url + "\n" if _PLAIN_URL(url) else '{"url":%s}\n' % json.dumps(url)
        try:
            plain = {name: value for name, value in zip(self.others, map(_plain, values)) if value is not None}
            return json.dumps({"url": url, **plain}, allow_nan=False, default=_plain) + "\n"
        except (TypeError, ValueError, RecursionError) as error:
            return self._failed(f"the row cannot be written as JSON: {error}")

    def _failed(self, reason: str) -> List[_Result]:
        return [("failed", *[None] * 8, 0, reason, None, None, variant) for variant in self.variants]


def _plain(value: Any) -> Any:
    """Returns a value of JSON: None for NaN, text for bytes and dates, Python's own numbers for those of numpy."""
    if value is None or isinstance(value, (str, bool, int, list, tuple, dict)):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8")
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        return _plain(value.item())
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def _result(answer: Dict[str, Any]) -> _Result:
    get = answer.get
    error = get("error")
    message, code = (error.get("message"), error.get("code")) if error else (None, None)
    return (
        *(answer["status"], get("path"), get("output"), get("format"), get("width"), get("height"), get("bytes")),
        *(get("sha256"), get("http_status"), get("attempts"), message, code, get("final_url"), get("variant")),
    )


def _answers(
    entries: Iterable[Tuple[Any, Any, bool]],
    record: _Recorder,
    window: int,
    timeout: float,
    kf: Optional[str],
    has_room: Callable[[], bool] = lambda: True,
) -> Iterator[Tuple[Any, List[_Result]]]:
    """Sends the lines of the entries to kf, and yields each token with its results, by arrival.

    An entry is a token, its line or its results, which are passed on, and whether the next entry is at hand. Otherwise that
    one may be long in coming, so that it is not read before kf has taken the lines. Reads no entry without room.
    """
    process: Optional[_Process] = None
    unanswered: Dict[int, Tuple[Any, List[_Result]]] = {}  # each token with its results so far
    number, is_open, source = 0, True, iter(entries)
    try:
        while is_open or unanswered:
            ready: List[Tuple[Any, Any]] = []
            since = time.monotonic()
            while is_open and len(unanswered) < window and len(ready) < window and has_room():
                if process and (process.is_full or time.monotonic() - since > _PATIENCE):
                    break
                entry = next(source, None)
                if entry is None:
                    is_open = False
                    break
                token, line, has_next = entry
                if isinstance(line, str):
                    process = process or _Process(record.options, kf)
                    if not unanswered:
                        process.since = time.monotonic()
                    number += 1
                    unanswered[number] = token, []
                    process.outgoing += line.encode("ascii")
                else:
                    ready.append((token, line))
                if process and not (has_next and len(process.outgoing) < _FLUSH):
                    process.write()
            yield from ready
            if process is None:
                continue
            # Whether kf cannot get more rows now, so that only its answers bring the work on.
            must_wait = not is_open or len(unanswered) >= window or not has_room()
            for answer in process.exchange(timeout, len(unanswered) if must_wait else 0, ends=not is_open):
                place, error = answer.get("line"), answer.get("error")
                if not isinstance(place, int) or place not in unanswered:
                    raise process.error(f"kf answered line {place}, which has no row that waits")
                if not isinstance(error, (dict, type(None))):
                    raise process.error(f"kf gave line {place} an error that is no object")
                token, results = unanswered[place]
                if answer.get("variant") != record.variants[len(results)]:
                    raise process.error(f"kf answered line {place} with the variant {answer.get('variant')}, which is not next")
                results.append(_result(answer))
                if len(results) == len(record.variants):
                    yield unanswered.pop(place)
            if process.has_ended and (unanswered or is_open):
                raise process.ended(len(unanswered))
        if process is not None:
            process.finish(timeout)
    finally:
        if process is not None:
            process.kill()


class _Process:
    """A running kf with its pipes, none of which blocks: full pipes in both directions cannot hold each other up."""

    def __init__(self, options: Sequence[str], kf: Optional[str]):
        program = kf or os.environ.get("KF_BINARY") or _installed()
        own = ["--json", "--input-format", "auto", "--url-column", "url", "--grace", "2s"]
        try:
            # A session of its own: what a wrapper script starts is ended with it. kf ends when its pipes close, so that
            # a killed Python leaves no kf (PR_SET_PDEATHSIG would end it with a mere thread of a pool).
            self.child = subprocess.Popen(
                [program, "prefetch", *options, *own, "-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise KFError(f"{program} cannot be started: {error.strerror}") from error
        self.owner = os.getpid()
        self.since = time.monotonic()  # the last answer, or the first row after all were answered
        self.outgoing = bytearray()
        self.has_ended = False
        self.is_full = False  # the pipe to kf
        self._incoming = b""
        self._was_small = False
        self._messages: deque = deque(maxlen=_MESSAGES)
        self._message = b""
        self._input, self._output, self._errors = (
            stream.fileno() for stream in (self.child.stdin, self.child.stdout, self.child.stderr)
        )
        self._poll = select.poll()
        for descriptor in (self._input, self._output, self._errors):
            os.set_blocking(descriptor, False)
        with suppress(OSError):  # an administrator may allow less
            fcntl.fcntl(self._output, _SET_PIPE_SIZE, _PIPE)
        self._poll.register(self._output, select.POLLIN)
        self._poll.register(self._errors, select.POLLIN)

    def exchange(self, timeout: float, waits: int, ends: bool) -> Iterator[Dict[str, Any]]:
        """Writes and reads what the pipes take and have. Waits for room for lines, and for answers to `waits` rows."""
        self.write(ends)
        deadline = self.since + timeout
        if waits and self._was_small:
            time.sleep(min(waits * _GATHERING, timeout))
        while True:
            is_blocked = self.is_full
            for descriptor, _ in self._wait(deadline, waits > 0 or is_blocked):
                if descriptor == self._input:
                    self.write(ends)
                elif descriptor == self._errors:
                    self._read_messages()
                else:
                    yield from self._read()
                    return
                if descriptor == self._input and not waits:
                    return
            if not waits and not is_blocked:
                return

    def _wait(self, deadline: float, waits: bool) -> List[Tuple[int, int]]:
        left = deadline - time.monotonic()
        events = self._poll.poll(max(left, 0) * 1000 if waits else 0)
        if waits and not events and left <= 0:
            raise self.error("kf made no progress until the timeout")
        return sorted(events, key=lambda event: event[0] == self._output)  # answers last: their reader may stop here

    def write(self, ends: bool = False) -> None:
        """Writes what the pipe takes of `outgoing`. Then `is_full` says whether something is left."""
        if self.child.stdin is None:
            self.outgoing.clear()
            return
        try:
            while self.outgoing:
                del self.outgoing[: os.write(self._input, self.outgoing)]
        except BlockingIOError:
            self._poll.register(self._input, select.POLLOUT)
            self.is_full = True
            return
        except BrokenPipeError:  # kf has ended or will; its status and messages say why
            self.outgoing.clear()
            ends = True
        if self.is_full:
            self._poll.unregister(self._input)
            self.is_full = False
        if ends:
            self.child.stdin.close()
            self.child.stdin = None

    def _read(self) -> Iterator[Dict[str, Any]]:
        block = os.read(self._output, _BLOCK)
        self._was_small = len(block) < _SMALL
        if not block:
            self.has_ended = True
            self._poll.unregister(self._output)
            if self._incoming:
                raise self.ended(0, f"kf broke off within an answer: {self._incoming[-200:]!r}")
            return
        *lines, self._incoming = (self._incoming + block).split(b"\n")
        if len(self._incoming) > _LINE_LIMIT:
            raise self.error("kf wrote a line without an end")
        try:
            answers = json.loads(b"[" + b",".join(lines) + b"]")  # half the cost of a call for each line
            is_whole = len(answers) == len(lines) and all(isinstance(answer, dict) for answer in answers)
        except (ValueError, RecursionError):
            is_whole = False
        if not is_whole:
            answers = [self._parsed(line) for line in lines]
        if answers:
            self.since = time.monotonic()
        for answer in answers:
            if "status" in answer:
                yield answer
            elif "summary" not in answer:
                raise self.error(f"kf wrote an object that is no answer: {str(answer)[:200]}")
        if answers:
            self.since = time.monotonic()  # without the time that the reader of the answers took

    def _parsed(self, line: bytes) -> Dict[str, Any]:
        with suppress(ValueError, RecursionError):
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
        raise self.error(f"kf wrote a line that is no answer: {line[:200]!r}")

    def _read_messages(self) -> None:
        block = os.read(self._errors, _BLOCK)
        if not block:
            self._poll.unregister(self._errors)
        *lines, rest = (self._message + block).split(b"\n")
        self._message = rest[-_MESSAGE:] if block else b""
        ended = lines if block else [*lines, rest]
        self._messages.extend(line[-_MESSAGE:].decode("utf-8", "replace") for line in ended if line)

    def finish(self, timeout: float) -> None:
        """Waits for the end of kf, which has answered all rows. Raises KFError if its exit status is not normal."""
        self.since = time.monotonic()
        while not self.has_ended:
            for _ in self.exchange(timeout, 1, True):
                raise self.error("kf answered more than once")
        self._reap(timeout)
        if self.child.returncode not in _NORMAL:
            raise self.ended(0)

    def ended(self, unanswered: int, reason: str = "") -> KFError:
        """Returns the error for a kf that has ended, or closed its output, too early."""
        self._reap(_GRACE)
        status = self.child.returncode
        if status is None:
            how = "kf closed its output"
        elif status < 0:
            how = f"kf was ended by signal {-status} ({signal.strsignal(-status)})"
        else:
            how = f"kf ended with status {status}"
        return self.error(reason or how + (f" and left {unanswered} row{'s' * (unanswered > 1)} unanswered" if unanswered else ""))

    def error(self, reason: str) -> KFError:
        self._drain()
        return KFError(reason, self.child.returncode, list(self._messages))

    def _reap(self, timeout: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.child.wait(max(timeout, 0))

    def _drain(self) -> None:
        """Reads the messages that are there. What a process that outlives kf writes later is not waited for."""
        with suppress(BlockingIOError, KeyError):  # all was read, or was read before
            for _ in range(64):
                self._read_messages()

    def kill(self) -> None:
        """Ends kf and what it started, and reaps it. kf keeps what it has fetched."""
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()
        if self.child.returncode is not None or os.getpid() != self.owner:  # a forked process has a copy of the generator
            return
        # Until the child is reaped, no other group of processes can have its number.
        with suppress(ChildProcessError, ProcessLookupError):  # a program that ignores SIGCHLD has no children to wait for
            os.killpg(self.child.pid, signal.SIGTERM)
            deadline = time.monotonic() + _GRACE
            state = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while os.waitid(os.P_PID, self.child.pid, state) is None and time.monotonic() < deadline:
                time.sleep(0.005)
            os.killpg(self.child.pid, signal.SIGKILL)
        self._reap(_GRACE)
