# SPDX-License-Identifier: MIT
"""What the benchmarks say: the table, results.jsonl, and which rows and peers were left out."""
import functools
import json
import os
import sys

import host
import plot
from build import BENCH, ROOT
from plot import number

OUT = BENCH / "out"


@functools.cache
def commit():
    """The commit that was measured; + if the sources differ from it."""
    name = host.output_of("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    changed = name and host.output_of("git", "-C", str(ROOT), "status", "--porcelain", "--", "src", "include")
    return name + ("+" if changed else "")


def progress(text):
    """One line that the next replaces, for people who watch."""
    if sys.stdout.isatty():
        print(f"\r{text:70}" if text else f"\r{'':70}\r", end="", flush=True)


def skipped(row, peer, reason):
    progress("")
    print(f"{row.name}: {peer}: skipped: {reason}", flush=True)


def table(row, results, rounds, workers):
    """The comparison of one row."""
    line = "{:16} {:>12} {:>9} {:>13} {:>7}  {:8} {}"
    print(f"\n{row.title}; {counted(workers)}, medians of {rounds}")
    print(line.format("row", "ours", "peer", "theirs", "ratio", "goal", "").rstrip())
    for r in results:
        goal = "" if r["goal"] is None else f"<= {r['goal']:g}"
        verdict = {None: "", True: "met", False: "MISSED"}[r["met"]]
        verdict = " ".join(part for part in (verdict, speedup(row, r)) if part)
        print(line.format(r["row"], f"{number(r['ours'])} {r['unit']}", r["peer"],
                          f"{number(r['theirs'])} {r['unit']}", f"{r['ratio']:.3g}", goal, verdict).rstrip())
    if results:
        print(f"  {spread(row, results)}")


def spread(row, results):
    """How far apart our own runs are, each a process of its own: the slowest by the quickest."""
    of = {r["row"]: r["spread"] for r in results if "spread" in r}
    said = ", ".join(f"{name.removeprefix(row.name + '.')} {value:.2f}" for name, value in of.items())
    return f"slowest / quickest of our runs: {said}" if said else ""


def speedup(row, result):
    """Against the same work by one thread: how many times as fast."""
    serial = any(peer.serial for peer in row.peers if peer.name == result["peer"])
    return f"speed-up {1 / result['ratio']:.2f}" if serial else ""


def counted(workers):
    return f"{workers} worker{'s' * (workers > 1)}" if workers > 0 else "default workers"


def programs(row, figures_of):
    """Who was measured: versions, notes, and the figures that are not compared."""
    print(f"  {'ours':9}{', '.join([f'ccrt {commit()}'.strip(), *uncompared(row, figures_of['ours'])])}")
    for peer in row.peers:
        if peer.name in figures_of:
            parts = [peer.version(), peer.note, *uncompared(row, figures_of[peer.name])]
            print(f"  {peer.name:9}{', '.join(part for part in parts if part)}")
    sys.stdout.flush()


def uncompared(row, figures):
    return [f"{name} {number(figure[0])} {figure[1]}" for name, figure in figures.items() if name not in row.metrics]


def write(results):
    """results.jsonl and the plot, each whole or not at all."""
    if not results:
        print("\nnothing was measured, nothing is written")
        return
    OUT.mkdir(exist_ok=True)
    replace(OUT / "results.jsonl", "".join(json.dumps(r) + "\n" for r in results))
    replace(OUT / "results.svg", plot.svg(results))
    print(f"\nwritten: {(OUT / 'results.jsonl').relative_to(ROOT)}, {(OUT / 'results.svg').relative_to(ROOT)}")


def replace(path, text):
    """Write beside it, then rename."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
