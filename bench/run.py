# SPDX-License-Identifier: MIT
"""Benchmarks against the peers: ./dev bench [ROW...]. README.md says how to read and extend them."""
import argparse
import re
import signal
import sys
from statistics import mean, median

sys.dont_write_bytecode = True  # the source tree stays clean

import build
import docs
import host
import report
from build import BuildError
from host import Skip
from rows import ROWS


class OursFailed(Exception):
    """Our own program failed; the message says how."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description="Benchmarks of ccrt against its peers.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to measure (all of them if none is named)")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--rounds", type=int, metavar="N", help="times each program runs (a row has its own default)")
    parser.add_argument("--docs", action="store_true", help="write what is measured into docs/BENCHMARKS.md, too")
    parser.add_argument("--no-install", action="store_true", help="skip peers whose packages are missing")
    options = parser.parse_args(arguments)
    known = {row.name: row for row in ROWS}
    for name in options.rows:
        if name not in known:
            parser.error(f"no such row: {name} (there are: {', '.join(known)})")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    options.rows = [row for row in ROWS if row.name in options.rows or not options.rows]
    return options


def list_rows():
    for row in ROWS:
        print(f"{row.name:12} {row.title} (against {', '.join(peer.name for peer in row.peers)})")


# ---- building ----

def build_peers(row, may_install):
    """The commands of the peers that can be had here, by name; says which cannot."""
    commands = {}
    for peer in row.peers:
        if not (peer.ours or peer.bare or peer.source):
            continue
        try:
            host.require(peer.packages, may_install)
            commands[peer.name] = (build.build_peer(peer, may_install) if peer.source
                                   else build.our_command(row, peer.ours, peer.bare))
        except Skip as skip:
            report.skipped(row, peer.name, skip)
    return commands


def build_all(rows, may_install):
    """Everything is built before anything is measured."""
    print("building", flush=True)
    build.build_ours(rows)
    return {row.name: build_peers(row, may_install) for row in rows}


# ---- measuring ----

def worker_env(workers):
    """How each kind of program is told the number of workers; 0: not at all."""
    names = ("BENCH_WORKERS", "GOMAXPROCS", "TOKIO_WORKER_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS")
    return {name: str(workers) for name in names if workers > 0}


def figures(output):
    """The lines `name value unit` of a program's output: {name: (value, unit)}."""
    found = {}
    for line in output.splitlines():
        match = re.fullmatch(r"(\w+) ([\d.eE+-]+) ([\w/]+)", line)
        if not match or float(match[2]) <= 0:
            raise Skip(f"not `name value unit` with a value above 0: {line!r}")
        found[match[1]] = (float(match[2]), match[3])
    if not found:
        raise Skip("printed no figures")
    return found


def run_one_by_one(commands, env, doing):
    """One round: yields (program, its figures, or a Skip)."""
    for name, command in commands.items():
        doing(name)
        try:
            yield name, figures(host.run(command, env))
        except Skip as skip:
            yield name, skip


def run_in_turns(commands, env, doing):
    """The same of programs that run at the same time and take turns. One that fails has the others begin anew."""
    doing("in turns")
    try:
        printed = host.run_in_turns(commands, env)
    except host.OneFailed as failed:
        yield failed.name, failed
        rest = {name: command for name, command in commands.items() if name != failed.name}
        if rest:
            yield from run_in_turns(rest, env, doing)
        return
    for name, output in printed.items():
        try:
            yield name, figures(output)
        except Skip as skip:
            yield name, skip


def measure(row, commands, rounds, workers):
    """Run all programs, round after round: {program: [figures of a run]}. Each second round goes backwards, so that
    none comes after the same one each time: what that has written may still be on its way to the disk."""
    runs = {name: [] for name in commands}
    run_round = run_in_turns if row.turns else run_one_by_one
    for number in range(1, rounds + 1):
        these = {name: commands[name] for name in list(runs)[:: 1 if number % 2 else -1]}
        doing = lambda what, number=number: report.progress(f"{row.name}: round {number} of {rounds}, {what}")
        for name, got in run_round(these, row.env | worker_env(workers), doing):
            if not isinstance(got, Skip):
                runs[name].append(got)
            elif name == "ours":
                raise OursFailed(f"{row.name}: our program: {got}")
            else:
                report.skipped(row, name, got)
                del runs[name]
    report.progress("")
    return runs


def medians(runs):
    """{metric: (median, unit, [value of each run])}."""
    names = runs[0].keys()
    return {name: (median(run[name][0] for run in runs), runs[0][name][1], [run[name][0] for run in runs])
            for name in names}


def quickest(figure):
    """The mean of the quickest quarter of the runs instead of their median. Other load only ever adds: what is left is
    the program."""
    runs = sorted(figure[2])
    return (mean(runs[:max(1, len(runs) // 4)]), *figure[1:])


def compare(row, workers, ours, theirs_of):
    """One result for each metric that both we and the peer have."""
    for metric in row.metrics:
        for peer in row.peers:
            theirs = theirs_of.get(peer.name, {})
            if metric in theirs:
                figure = quickest if peer.bare else lambda median_of: median_of
                yield result(row, metric, peer, workers, figure(ours[metric]), figure(theirs[metric]))


def goal_of(peer, metric, workers):
    """The greatest ratio that meets the goal with so many workers, or None."""
    goal = peer.goals.get(metric)
    return goal.get(workers) if isinstance(goal, dict) else goal


def ratio_of(row, ours, theirs):
    """Of those that take turns a round is one measurement, so each has its ratio; else that of the medians."""
    return median(a / b for a, b in zip(ours[2], theirs[2])) if row.turns else ours[0] / theirs[0]


def result(row, metric, peer, workers, ours, theirs):
    if ours[1] != theirs[1]:
        raise OursFailed(f"{row.name}: {metric} is in {ours[1]} here and in {theirs[1]} at {peer.name}")
    ratio, goal = ratio_of(row, ours, theirs), goal_of(peer, metric, workers)
    return {
        "row": row.name if metric == row.name else f"{row.name}.{metric}", "peer": peer.name, "workers": workers,
        "ours": ours[0], "theirs": theirs[0], "unit": ours[1], "ratio": ratio,
        "goal": goal, "met": None if goal is None else ratio <= goal,
        "measured": not peer.constants, "version": peer.version(), "commit": report.commit(),
        "spread": max(ours[2]) / min(ours[2]), "ours_runs": ours[2], "theirs_runs": theirs[2],
    }


def run_row(row, peer_commands, rounds):
    """Measure and print one row; returns its results."""
    if host.free_gib() < row.memory_gib:
        print(f"{row.name}: skipped: needs {row.memory_gib} GiB of free memory, there are {host.free_gib():.1f}")
        return []
    results = []
    for workers in row.workers:
        beside = {peer.name for peer in row.peers if not peer.workers or workers in peer.workers}
        peers = {name: command for name, command in peer_commands.items() if name in beside}
        runs = measure(row, {"ours": build.our_command(row), **peers}, rounds, workers)
        of = {name: medians(of_program) for name, of_program in runs.items()}
        of |= {peer.name: {name: (*value, []) for name, value in peer.constants.items()}
               for peer in row.peers if peer.constants}
        for metric in row.metrics:
            if metric not in of["ours"]:
                raise OursFailed(f"{row.name}: our program prints no {metric}")
        compared = list(compare(row, workers, of["ours"], of))
        report.table(row, compared, rounds, workers)
        report.programs(row, of)
        results += compared
    return results


def run_rows(options):
    """Build, measure, print and write; returns the exit status."""
    commands = build_all(options.rows, not options.no_install)
    results, status = [], 0
    for row in options.rows:
        try:
            results += run_row(row, commands[row.name], options.rounds or row.rounds)
        except OursFailed as error:
            report.progress("")
            print(f"bench: {error}", file=sys.stderr)
            status = 1
    report.write(results)
    if options.docs and results:
        docs.write(results, {row.name: options.rounds or row.rounds for row in options.rows})
    return status


def main(arguments):
    options = parse(arguments)
    if options.list:
        list_rows()
        return 0
    if options.rounds is not None and options.rounds < 5:
        print("fewer than 5 rounds: the figures are rough")
    try:
        return run_rows(options)
    except KeyboardInterrupt:
        report.progress("")
        print("bench: interrupted; nothing was written, earlier results are as they were", file=sys.stderr)
        return 130
    except BuildError as error:
        print(f"{error}\nbench: our side does not build", file=sys.stderr)
        return 1


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)  # also where a shell started us with it ignored
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
