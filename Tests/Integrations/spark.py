#!/usr/bin/python3
"""Tries kf_partition.py under Spark, Dask and Ray from PyPI, and measures it under Spark beside plain kf.

usage: spark.py --kf BINARY [--runs 5] [--images 40000] [WORK]...     all unless some are named:
       tests (of the module, with pandas), spark, dask, ray, bench

Spark runs as local-cluster[2,1,1024]: two workers of one core each. A killed kf and a killed executor must both be made
good by Spark's retries, and only what was in flight may be fetched twice. The packages are kept in .build/spark.
"""

import argparse
import contextlib
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("Sources/Integrations", "Tests/Benchmarks", "Tests/Integrations")]
MODULE = ROOT / "Sources/Integrations/kf_partition.py"
KEPT = ROOT / ".build/spark"
PACKAGES = ("pyspark", "pandas<3", "pyarrow", "dask[dataframe]", "distributed", "ray[data]")
SCHEMA = "url string, "
COUNT, JOBS = 600, 4
LIMIT = 120  # seconds of any wait


def install():
    """Goes on in a virtual environment with the engines, which is made unless it is there."""
    python = KEPT / "venv/bin/python"
    if not (KEPT / "installed").exists():
        print("spark: installing " + ", ".join(PACKAGES) + " from PyPI into .build/spark", flush=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", KEPT / "venv"], check=True, timeout=300)
        subprocess.run([KEPT / "venv/bin/pip", "install", "-q", *PACKAGES], check=True, timeout=1800)
        (KEPT / "installed").touch()
    if Path(sys.prefix) != KEPT / "venv":
        os.execv(python, [str(python), *sys.argv])


def processes(*marks):
    """The numbers of the processes whose command line and environment have all the marks."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                text = (folder / "cmdline").read_bytes() + b"\0" + (folder / "environ").read_bytes()
                if all(os.fsencode(mark) in text for mark in marks):
                    found.append(int(folder.name))
    return found


def session(folder):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["KF_TEST_FOLDER"] = str(folder)  # marks all processes of this session
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.executor.memory": "1g",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("kf")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sparkContext.addPyFile(str(MODULE))
    return spark


def state_of(kf, cache, urls):
    """The URLs that are in a cache."""
    listed = subprocess.run(
        [kf, "prefetch", "-", "--dry-run", "--cache-dir", cache], input="\n".join(urls), capture_output=True, text=True
    ).stdout
    return {line.split("\t", 1)[1] for line in listed.splitlines() if line.startswith("hit\t")}


def try_engine(name, kf, folder, work, victims):
    """Runs a work of an engine, kills a worker in its midst, and checks what was fetched twice."""
    from origin import Origin

    cache = folder / f"cache-{name}"
    with Origin(delay=0.01) as origin:
        urls = [f"{origin.address}/{place}.jpg" for place in range(COUNT)]
        urls[7] = f"{origin.address}/none.jpg"
        options = ["--cache-dir", str(cache), "--jobs", str(JOBS), "--user-agent", f"test-{name}"]
        outcome = []
        thread = threading.Thread(target=lambda: outcome.append(work(urls, options)), daemon=True)
        thread.start()
        origin.wait_for_requests(COUNT // 3, LIMIT)
        (victim, *_) = victims(f"test-{name}")
        os.kill(victim, signal.SIGKILL)
        stored = state_of(kf, cache, urls)
        thread.join(LIMIT)
        if not outcome:
            sys.exit(f"spark: {name}: the work did not end, or failed")
        rows = outcome[0]
        assert sorted(url for url, _ in rows) == sorted(urls), f"{name}: {len(rows)} rows for {len(urls)}"
        failed = [url for url, status in rows if status == "failed"]
        assert failed == [urls[7]], failed
        twice = {origin.address + path for path in origin.twice()}
        assert not twice & stored, f"{name}: fetched twice though stored: {twice & stored}"
        assert len(twice) <= 8 * JOBS, f"{name}: {len(twice)} were fetched twice"
        print(
            f"spark: {name}: {COUNT} images, {len(stored)} stored at the kill, {origin.counts.total()} requests, "
            f"{len(twice)} of them repeated",
            flush=True,
        )


def try_spark(kf, folder, spark):
    from kf_partition import map_frames, result_schema

    def work(urls, options):
        frame = spark.createDataFrame([(url,) for url in urls], "url string").repartition(6)
        made = frame.mapInPandas(partial(map_frames, options=options, window=16, kf=kf), SCHEMA + result_schema())
        return [(row.url, row.status) for row in made.collect()]

    try_engine("a killed kf", kf, folder, work, lambda mark: processes(mark, "prefetch"))

    def executors(_):
        return processes("CoarseGrainedExecutorBackend", f"KF_TEST_FOLDER={folder}", "java")

    try_engine("a killed executor", kf, folder, work, executors)


def try_dask(kf, folder):
    import dask
    import pandas
    from dask import dataframe
    from distributed import Client, LocalCluster
    from kf_partition import map_frame

    dask.config.set({"temporary-directory": str(folder / "dask"), "dataframe.convert-string": False})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.upload_file(str(MODULE))

        def work(urls, options):
            frame = dataframe.from_pandas(pandas.DataFrame({"url": urls}), npartitions=6)
            meta = map_frame(frame.head(0))
            images = frame.map_partitions(map_frame, options, window=16, kf=kf, meta=meta)
            made = client.compute(images, retries=3).result(LIMIT)
            return list(zip(made["url"], made["status"]))

        try_engine("Dask, a killed kf", kf, folder, work, lambda mark: processes(mark, "prefetch"))

        def workers(mark):
            number = processes(mark, "prefetch")[0]
            return [int(Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])]

        try_engine("Dask, a killed worker", kf, folder, work, workers)


def try_ray(kf, folder):
    import logging

    import ray
    from kf_partition import map_frame

    ray.init(
        num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False, _temp_dir=f"{folder}/ray",
        runtime_env={"env_vars": {"PYTHONPATH": str(MODULE.parent)}}, object_store_memory=100 << 20,
    )  # fmt: skip
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.retried_map_errors, context.max_map_retries = True, 3
    try:

        def work(urls, options):
            made = ray.data.from_items([{"url": url} for url in urls], override_num_blocks=6).map_batches(
                map_frame, batch_format="pandas", batch_size=None, fn_args=[options], fn_kwargs={"window": 16, "kf": kf}
            )
            return [(row["url"], row["status"]) for row in made.take_all()]

        try_engine("Ray, a killed kf", kf, folder, work, lambda mark: processes(mark, "prefetch"))
    finally:
        ray.shutdown()


def jpeg(kf, folder):
    """A JPEG of about 12 kB."""
    path = folder / "picture.jpg"
    source = ROOT / "Fixtures/jpeg/landscape-444.jpg"
    command = [kf, "fetch", "-q", source, "-p", "resize:300x", "--quality", "75", "-o", path, "--cache-dir", folder / "c"]
    subprocess.run(command, check=True)
    return path.read_bytes()


def used(folder):
    """The processor seconds of the executors, their Python and their kf, also of children that have ended."""
    total = 0
    for number in processes(f"KF_TEST_FOLDER={folder}"):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{number}/cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command or b"pyspark" in command and b"daemon" in command:
                fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
                total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def bench(kf, folder, spark, images, runs):
    """Images a second a core: two executors of one core, beside two plain kf, each with its half of the list.

    Spark's start, and that of its workers, is in the two rounds that do not count. What counts is the whole action, with
    the rows' way to Python and back.
    """
    from harness.server import Server
    from kf_partition import map_frames, result_schema

    picture = jpeg(kf, folder)
    (folder / "www").mkdir()
    for place in range(images):
        comment = b"\xff\xfe\x00\x0a%08d" % place  # so that no two images are the same
        (folder / "www" / f"{place}.jpg").write_bytes(picture[:2] + comment + picture[2:])
    with Server(folder / "www", folder / "nginx", "access_log off;") as address:
        urls = [f"{address}/{place}.jpg\n" for place in range(images)]
        (folder / "list").write_text("".join(urls))
        (folder / "parts").mkdir()
        for part in range(2):
            (folder / f"parts/{part}.txt").write_text("".join(urls[part::2]))

        def plain(cache):
            command = [kf, "prefetch", folder / "list", "--cache-dir", cache, "--shard"]
            started = resource.getrusage(resource.RUSAGE_CHILDREN)
            workers = [subprocess.Popen([*command, f"{part}/2"], stderr=subprocess.DEVNULL) for part in range(2)]
            assert [worker.wait() for worker in workers] == [0, 0]
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            return ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime

        def under_spark(cache):
            frame = spark.read.text(str(folder / "parts"), wholetext=False).withColumnRenamed("value", "url")
            run = partial(map_frames, options=["--cache-dir", str(cache)], kf=kf)
            made = frame.mapInPandas(run, SCHEMA + result_schema())
            started = used(folder)
            made.write.format("noop").mode("overwrite").save()
            return used(folder) - started

        spark.conf.set("spark.sql.files.openCostInBytes", str(64 << 20))
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(64 << 20))
        # A job of minutes runs compiled code. The rows alone go to Python and back until it does here.
        for _ in range(10):
            made = spark.read.text(str(folder / "parts")).withColumnRenamed("value", "url")
            made.mapInPandas(lambda frames: frames, "url string").write.format("noop").mode("overwrite").save()
        figures = {"plain kf": [], "Spark": []}
        for turn in range(runs + 2):
            for name, work in (("plain kf", plain), ("Spark", under_spark)):
                cache = folder / "cache-bench"
                start = time.monotonic()
                processor = work(cache)
                wall = time.monotonic() - start
                count = sum(1 for _ in (cache / "v1/objects").glob("*/*"))
                assert count == images, f"{name}: {count} of {images}"
                shutil.rmtree(cache)
                if turn > 1:
                    figures[name].append((wall, processor))
                    print(f"spark: bench: {name}: {wall:.2f} s, {processor:.2f} s of processor", flush=True)
    print(f"{images} images of {len(picture)} bytes, medians of {runs}")
    print(f"{'':10}{'s':>8}{'images/s/core':>15}{'processor s':>13}{'images/s of processor':>23}")
    for name, turns in figures.items():
        wall, processor = (statistics.median(column) for column in zip(*turns))
        print(f"{name:10}{wall:8.2f}{images / wall / 2:15.0f}{processor:13.2f}{images / processor:23.0f}")
    ratios = [[plain / spark for plain, spark in zip(*turn)] for turn in zip(*figures.values())]
    wall, processor = (statistics.median(column) for column in zip(*ratios))
    print(f"Spark beside plain kf, medians of the turns: {wall:.2f} by time, {processor:.2f} by processor time")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("works", nargs="*", metavar="WORK")
    parser.add_argument("--kf", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--images", type=int, default=40000)
    options = parser.parse_args()
    install()
    works = options.works or ["tests", "spark", "dask", "ray", "bench"]
    memory = Path("/dev/shm")
    with contextlib.ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="kf-spark-", dir=memory if memory.is_dir() else None)
        folder = Path(stack.enter_context(scratch))
        if "tests" in works:
            tests = [sys.executable, ROOT / "Tests/Integrations/test_kf_partition.py"]
            subprocess.run(tests, env={**os.environ, "KF_BINARY": options.kf}, check=True)
        if {"spark", "bench"} & set(works):
            spark = session(folder)
            stack.callback(spark.stop)
            if "spark" in works:
                try_spark(options.kf, folder, spark)
            if "bench" in works:
                bench(options.kf, folder, spark, options.images, options.runs)
        if "dask" in works:
            try_dask(options.kf, folder)
        if "ray" in works:
            try_ray(options.kf, folder)


if __name__ == "__main__":
    main()
