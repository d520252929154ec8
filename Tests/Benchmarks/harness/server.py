import subprocess
import sys

from .paths import ROOT


class Server:
    """A private nginx over a directory, on a port that is free."""

    def __init__(self, root, state, configuration=None):
        if configuration:
            state.mkdir(parents=True, exist_ok=True)
            (state / "server.conf").write_text(configuration)
        self.process = subprocess.Popen(
            [ROOT / "Tests/Support/serve.sh", root, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit("bench: nginx did not start")

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
