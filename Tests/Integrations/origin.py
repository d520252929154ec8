"""An origin whose requests are counted and can be held back, for the tests of this folder."""

import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGE = (ROOT / "Fixtures/jpeg/orientation-6.jpg").read_bytes()


class Origin:
    """Serves an image under every path on a free port of the loopback interface; /none... is a 404.

    Each answer takes `delay` seconds. A path that begins with /held waits until `release` is called.
    """

    def __init__(self, delay=0.0):
        self.delay = delay
        self.counts = Counter()  # the requests that came, by path
        self._released = threading.Event()
        self._changed = threading.Condition()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                origin._answer(self)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):  # a client that was killed
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, handler):
        with self._changed:
            self.counts[handler.path] += 1
            self._changed.notify_all()
        if handler.path.startswith("/held"):
            self._released.wait(60)
        elif self.delay:
            time.sleep(self.delay)
        body = b"" if handler.path.startswith("/none") else IMAGE
        handler.send_response(200 if body else 404)
        handler.send_header("Content-Type", "image/jpeg")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def release(self):
        """Lets the held requests go on."""
        self._released.set()

    def wait_for_requests(self, number, limit=30.0):
        """Waits until so many requests have come."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.counts.total() >= number, limit):
                raise TimeoutError(f"{self.counts.total()} of {number} requests after {limit} s")

    def twice(self):
        """The paths that were asked for more than once."""
        return {path for path, count in self.counts.items() if count > 1}

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.release()
        self._server.shutdown()
        self._server.server_close()
