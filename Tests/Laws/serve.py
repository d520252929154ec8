#!/usr/bin/python3
"""Makes the place of a case and serves its world until a line comes; the scripts of failing cases begin with it.

usage: serve.py BINARY FOLDER CASE      prints the place, whose `environment` the script reads; at the end, all requests
"""
import json
import shlex
import sys
from pathlib import Path

from place import Place
from run import Worker


def main():
    kf, folder, case = sys.argv[1:]
    worker = Worker(kf, folder)
    place = Place(worker, json.loads(case))

    def fill(argv, stdin=b""):
        print("+ kf", shlex.join(argv), file=sys.stderr)
        return worker.kf_run(place, argv, stdin)

    place.prepare(fill)
    Path(folder, "stdin").write_bytes(place.stdin)
    variables = worker.environment(place) | {name: address for address, name in worker.world.variables.items()}
    Path(folder, "environment").write_text("".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in variables.items() if name != "PATH"))
    print(place.root, flush=True)
    sys.stdin.readline()
    for request in worker.world.take_log():
        marks = " with the certificate" if request.certificate else ""
        print(f"{request.party}: {request.method} {request.target}{marks}: {request.status} "
              f"{worker.pictures.label(request.picture) or ''}")
        for name, value in request.headers:
            if name.lower() in ("authorization", "cookie", "x-api-key", "x-column", "if-none-match", "if-modified-since"):
                print(f"    {name}: {value}")
    worker.close()


main()
