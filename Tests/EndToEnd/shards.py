#!/usr/bin/env python3
"""Reads the shards of a directory as WebDataset does, and prints them as JSON.

usage: shards.py DIR

Prints {shard: {"samples": [{"key", FIELD: digest of the image or the parsed .json}], "rows": [...]}}. Ends with 1 when an
archive is not whole, has members that readers would take for another sample's, or has headers that depend on the run.
With the package webdataset at hand, its own reader must find the same samples.
"""
import hashlib, json, os, re, sys, tarfile


def value(field, data):
    return json.loads(data) if field.endswith("json") else hashlib.sha256(data).hexdigest()


def samples(path):
    """Groups the members that follow each other, as webdataset.tariterators.group_by_keys does."""
    found, keys = [], set()
    with tarfile.open(path, "r:") as archive:
        for member in archive:
            assert member.isreg() and member.mode == 0o644 and member.mtime == 0, member.get_info()
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", ""), member.get_info()
            key, field = re.fullmatch(r"([^./]+)\.([^/]+)", member.name).groups()
            if not found or found[-1]["key"] != key:
                assert key not in keys, f"{path}: the members of {key} are apart"
                keys.add(key)
                found.append({"key": key})
            assert field not in found[-1], f"{path}: {member.name} twice"
            data = archive.extractfile(member).read()
            assert len(data) == member.size, f"{path}: {member.name} is cut off"
            found[-1][field] = value(field, data)
    with open(path, "rb") as file:
        file.seek(-1024, os.SEEK_END)
        assert file.tell() % 512 == 0 and not any(file.read()), f"{path}: no end of the archive"
    return found


def check_reader(path, expected):
    try:
        import webdataset
    except ImportError:
        return
    found = [
        {"key": sample["__key__"], **{f: value(f, d) for f, d in sample.items() if not f.startswith("__")}}
        for sample in webdataset.WebDataset(path, shardshuffle=False, empty_check=False)
    ]
    assert found == expected, f"{path}: webdataset reads other samples"


shards = {}
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    if name.startswith(".") or not name.endswith(".tar"):
        continue
    found = samples(path)
    check_reader(path, found)
    with open(path.removesuffix(".tar") + ".jsonl", encoding="utf-8") as rows:
        text = rows.read()
    assert text.endswith("\n"), f"{path}: a row is cut off"
    shards[name.removesuffix(".tar")] = {"samples": found, "rows": [json.loads(row) for row in text.splitlines()]}
print(json.dumps(shards))
