#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goal: what CC_TRACE writes is valid, complete and makes sense, and what cannot be written is told in one line.
Method: program.c runs in several ways; of each trace every span, arrow and name is looked at. Then traces with one
mistake each are shown to the same checks, which must find it.

    check.py PROGRAM FOLDER     run the program, traces in FOLDER
"""
import copy
import json
import os
import re
import subprocess
import sys
from bisect import bisect_right
from pathlib import Path


class Wrong(Exception):
    """What is wrong with a trace."""


def need(condition, message):
    if not condition:
        raise Wrong(message)


# ---- what must hold of every trace ----

def tracks(events):
    """The spans of each thread, by time."""
    found = {}
    for event in events:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"]), []).append(event)
    for spans in found.values():
        spans.sort(key=lambda span: (span["ts"], span["dur"]))
    return found


def check_spans(events):
    for track, spans in tracks(events).items():
        end = 0
        for span in spans:
            need(span["ts"] >= end - 0.0005, f"spans of {track} overlap at {span['ts']}")
            need(span["dur"] >= 0 and span["name"], f"a span without length or name: {span}")
            end = span["ts"] + span["dur"]


def check_arrows(events):
    """Every arrow has one beginning and one end, in this order, each in a span."""
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    need(len(begins) + len(ends) == sum(event["ph"] in "sf" for event in events), "an arrow has two beginnings or ends")
    need(begins.keys() == ends.keys(), "an arrow has no end, or no beginning")
    at = tracks(events)
    starts = {track: [span["ts"] for span in spans] for track, spans in at.items()}
    for number, begin in begins.items():
        end = ends[number]
        need(begin["ts"] <= end["ts"], f"arrow {number} goes back in time")
        need(begin["name"] == end["name"], f"arrow {number} changes its name")
        for one in (begin, end):
            track = (one["pid"], one["tid"])
            after = bisect_right(starts.get(track, ()), one["ts"] + 0.0005)
            need(after > 0, f"arrow {number} comes before all spans")
            span = at[track][after - 1]
            need(one["ts"] <= span["ts"] + span["dur"] + 0.0005, f"arrow {number} touches no span at {one['ts']}")


def runs(events):
    """The spans of tasks: {(runtime, task): [span, ...]} by time."""
    found = {}
    for event in events:
        if event["ph"] == "X" and "task" in event["args"]:
            found.setdefault((event["pid"], event["args"]["task"]), []).append(event)
    for spans in found.values():
        spans.sort(key=lambda span: span["ts"])
    return found


def check_tasks(events):
    """Every task that ran was spawned before; nothing runs after its end, or in two places."""
    spawned = {(end["pid"], end["tid"], end["ts"]) for end in events if end["ph"] == "f" and end["name"] == "spawn"}
    for task, spans in runs(events).items():
        first = spans[0]
        need((first["pid"], first["tid"], first["ts"]) in spawned, f"task {task} ran and was not spawned")
        for before, after in zip(spans, spans[1:]):
            need(before["args"]["left"] != "end", f"task {task} ran after its end")
            need(before["ts"] + before["dur"] <= after["ts"] + 0.0005, f"task {task} runs in two places")


def check_names(events):
    """Every process and thread that has spans has a name."""
    named = {(event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    for pid, tid in tracks(events):
        need(("thread_name", pid, tid) in named, f"thread {tid} of {pid} has no name")
        need(("process_name", pid, 0) in named, f"process {pid} has no name")


CHECKS = (check_spans, check_arrows, check_tasks, check_names)


def check(trace):
    for one in CHECKS:
        one(trace["traceEvents"])


# ---- ways to run the program ----

def run(program, what, trace, code=0, **variables):
    """What it printed: (stdout, stderr)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CC_")}
    clean["TSAN_OPTIONS"] = "report_thread_leaks=0"  # a runtime that runs when the process exits has threads
    done = subprocess.run([program, what], env=clean | {"CC_TRACE": str(trace)} | variables, capture_output=True,
                          text=True, timeout=200, check=False)
    need(done.returncode == code, f"{what}: ended with {done.returncode}:\n{done.stderr}")
    return done.stdout, done.stderr


def load(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    check(trace)
    return trace


def left(trace):
    return {event["args"]["left"] for event in trace["traceEvents"] if "left" in event.get("args", {})}


def everything(program, folder):
    """Two runtimes, one after the other: all tasks of both are there, with all that they did."""
    out, err = run(program, "all", folder / "all.json")
    trace = load(folder / "all.json")
    events = trace["traceEvents"]
    need(err == "" and trace["otherData"] == {"events lost": 0}, f"something was lost: {err}")
    tasks = runs(events)
    for number, count in re.findall(r"runtime (\d+) tasks (\d+)", out):
        here = [task for task in tasks if task[0] == int(number) + 1]
        need(len(here) == int(count), f"runtime {number} has {len(here)} tasks in the trace, not {count}")
        need(all(tasks[task][-1]["args"]["left"] == "end" for task in here), "a task has no end")
    reasons = {"end", "yield", "join", "await", "nursery", "sleep", "park_if"}
    need(left(trace) == reasons, f"why they left: {left(trace)}")
    names = {event["name"] for event in events if event["ph"] == "X"}
    odd = 'a "name" with \\ and ? and ? and \u00e9, longer than any that anyone '
    need({"sleeper", "square", "plays", "catches", "pinned", odd, "timer"} <= names, f"names: {sorted(names)[-20:]}")
    places = {event["args"].get("spawned", "").rsplit("/")[-1].split(":")[0] for event in events if event["ph"] == "X"}
    need("program.c" in places, f"places: {places}")
    objects = [event for event in events if event.get("args", {}).get("left") == "park_if"]
    need(all(re.fullmatch("0x[0-9a-f]+", event["args"]["object"]) for event in objects), "a wait has no object")
    thrown = [event for event in events if event["ph"] == "s" and event["pid"] == 1 and event["name"] == "unpark"]
    need(thrown, "no thread's unpark")
    need(any(e["ph"] == "i" and e["name"] == "steal" and e["args"]["tasks"] >= 1 for e in events), "no steal")
    return trace


def unparks_lead_to_runs(program, folder):
    """Of the waits that ended, nearly all have an arrow: an unpark that comes before the park has been recorded may
    have none."""
    run(program, "killed", folder / "killed.json")
    events = load(folder / "killed.json")["traceEvents"]
    ends = {(end["pid"], end["tid"], end["ts"]) for end in events if end["ph"] == "f" and end["name"] == "unpark"}
    waits = hits = 0
    for spans in runs(events).values():
        for before, after in zip(spans, spans[1:]):
            if before["args"]["left"] != "yield":
                waits += 1
                hits += (after["pid"], after["tid"], after["ts"]) in ends
    need(waits > 100 and hits >= 0.9 * waits, f"{hits} of {waits} waits have an arrow")


def ends_by_exit(program, folder):
    """exit() while tasks run: they are cut off, and the trace is whole."""
    run(program, "exit", folder / "exit.json")
    trace = load(folder / "exit.json")
    need("the trace ends" in left(trace), "nothing ran when it ended")


def child_of_fork(program, folder):
    run(program, "fork", folder / "fork.json")
    need(len(runs(load(folder / "fork.json")["traceEvents"])) == 1, "not one task")


def workers_come_and_go(program, folder):
    _, err = run(program, "grow", folder / "grow.json", CC_DEBUG_SYSMON="1")
    for line in ("worker 0 is stuck", "worker 1 is started: workers sleep in the kernel; 2 run",
                 "worker 1 ends: it was idle for long; 1 run"):
        need(f"ccrt: monitor: {line}\n" in err, f"the log has no {line!r}: {err}")
    events = load(folder / "grow.json")["traceEvents"]
    told = [(event["name"], event["tid"], event["args"]) for event in events if event["ph"] == "i"]
    need(("worker started", 2, {"workers": 2, "why": "workers sleep in the kernel"}) in told, f"not started: {told}")
    need(("worker ended", 2, {"workers": 1, "why": "it was idle for long"}) in told, f"not ended: {told}")


def cannot_be_written(program, folder):
    """One line that says which file and why; the program runs all the same."""
    for path, why in ((folder / "no" / "such" / "folder", "No such file or directory"), (folder, "Is a directory"),
                      ("/dev/full", "No space left on device")):
        if Path(path) == Path("/dev/full") and not Path(path).exists():
            continue
        out, err = run(program, "all", path)
        expected = f'ccrt: CC_TRACE: cannot write "{path}": {why}; there will be no trace\n'
        need(err.lower() == expected.lower(), f"{path}: {err}")
        need("runtime 2" in out, f"{path}: the program did not run")


def fills_up(program, folder):
    """The file grows until there is no more room for it: a limit on its size stands in for a disk."""
    path = folder / "small.json"
    shell = f'ulimit -f 40; trap "" XFSZ; CC_TRACE="{path}" exec "{program}" all'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=200, check=False)
    expected = f'ccrt: CC_TRACE: cannot write "{path}": File too large; the trace is incomplete\n'
    need(done.returncode == 0 and done.stderr.lower() == expected.lower(), f"{done.returncode}: {done.stderr}")


def into_a_pipe(program, folder):
    """What cannot go back is written once, at the end."""
    read, write = os.pipe()
    with subprocess.Popen([program, "fork"], env=os.environ | {"CC_TRACE": f"/proc/self/fd/{write}"},
                          pass_fds=(write,), stdout=subprocess.DEVNULL) as child:
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as pipe:
            check(json.load(pipe))
    need(child.returncode == 0, "it failed")
    del folder


def too_many(program, folder):
    """What there is no room for is counted."""
    _, err = run(program, "lost", "/dev/null")
    lost = re.fullmatch(r"ccrt: CC_TRACE: (\d+) events lost: there is room for (\d+)\n", err)
    need(lost, f"not told: {err}")
    need(int(lost[1]) > 0 and int(lost[2]) > 2000000, f"not so many: {err}")
    del folder


# ---- the checks can fail ----

def first(trace, phase):
    return next(event for event in trace["traceEvents"] if event["ph"] == phase and event["pid"] == 3)


def break_span(trace):
    """One that another comes after: a thread may have run a single task."""
    spans = next(spans for spans in tracks(trace["traceEvents"]).values() if len(spans) > 1)
    spans[0]["dur"] += 1000000


def break_arrow(trace):
    trace["traceEvents"].remove(first(trace, "f"))


def break_time(trace):
    first(trace, "s")["ts"] += 10000000


def break_spawn(trace):
    gone = next(e["id"] for e in trace["traceEvents"] if e["ph"] == "s" and e["name"] == "spawn")
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("id") != gone]


def break_end(trace):
    next(e for e in trace["traceEvents"] if e.get("args", {}).get("left") == "yield")["args"]["left"] = "end"


def break_name(trace):
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event["name"] != "thread_name"]


def mistakes_are_found(trace):
    for mistake in (break_span, break_arrow, break_time, break_spawn, break_end, break_name):
        broken = copy.deepcopy(trace)
        mistake(broken)
        try:
            check(broken)
        except Wrong:
            continue
        raise Wrong(f"not found: {mistake.__name__}")


def main():
    program, folder = sys.argv[1], Path(sys.argv[2]) / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for way in (everything, unparks_lead_to_runs, ends_by_exit, child_of_fork, workers_come_and_go, cannot_be_written,
                fills_up, into_a_pipe, too_many):
        try:
            trace = way(program, folder)
            if trace is not None:
                mistakes_are_found(trace)
            print(f"ok      {way.__name__}")
        except (Wrong, OSError, ValueError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED  {way.__name__}: {str(error)[:2000]}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
