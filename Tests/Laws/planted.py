#!/usr/bin/python3
"""Tests the laws: each must find a fault that a wrapper of kf plants, and find nothing in the same case without it.

usage: planted.py --kf BINARY
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import articles

LAWS = Path(__file__).resolve().parent / "laws.py"
COPIES = {"--output-dir": "dir"}

# By law: the case, and what the wrapper does; "$@" are the words of kf, and the directory is the place of the case.
PLANTED = {
    "secrecy": [
        ({"--user": "name", "--alternative": "url", "answer": "status:404"},
         'kf "$@"; status=$?; for word; do [[ $word == http*/alt.png ]] && curl -s -u ann:secret-user "$word" >/dev/null; done'),
        ({"--user": "name"}, 'kf "$@"; status=$?; echo "$*" >>c/v1/notes'),
        ({"--remote": "s3"}, 'kf "$@"; status=$?; curl -s "$AWS_ENDPOINT_URL/team/$AWS_SECRET_ACCESS_KEY" >/dev/null'),
        ({"--header": "key"}, 'kf "$@"; status=$?; echo "kf: sent $*" >&2')],
    "truth": [
        (COPIES, 'kf "$@"; status=$?; [[ -e out/a0.png ]] && echo >>out/a0.png'),
        ({**COPIES, "--process": "flip"}, '[[ $1 == prefetch ]] && set -- "${@/flip:h/flip:v}"; kf "$@"; status=$?'),
        ({"--lock": "new"}, 'kf "$@"; status=$?; sed -i "s/sha256-../sha256-AA/" im.lock'),
        ({"--lock": "older", "--frozen": "on"}, 'kf "${@/--frozen/--update-lock}"; status=$?'),
        ({}, 'kf "$@"; status=$?; [[ -d certificates ]] && touch elsewhere'),
        ({"then": "merge"}, 'if [[ $2 == merge ]]; then status=0; else kf "$@"; status=$?; fi'),
        ({"state": "older-version"}, 'rm -f c/v1/index.sqlite*; kf "$@"; status=$?; [[ $1 == cache ]] || rm -f c/v1/objects/*/*')],
    "foretelling": [
        ({}, 'kf "$@" | sed s/\\"request\\"/\\"disk\\"/; status=${PIPESTATUS[0]}'),
        ({}, 'if [[ $* == *--dry-run* ]]; then kf "${@/--dry-run/-q}" >/dev/null; fi; kf "$@"; status=$?'),
        ({"command": "fetch", "state": "fresh"}, 'if [[ $1 == fetch ]]; then set -- "$@" --force-refresh; fi; kf "$@"; status=$?')],
    "rest": [
        ({}, 'if [[ $1 == prefetch && $* != *--dry-run* ]]; then set -- "$@" --force-refresh; fi; kf "$@"; status=$?'),
        (COPIES, 'kf "$@"; status=$?; [[ -e out/a0.png ]] && cp out/a0.png new && mv new out/a0.png'),
        ({"--remote": "own", "then": "push"}, 'kf "$@"; status=$?; if [[ $2 == push ]]; then for word; do '
            '[[ $word == http*/team ]] && curl -s -T mark.png "$word/kf1/cas/00/$$" >/dev/null; done; fi'),
        ({"--process": "flip"}, 'if [[ $1 == prefetch ]]; then set -- "$@" --store original -P /tmp; fi; kf "$@"; status=$?')],
    "accounts": [
        ({}, 'kf "$@" | sed s/\\"fetched\\":1/\\"fetched\\":2/; status=${PIPESTATUS[0]}'),
        ({"answer": "status:404"}, 'kf "$@"; status=0'),
        ({"then": "merge"}, 'kf "$@" | sed s/\\"taken\\":1/\\"taken\\":3/; status=${PIPESTATUS[0]}'),
        ({"answer": "status:404"}, 'if [[ $* != *--dry-run* ]]; then kf "$@" >/dev/null; fi; kf "$@" --retry-failed; status=$?'),
        ({"--failures": "file", "answer": "status:404"}, 'kf "$@"; status=$?; [[ -e failed ]] && : >failed')],
    "bounds": [
        ({}, 'kf "$@"; status=$?; [[ -d c/v1/tmp ]] && touch c/v1/tmp/left'),
        ({}, 'kf "$@"; status=$?; [[ $1 == prefetch ]] && status=7'),
        ({}, 'kf "$@"; status=$?; rm -f c/v1/objects/*/*')],
}


START = """#!/bin/bash
kf() {{ {kf} "$@"; }}
[[ $1 == man || $1 == help ]] && exec {kf} "$@"
"""


def findings(kf, case):
    result = subprocess.run([LAWS, "--kf", kf, "--case", json.dumps(case)], capture_output=True, text=True)
    if result.stderr:
        sys.exit(result.stderr)
    return [line.removeprefix("laws: ") for line in result.stdout.splitlines() if line.startswith("laws: ")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--kf", required=True)
    kf = os.path.realpath(parser.parse_args().kf)
    faults = number = 0
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder) / "kf"
        for law, cases in PLANTED.items():
            for case, does in cases:
                number += 1
                wrapper.write_text(START.format(kf=kf) + does + "\nexit $status\n")
                wrapper.chmod(0o755)
                clean, found = findings(kf, case), findings(wrapper, case)
                if clean or not any(line.startswith(law + ": ") for line in found):
                    faults += 1
                    print(f"planted: {law} does not find {does!r} in {case}: {found}; without it: {clean}")
    articles.exceptions = lambda law: [(1, "Pinning", "A pin is not so important.")]
    if articles.ARTICLES.is_dir() and not list(articles.unfounded(PLANTED)):
        faults += 1
        print("planted: a sentence that no article has is taken")
    print(f"planted: {number} faults, {faults} not found")
    sys.exit(1 if faults else 0)


main()
