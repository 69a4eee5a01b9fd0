# SPDX-License-Identifier: MIT
"""docs/BENCHMARKS.md: what was measured last of every row, made by ./dev bench --docs [ROW...].

The figures are kept in docs/benchmarks.jsonl, one result a line, so that one row can be measured anew without the
others. What the page says of a row stands in rows.py.
"""
import datetime
import json
import os
import platform
import textwrap

import plot
import report
from build import ROOT
from plot import number
from rows import ROWS

DATA = ROOT / "docs/benchmarks.jsonl"
PLOT = ROOT / "docs/benchmarks.svg"
PAGE = ROOT / "docs/BENCHMARKS.md"

INTRODUCTION = """<!-- SPDX-License-Identifier: MIT -->
<!-- Made by ./dev bench --docs: changes go to bench/rows.py and bench/docs.py. -->
# Benchmarks

Every figure here is a median of programs that were run in turn, ours, then each peer's, round after round, on one
machine at one time: the ratios mean something, the figures by themselves little. All are better when smaller; a ratio
is ours / theirs; of the servers with many connections, the median of the rounds' ratios. The command of a row
reproduces it, as root or with what it needs installed: [bench/README.md](../bench/README.md) says how that is done and
how to read it. `goal` is the ratio we mean to stay below; **missed** ones are shown as such.

    ./dev bench --docs          measure all rows anew and make this page, in about an hour
    ./dev bench --docs ROW...   the same with some rows; the others stay as they are

![Ours against theirs](benchmarks.svg)
"""


def machine():
    """On what it was measured."""
    models = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
              if line.startswith("model name")]
    linux = ".".join(platform.release().split(".")[:2])
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} processors, Linux {linux}"


def kept():
    """What was measured before."""
    if not DATA.exists():
        return []
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def row_of(result):
    return result["row"].split(".")[0]


def merged(results, rounds):
    """The new results in place of the old ones of the same rows, in the order of the rows."""
    today = datetime.date.today().isoformat()
    anew = {row_of(r) for r in results}
    for r in results:
        r |= {"date": today, "machine": machine(), "rounds": rounds[row_of(r)]}
        del r["ours_runs"], r["theirs_runs"], r["met"]
    order = {row.name: place for place, row in enumerate(ROWS)}
    both = results + [r for r in kept() if row_of(r) not in anew and row_of(r) in order]
    return sorted(both, key=lambda r: order[row_of(r)])


def peer_text(row, result):
    """The peer with its version, and what one must know of it."""
    note = next((peer.note for peer in row.peers if peer.name == result["peer"]), "")
    said = ", ".join(part for part in (result["version"], note, report.speedup(row, result)) if part)
    return f"{result['peer']} ({said})" if said else result["peer"]


def goal_text(result):
    if result["goal"] is None:
        return ""
    verdict = "" if result["ratio"] <= result["goal"] else " **missed**"
    return f"<= {result['goal']:g}{verdict}"


def table(row, results):
    yield "| | workers | ours | peer | theirs | ratio | goal |"
    yield "|---|---|---|---|---|---|---|"
    for r in results:
        yield (f"| {r['row']} | {r['workers'] or 'default'} | {number(r['ours'])} {r['unit']} | {peer_text(row, r)} | "
               f"{number(r['theirs'])} {r['unit']} | {r['ratio']:.3g} | {goal_text(r)} |")


def section(row, results):
    yield f"## {row.name}"
    yield ""
    yield f"{row.title[0].upper()}{row.title[1:]}."
    yield ""
    yield f"    ./dev bench {row.name}"
    yield ""
    if not results:
        yield "Not measured yet."
        yield ""
        return
    yield from table(row, results)
    yield ""
    last = results[0]
    commit = f", ccrt {last['commit']}" if last["commit"] else ""
    yield f"Medians of {last['rounds']}, {last['date']}{commit}; {last['machine']}."
    for workers in dict.fromkeys(r["workers"] for r in results):
        said = report.spread(row, [r for r in results if r["workers"] == workers])
        if said:
            yield from textwrap.wrap(f"With {report.counted(workers)}, {said}.", 120)
    yield ""
    if row.remark:
        yield from textwrap.wrap(row.remark, 120)
        yield ""


def page(results):
    lines = [INTRODUCTION]
    for row in ROWS:
        lines += section(row, [r for r in results if row_of(r) == row.name])
    return "\n".join(lines).rstrip() + "\n"


def write(results, rounds):
    """The page, the plot and what they are made of, each whole or not at all."""
    everything = merged([dict(r) for r in results], rounds)
    report.replace(DATA, "".join(json.dumps(r) + "\n" for r in everything))
    report.replace(PLOT, plot.svg([r | {"met": None if r["goal"] is None else r["ratio"] <= r["goal"]}
                                   for r in everything]))
    report.replace(PAGE, page(everything))
    print(f"written: {PAGE.relative_to(ROOT)}, {PLOT.relative_to(ROOT)}, {DATA.relative_to(ROOT)}")
