"""A list of 10,000 hosts, whose names a name server of our own resolves to 127.0.0.0/8."""

from dataclasses import replace

from harness import names
from harness.filesystem import Tmpfs
from harness.measure import alternate
from harness.result import Goal, Result
from harness.server import free_ports
from .bench import Folders
from .lists import Endless, Lists
from .prefetch import curl, kf

HOSTS = 10_000
WALL = 1.2  # of curl -Z, which stores nothing but the bytes
SECONDS = 120  # after them, no more rounds of that list


class Hosts(Endless):
    """The endless server, at every address of 127.0.0.0/8."""

    def __init__(self, bench):
        (self.port,) = free_ports(1)
        self.CONFIGURATION += f"listen 0.0.0.0:{self.port} backlog=4096; access_log off;"
        super().__init__(bench)

    def lists(self, name, count):
        """As many images of each host; the hosts take turns, so that each is met again after all others."""
        urls = [
            f"http://host{host}.test:{self.port}/{host:08}{image:08}.gif"
            for image in range(count)
            for host in range(HOSTS)
        ]
        return Lists(self.scratch, name, urls)


def dns(bench):
    """One image of each host and five, with a name server that answers at once, and one that takes 20 ms."""
    if not names.possible():
        bench.skip("dns: a mount namespace and a name server on port 53 are not allowed")
        return
    with Hosts(bench) as hosts, Tmpfs(bench.scratch) as system:
        for count in (1, 5):
            lists = hosts.lists(f"hosts-{count}", count)
            for delay in (0, 20):
                with names.NameServer(bench.scratch, delay) as server:
                    yield timed(bench, lists, system, server, count, delay)


def timed(bench, lists, system, server, count, delay):
    folders = Folders(system)
    sides = [through(server, kf(bench, folders, lists)), through(server, curl(folders, lists))]
    alternate(sides, bench.rounds, bench.environment, after=folders.discard, seconds=SECONDS)
    facts = {}
    for side in sides:
        server.forget()
        threads, sockets = names.peak(side.command(), bench.environment)
        folders.discard()
        lookups = server.lookups()
        facts[f"look-ups a host, {side.name}"] = f"{lookups.total() / HOSTS:.2f}, {max(lookups.values())} at most"
        facts[f"at most, {side.name}"] = f"{threads} threads, {sockets} sockets"
    return Result(
        f"dns-{count}" + (f"-{delay}ms" if delay else ""),
        f"prefetch of {count} × {HOSTS:,} images of {HOSTS:,} hosts, a name takes {delay} ms",
        system.name,
        sides,
        [Goal(f"≤ {WALL} × curl -Z by wall", lambda result: result.ratio("curl -Z"), WALL)],
        facts,
    )


def through(server, side):
    """The side, with that name server in place of the machine's."""
    return replace(side, command=lambda: server.wrapped(side.command()))
