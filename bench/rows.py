# SPDX-License-Identifier: MIT
"""The rows: what is measured, against whom, and how far below them we mean to be.

A row NAME has our program ours/NAME.c and a program for each peer in peers/. All figures are better when
smaller; a ratio is ours / theirs. To add a row or a peer, add it here and write its program: README.md.
"""
from dataclasses import dataclass, field

from host import command_version, kernel_version, libc_version, package_version


@dataclass(frozen=True)
class Peer:
    name: str
    source: str = ""  # in peers/; its suffix says how it is built. Empty: constants, or ours otherwise
    version: object = lambda: ""  # called for the version to print
    packages: tuple = ()  # Debian packages it needs, the compiler's included
    link: tuple = ()  # C and C++: linker flags. Rust: crates, as lines of [dependencies]
    goals: dict = field(default_factory=dict)  # metric: greatest ratio that meets the goal, or {workers: that}
    constants: dict = field(default_factory=dict)  # metric: (value, unit), instead of a program
    ours: dict = field(default_factory=dict)  # our own program with this environment, instead of another's
    bare: bool = False  # our own program with a library that has no sites of traces; compared by quickest runs
    serial: bool = False  # the same work by one thread, in plain C: the speed-up is shown
    workers: tuple = ()  # those of the row's that it is measured beside, if not all: it may have no use for more
    note: str = ""  # what a reader of the figures must know
    beside: tuple = ()  # C programs of this folder that are built beside it, for it to start


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    metrics: tuple  # names of the figures compared, as the programs print them; others are shown only
    peers: tuple
    rounds: int = 11
    workers: tuple = (1,)  # numbers of workers to measure with, each on its own; 0: the program's own default
    memory_gib: int = 0  # skip the row where less than this is free
    env: dict = field(default_factory=dict)  # of all its programs
    turns: bool = False  # its programs run at the same time, and take turns by themselves (load.h)
    remark: str = ""  # what was found out by other means, for docs/BENCHMARKS.md


GO = {"version": command_version("go", "version"), "packages": ("golang-go",)}
RUBY = {"version": command_version("ruby", "--version"), "packages": ("ruby",)}
BOOST_FIBER = {
    "version": package_version("libboost-fiber-dev", "Boost"),
    "packages": ("g++", "libboost-fiber-dev", "libboost-context-dev"),
    "link": ("-lboost_fiber", "-lboost_context", "-lpthread"),
}


def tokio(*features):
    wanted = ", ".join(f'"{name}"' for name in features)
    return {
        "version": package_version("librust-tokio-dev", "tokio"),
        "packages": ("cargo", "rustc", "librust-tokio-dev"),
        "link": (f'tokio = {{ version = "1", default-features = false, features = [{wanted}] }}',),
    }


def bare(*metrics):
    """Ourselves without the sites of traces, which are always compiled in: what they cost where they are off. That is
    less than what a busy machine adds, so the quickest quarters of the runs are compared."""
    return Peer("bare", version=lambda: "ccrt", bare=True, goals=dict.fromkeys(metrics, 1.02),
                note="a library without the sites of traces; both by their quickest quarter")


SWITCH = Row(
    "switch",
    "raw context switch, to a fiber and back",
    metrics=("switch",),
    peers=(
        Peer("minimal", "switch_minimal.c", command_version("gcc", "--version"), ("gcc",), goals={"switch": 1.3},
             note="the limit: six registers, pushed and popped"),
        Peer("fcontext", "switch_fcontext.cpp", package_version("libboost-context-dev", "Boost"),
             ("g++", "libboost-context-dev"), ("-lboost_context",), goals={"switch": 0.5}),
        Peer("ucontext", "switch_ucontext.c", libc_version, ("gcc",), note="swapcontext()"),
    ),
    rounds=21,
)

YIELD = Row(
    "yield",
    "2 fibers that yield to each other, 1,000,000 times each",
    metrics=("yield", "total"),
    peers=(
        Peer("st", "yield_st.c", package_version("libst-dev", "State Threads"), ("gcc", "libst-dev"), ("-lst",),
             goals={"yield": 0.5}, note="by conditions, its quickest way"),
        Peer("boost", "yield_boost.cpp", **BOOST_FIBER, goals={"yield": 0.15}),
        Peer("go", "yield_go.go", **GO, note="GOMAXPROCS=1"),
        Peer("ruby", "yield_ruby.rb", **RUBY, note="Fiber.yield"),
        Peer("tokio", "yield_tokio.rs", **tokio("rt"), note="current-thread runtime; its tasks have no stacks"),
        Peer("cixl", constants={"total": (3169, "ms")}, note="published, not measured"),
    ),
)

MANY = Row(
    "many",
    "1,000,000 fibers that all exist at once: time to create one, and its memory",
    metrics=("create", "memory"),
    peers=(
        Peer("page", "many_page.c", kernel_version, ("gcc",), goals={"create": 2.2},
             note="the limit: touching a fresh page for each"),
        Peer("goal", constants={"memory": (4900, "bytes")}, goals={"memory": 1.0},
             note="a fixed figure, not measured: resident and page tables"),
        Peer("go", "many_go.go", **GO, note="GOMAXPROCS=1; stacks that move and grow from 2 KiB"),
        Peer("boost", "many_boost.cpp", **BOOST_FIBER, note="its default stacks, without guards"),
        Peer("pthread", "many_pthread.c", libc_version, ("gcc",), ("-lpthread",),
             note="10,000 of them; stacks in the kernel not counted"),
    ),
    rounds=5,
    memory_gib=7,
)

TOKIO_MT = tokio("rt-multi-thread", "sync", "time")

YIELD_MN = Row(
    "yield_mn",
    "100 tasks that yield, 10,000 times each",
    metrics=("yield_mn",),
    peers=(
        Peer("go", "yield_mn_go.go", **GO, goals={"yield_mn": 0.35}, note="runtime.Gosched"),
        Peer("tokio", "yield_mn_tokio.rs", **TOKIO_MT, note="multi-threaded runtime, yield_now"),
        bare("yield_mn"),
    ),
    workers=(1, 2),
)

SPAWN_BATCH = Row(
    "spawn_batch",
    "one task spawns 100,000 that do nothing, and waits for all",
    metrics=("spawn_batch",),
    peers=(
        Peer("go", "spawn_batch_go.go", **GO, goals={"spawn_batch": {2: 0.4}}, note="sync.WaitGroup"),
        Peer("tokio", "spawn_batch_tokio.rs", **TOKIO_MT, goals={"spawn_batch": {2: 0.25}}, note="awaits the handles"),
        bare("spawn_batch"),
    ),
    workers=(1, 2),
)

SPAWN_JOIN = Row(
    "spawn_join",
    "one task spawns one and joins it, again and again",
    metrics=("spawn_join",),
    peers=(
        Peer("tokio", "spawn_join_tokio.rs", **TOKIO_MT, goals={"spawn_join": {2: 0.5}}, note="awaits the handle"),
        Peer("go", "spawn_join_go.go", **GO, note="by a channel, its quickest way"),
        bare("spawn_join"),
    ),
    workers=(1, 2),
)

NURSERY = Row(
    "nursery",
    "a nursery opened, 1,000 tasks spawned into it and joined",
    metrics=("nursery",),
    peers=(
        Peer("go", "nursery_go.go", **GO, note="sync.WaitGroup, and the first error"),
        Peer("tokio", "nursery_tokio.rs", **TOKIO_MT, note="JoinSet"),
        bare("nursery"),
    ),
    workers=(1, 2),
)

SLEEP_1M = Row(
    "sleep_1m",
    "1,000,000 tasks that each sleep for 1 to 1,000 ms, until all have ended",
    metrics=("wall", "cpu"),
    peers=(
        Peer("go", "sleep_1m_go.go", **GO, goals={"wall": 0.9, "cpu": 0.9}, note="time.Sleep"),
        Peer("tokio", "sleep_1m_tokio.rs", **TOKIO_MT, note="its tasks have no stacks"),
        bare("wall", "cpu"),
    ),
    rounds=5,
    workers=(2,),
    memory_gib=7,
)

FUTURES_1M = Row(
    "futures_1m",
    "1,000,000 futures at once, polled 4 times each; and as many that sleep for 1 to 1,000 ms, until all are over",
    metrics=("poll", "memory", "sleeping", "sleeping_cpu"),
    peers=(
        Peer("tokio", "futures_1m_tokio.rs", **TOKIO_MT, goals={"poll": 0.4, "sleeping": 0.8},
             note="its tasks, allocated by itself"),
        Peer("goal", constants={"memory": (192, "bytes")}, goals={"memory": 1.0},
             note="a fixed figure, not measured: beside the user's own state"),
    ),
    rounds=5,
    workers=(1, 2),
    memory_gib=2,
    remark="There is no serial twin: what a poll and a wake cost is all there is to it, and plain calls do neither.",
)

PARKED_1M = Row(
    "parked_1m",
    "1,000,000 tasks that are all parked at once: time to create one, and its memory",
    metrics=("create", "memory"),
    peers=(
        Peer("go", "parked_1m_go.go", **GO, goals={"create": 1.2}, note="on a channel; stacks that move and grow"),
        Peer("goal", constants={"memory": (4900, "bytes")}, goals={"memory": 1.0},
             note="a fixed figure, not measured: resident and page tables"),
        Peer("tokio", "parked_1m_tokio.rs", **TOKIO_MT, note="on a Notify; its tasks have no stacks"),
        bare("create"),
    ),
    rounds=5,
    workers=(2,),
    memory_gib=7,
)

STARTUP = Row(
    "startup",
    "a runtime created, one task run and joined, the runtime ended; once a process",
    metrics=("startup",),
    peers=(
        Peer("tbb", "startup_tbb.cpp", package_version("libtbb-dev", "oneTBB"), ("g++", "libtbb-dev"), ("-ltbb",),
             goals={"startup": 0.6}, note="the caller is one of its threads"),
        Peer("goal", constants={"startup": (1, "ms")}, goals={"startup": 1.0}, note="a fixed figure, not measured"),
        bare("startup"),
    ),
    rounds=21,
    workers=(0,),
)

WAKE_LATENCY = Row(
    "wake_latency",
    "a thread unparks a task of an idle runtime: until the task runs",
    metrics=("p50", "p99"),
    peers=(
        Peer("futex", "wake_latency_futex.c", kernel_version, ("gcc",), ("-lpthread",), goals={"p50": 1.2},
             note="the limit: one thread wakes another by a bare futex"),
        bare("p50"),
    ),
    workers=(2,),
)

PLACEMENT = Row(
    "placement",
    "spawned tasks go to the spawner's worker, against all workers in turn",
    metrics=("pairs", "fan", "tree"),
    peers=(
        Peer("in turn", version=lambda: "ccrt", ours={"BENCH_SPAWN": "roundrobin"}, note="CC_SPAWN_ROUNDROBIN"),
        bare("pairs", "fan", "tree"),
    ),
    workers=(2,),
)

PIPELINE = Row(
    "pipeline",
    "blocks through a stage that computes, with room for one a worker in the channels, against two; a block",
    metrics=("block",),
    peers=(
        Peer("roomy", version=lambda: "ccrt", ours={"BENCH_ROOM": "2"}, goals={"block": 1.03},
             note="room for two blocks a worker"),
    ),
    workers=(2,),
)

NOISY_NEIGHBOR = Row(
    "noisy_neighbor",
    "8 tasks that compute for a second, and one that beats every 5 ms: from beat to beat",
    metrics=("every", "longest"),
    peers=(Peer("go", "noisy_neighbor_go.go", **GO, goals={"every": 1.0}, note="preempts by signals"),),
    rounds=5,
    workers=(2,),
)

SYSCALL_KIDNAP = Row(
    "syscall_kidnap",
    "100 tasks that sleep in the kernel, and one that beats every 5 ms: from beat to beat",
    metrics=("every", "longest", "total"),
    peers=(Peer("go", "syscall_kidnap_go.go", **GO, goals={"every": 1.0}, note="knows its system calls"),),
    rounds=5,
    workers=(2,),
)

CPU_GROWTH = Row(
    "cpu_growth",
    "200 blocks of some 10 ms computing each, with workers added while they wait, against none added",
    metrics=("total",),
    peers=(
        Peer("fixed", version=lambda: "ccrt", ours={"BENCH_NO_MONITOR": "1"}, goals={"total": 1.02},
             note="without a monitor"),
    ),
    workers=(2,),
)

TRACE_COST = Row(
    "trace_cost",
    "a yield, a spawn in a batch, a spawn and join; each by the number of events that a trace has of it",
    metrics=("yield_event", "batch_event", "join_event"),
    peers=(
        Peer("traced", version=lambda: "ccrt", ours={"CC_TRACE": "/dev/null"},
             note="CC_TRACE; the difference to ours is what an event costs"),
    ),
    workers=(1, 2),
)

PINGPONG = Row(
    "pingpong",
    "two tasks that send a number to and fro by channels without capacity; a round trip",
    metrics=("pingpong",),
    peers=(
        Peer("go", "pingpong_go.go", **GO, goals={"pingpong": {1: 0.3, 2: 0.5}}, note="unbuffered channels"),
        Peer("tokio", "pingpong_tokio.rs", **TOKIO_MT, note="its channels have room for one at least"),
    ),
    workers=(1, 2),
)

CHANNELS = ("1x1_128", "1x1_1024", "4x4_128", "4x4_1024")

CHAN = Row(
    "chan",
    "1 or 4 senders and as many receivers at a channel with room for 128 or 1,024; a message",
    metrics=CHANNELS,
    peers=(
        Peer("go", "chan_go.go", **GO, goals=dict.fromkeys(CHANNELS, 0.6)),
        Peer("boost", "chan_boost.cpp", **BOOST_FIBER, goals=dict.fromkeys(CHANNELS, {1: 1.0}),
             note="buffered_channel; a thread a worker, and its fibers stay there"),
        Peer("tokio", "chan_tokio.rs", **TOKIO_MT, note="mpsc: one receiver only"),
    ),
    workers=(1, 2),
)

SELECT8_BLOCK = Row(
    "select8_block",
    "select over 8 channels without capacity that has to wait, and a reply to who sent",
    metrics=("select8_block",),
    peers=(Peer("go", "select8_block_go.go", **GO, goals={"select8_block": 0.35}),),
    workers=(1, 2),
)

SELECT8_READY = Row(
    "select8_ready",
    "a value sent to one of 8 channels, and select over all of them",
    metrics=("select8_ready",),
    peers=(Peer("go", "select8_ready_go.go", **GO),),
    workers=(1, 2),
)

SKYNET = Row(
    "skynet",
    "a tree of tasks with 1,000,000 leaves, 10 children each, and sums by channels",
    metrics=("skynet",),
    peers=(
        Peer("go", "skynet_go.go", **GO, goals={"skynet": 0.4}),
        Peer("tokio", "skynet_tokio.rs", **TOKIO_MT, goals={"skynet": 0.5}, note="mpsc"),
    ),
    rounds=5,
    workers=(1, 2),
)

CANCEL_STORM = Row(
    "cancel_storm",
    "100,000 tasks that wait to receive, cancelled by their nursery and joined; each",
    metrics=("cancel_storm",),
    peers=(
        Peer("spawning", version=lambda: "ccrt", ours={"BENCH_PHASE": "spawn"}, goals={"cancel_storm": 1.0},
             note="the same tasks spawned, until all wait"),
        Peer("go", "cancel_storm_go.go", **GO, note="select with the Done() of a context"),
    ),
    workers=(1, 2),
)

PTHREAD = {"version": libc_version, "packages": ("gcc",), "link": ("-lpthread",)}

MUTEX = Row(
    "mutex",
    "a mutex that nobody else wants, locked and unlocked",
    metrics=("mutex",),
    peers=(
        Peer("pthread", "mutex_pthread.c", **PTHREAD, goals={"mutex": 1.0}),
        Peer("go", "mutex_go.go", **GO, note="sync.Mutex"),
    ),
)

MUTEX_CONTENDED = Row(
    "mutex_contended",
    "8 tasks that all want one mutex, for a moment each, 100,000 times",
    metrics=("mutex_contended",),
    peers=(
        Peer("go", "mutex_contended_go.go", **GO, goals={"mutex_contended": 1.0}, note="sync.Mutex"),
        Peer("pthread", "mutex_contended_pthread.c", **PTHREAD, note="8 threads"),
    ),
    workers=(1, 2),
)

HERD = Row(
    "herd",
    "1,000 tasks wait for one condition: one is woken, or all, until they have the mutex again",
    metrics=("one", "one_p99", "all"),
    peers=(
        Peer("go", "herd_go.go", **GO, goals={"one_p99": 1.0, "all": 1.0}, note="sync.Cond"),
        Peer("pthread", "herd_pthread.c", **PTHREAD, note="1,000 threads"),
    ),
    workers=(1, 2),
)



def gzip_metrics(*kinds):
    return tuple(f"{kind}_{size}" for size in (50, 200) for kind in kinds)


def gzip_goals(**goals):
    return {name: goal for kind, goal in goals.items() for name in gzip_metrics(kind)}


PIGZ = {"version": package_version("pigz", "pigz"), "packages": ("pigz",)}
GZIP = {"version": package_version("gzip", "gzip"), "packages": ("gzip",)}
LIBDEFLATE = {"version": package_version("libdeflate-tools", "libdeflate"), "packages": ("libdeflate-tools",)}
IGZIP = {"version": package_version("isal", "ISA-L"), "packages": ("isal",)}

GZIP_COMPRESS = Row(
    "gzip_compress",
    "a file of 50 or 200 MB compressed at level 6, by zlib, or by the fastest engine there is (fast)",
    metrics=gzip_metrics("wall", "cpu", "memory", "size", "fast", "fast_size"),
    peers=(
        Peer("pigz", ours={"BENCH_GZIP": "pigz"}, **PIGZ,
             goals=gzip_goals(wall=0.98, memory=1.5, size=1.005, fast=0.333, fast_size=1.15)),
        Peer("pthread", ours={"BENCH_GZIP": "pthread"}, version=libc_version, goals=gzip_goals(wall=1.01),
             note="the same pipeline by plain threads"),
        Peer("-p 2", ours={"BENCH_GZIP_WORKERS": "2"}, version=lambda: "ccgz", goals=gzip_goals(wall={8: 1.02}),
             workers=(8,), note="ccgz with 2 workers"),
        Peer("gzip", ours={"BENCH_GZIP": "gzip"}, **GZIP, workers=(2,), note="one thread"),
        Peer("libdeflate", ours={"BENCH_GZIP": "libdeflate"}, **LIBDEFLATE, workers=(2,),
             note="one thread, all in memory"),
        Peer("igzip", ours={"BENCH_GZIP": "igzip"}, **IGZIP, workers=(2,), note="one thread, -3: its greatest level"),
    ),
    rounds=5,
    workers=(2, 8),
    remark="At level 6 ours and its twin by threads search a little less than zlib does there (docs/decisions/0020), "
           "pigz as zlib does: so the ratio to pigz is not of fibers alone. With zlib's own numbers, the same day, 5 "
           "rounds: 0.995 and 0.966 of pigz with 2 workers (50 and 200 MB), 1.0 and 0.994 with 8.",
)

GZIP_DECOMPRESS = Row(
    "gzip_decompress",
    "a file of 50 or 200 MB that pigz made decompressed by zlib, or the fastest engine (fast); or ccgz made it (index)",
    metrics=gzip_metrics("wall", "cpu", "memory", "fast", "index"),
    peers=(
        Peer("pigz", ours={"BENCH_GZIP": "pigz"}, **PIGZ,
             goals=gzip_goals(wall=0.885, memory=1.5, fast=0.5, index=0.357)),
        Peer("pigz -p1", ours={"BENCH_GZIP": "pigz-p1"}, **PIGZ, goals=gzip_goals(wall=1.0, fast=0.5, index=0.357)),
        Peer("pthread", ours={"BENCH_GZIP": "pthread"}, version=libc_version, goals=gzip_goals(wall=1.01),
             note="the same pipeline by plain threads"),
        Peer("-p 2", ours={"BENCH_GZIP_WORKERS": "2"}, version=lambda: "ccgz", goals=gzip_goals(wall={8: 1.02}),
             workers=(8,), note="ccgz with 2 workers"),
        Peer("gzip", ours={"BENCH_GZIP": "gzip"}, **GZIP, workers=(2,)),
        Peer("libdeflate", ours={"BENCH_GZIP": "libdeflate"}, **LIBDEFLATE, workers=(2,), note="all in memory"),
        Peer("igzip", ours={"BENCH_GZIP": "igzip"}, **IGZIP, workers=(2,)),
    ),
    rounds=5,
    workers=(2, 8),
)

RAYON = {
    "version": package_version("librust-rayon-dev", "rayon"),
    "packages": ("cargo", "rustc", "librust-rayon-dev"),
    "link": ('rayon = "1"',),
}
TBB = {
    "version": package_version("libtbb-dev", "oneTBB"),
    "packages": ("g++", "libtbb-dev"),
    "link": ("-ltbb",),
}


def serial(source, goals=None):
    """The same work in plain C by one thread."""
    return Peer("serial", source, command_version("gcc", "--version"), ("gcc",), goals=goals or {}, serial=True,
                note="plain C, one thread")


FIB = Row(
    "fib",
    "fork and join for each call of fib(35) but the leaves, no cutoff",
    metrics=("fib",),
    peers=(
        serial("fib_serial.c"),
        Peer("alone", version=lambda: "ccrt", ours={"BENCH_WORKERS": "1"}, goals={"fib": {2: 0.54}}, workers=(2,),
             note="1 worker: a speed-up of 1.85 by the second"),
        Peer("rayon", "fib_rayon.rs", **RAYON, goals={"fib": 0.5}, note="rayon::join; what is joined cannot block"),
        Peer("tbb", "fib_tbb.cpp", **TBB, note="task_group"),
    ),
    workers=(1, 2),
    remark="Lace, whose tasks cannot block, is not in Debian. Its version 1.4.2, built by hand with the same compiler "
           "(gcc 12.2, -O3; ours -O2) and run in turn with ours, the quickest of five fib(35) a run: ours takes 1.37 "
           "times as long a fork with 1 worker, 1.29 times with 2 (3.68 against 2.68 ns, 1.81 against 1.40; medians "
           "of 9).",
)

FIB_JOBS = Row(
    "fib_jobs",
    "two jobs and a counter for each call of fib(22) but the leaves",
    metrics=("fib_jobs",),
    peers=(
        serial("fib_jobs_serial.c"),
        Peer("goal", constants={"fib_jobs": (285.0, "ns")}, goals={"fib_jobs": 1.0}, note="3.5 million a second"),
    ),
    workers=(1, 2),
)

SPAWN_1M_EMPTY = Row(
    "spawn_1m_empty",
    "one task forks a million functions that do nothing, and joins them",
    metrics=("spawn_1m_empty",),
    peers=(
        serial("spawn_1m_empty_serial.c"),
        Peer("rayon", "spawn_1m_empty_rayon.rs", **RAYON, goals={"spawn_1m_empty": 0.5}, note="scope and spawn"),
    ),
    workers=(1, 2),
)

GOMP = {"version": command_version("gcc", "--version"), "packages": ("gcc",), "link": ("-fopenmp",)}


QUICKSORT = Row(
    "quicksort",
    "10,000,000 numbers sorted by quicksort, in parallel down to parts of 1,000",
    metrics=("quicksort",),
    peers=(
        serial("quicksort_serial.c", {"quicksort": {2: 1 / 1.8}}),
        Peer("tbb", "quicksort_tbb.cpp", **TBB, goals={"quicksort": {2: 1.05}}, note="parallel_invoke"),
        Peer("gomp", "quicksort_gomp.c", **GOMP, note="tasks"),
        Peer("rayon", "quicksort_rayon.rs", **RAYON, note="join; slices, with bounds checked"),
    ),
    rounds=15,
    workers=(1, 2),
)

AXPY = Row(
    "axpy",
    "y = a x + y for vectors of 10,000,000 doubles",
    metrics=("axpy",),
    peers=(
        serial("axpy_serial.c"),
        Peer("tbb", "axpy_tbb.cpp", **TBB, goals={"axpy": {2: 1.05}}, note="parallel_for"),
        Peer("gomp", "axpy_gomp.c", **GOMP, note="split evenly"),
        Peer("rayon", "axpy_rayon.rs", **RAYON, note="parallel iterators"),
    ),
    rounds=15,
    workers=(1, 2),
)

REDUCE = Row(
    "reduce",
    "the sum of 10,000,000 doubles",
    metrics=("reduce",),
    peers=(
        serial("reduce_serial.c"),
        Peer("tbb", "reduce_tbb.cpp", **TBB, goals={"reduce": {2: 1.05}},
             note="parallel_reduce; the order is not determined, as it is with ours"),
        Peer("gomp", "reduce_gomp.c", **GOMP, note="split evenly"),
        Peer("rayon", "reduce_rayon.rs", **RAYON, note="the order is not determined"),
    ),
    rounds=15,
    workers=(1, 2),
)

CG = Row(
    "cg",
    "conjugate gradients for the Poisson equation on a grid of 316 by 316; a step, of 100",
    metrics=("cg",),
    peers=(
        serial("cg_serial.c"),
        Peer("tbb", "cg_tbb.cpp", **TBB, goals={"cg": {2: 1.05}}, note="parallel_for, parallel_reduce"),
        Peer("gomp", "cg_gomp.c", **GOMP, note="split evenly"),
        Peer("rayon", "cg_rayon.rs", **RAYON, note="parallel iterators over rows"),
        Peer("goal", constants={"cg": (1.5, "ms")}, goals={"cg": 1.0}, note="a fixed figure, not measured"),
    ),
    rounds=15,
    workers=(1, 2),
)

UTS = Row(
    "uts",
    "an unbalanced tree of 2,768,986 nodes counted, without a cutoff; a node",
    metrics=("uts",),
    peers=(
        serial("uts_serial.c"),
        Peer("tbb", "uts_tbb.cpp", **TBB, note="parallel_reduce over the children of each node"),
        Peer("gomp", "uts_gomp.c", **GOMP, note="tasks"),
        Peer("rayon", "uts_rayon.rs", **RAYON, note="a parallel iterator over the children of each node"),
        Peer("go", "uts_go.go", **GO, note="goroutines that tell their parents by a channel"),
    ),
    rounds=5,
    workers=(1, 2),
)

JOB_DAG = Row(
    "job_dag",
    "10,000 jobs that each wait for two others and compute for some 0.6 us; a job",
    metrics=("job_dag", "waiting"),
    peers=(
        serial("job_dag_serial.c"),
        Peer("tbb", "job_dag_tbb.cpp", **TBB, note="a flow graph that was made before"),
        Peer("gomp", "job_dag_gomp.c", **GOMP, note="tasks that say on what they depend"),
        Peer("rayon", "job_dag_rayon.rs", **RAYON, note="scope and spawn, as ours"),
        Peer("go", "job_dag_go.go", **GO, note="goroutines, as ours"),
    ),
    rounds=11,
    workers=(1, 2),
)

LIBUV = {"version": package_version("libuv1-dev", "libuv"), "packages": ("gcc", "libuv1-dev"),
         "link": ("-luv", "-lpthread")}
STATE_THREADS = {"version": package_version("libst-dev", "State Threads"), "packages": ("gcc", "libst-dev"),
                 "link": ("-lst", "-lpthread")}
TOKIO_NET = tokio("rt-multi-thread", "net", "io-util", "time")
LOAD = ("load.c",)


def echo(connections, epoll, libuv, many):
    """Goals: against the limit and libuv with one worker, against those with several by `many`."""
    name = f"echo_{connections}"
    return Row(
        name,
        f"{connections} connection{'' if connections == 1 else 's'}, a message of 64 bytes under way on each",
        metrics=(name, "p50", "p99", "p999", "cpu"),
        peers=(
            Peer("epoll", "echo_epoll.c", kernel_version, ("gcc",), ("-lpthread",), goals=epoll,
                 note="the limit: a bare loop on one thread"),
            Peer("libuv", "echo_uv.c", **LIBUV, goals=libuv, note="one thread"),
            Peer("st", "echo_st.c", **STATE_THREADS, note="one thread"),
            Peer("tokio", "echo_tokio.rs", **TOKIO_NET, goals={name: {2: 1.0}} if many else {}, beside=LOAD),
            Peer("go", "echo_go.go", **GO, goals={name: {2: 0.8}, "p99": {2: 0.5}} if many else {}, beside=LOAD),
        ),
        workers=(1, 2),
        rounds=15 if many else 11,
        env={"BENCH_CONNECTIONS": str(connections)},
        turns=many,
    )


ECHO_1 = echo(1, {"echo_1": {1: 0.5}, "cpu": {1: 1.5}}, {}, many=False)
ECHO_64 = echo(64, {"echo_64": {1: 1.03}}, {"echo_64": {1: 1.0}}, many=True)
ECHO_1000 = echo(1000, {"echo_1000": {1: 1.03}}, {"echo_1000": {1: 1.0}}, many=True)

IDLE_CONNS = Row(
    "idle_conns",
    "memory of 10,000 connections that rest, each with a buffer of 4 KiB of its own",
    metrics=("memory",),
    peers=(
        Peer("goal", constants={"memory": (9200, "bytes")}, goals={"memory": 1.0}),
        Peer("epoll", "echo_epoll.c", kernel_version, ("gcc",), ("-lpthread",),
             note="the limit: a bare loop on one thread, and the buffers"),
        Peer("libuv", "echo_uv.c", **LIBUV, note="one thread; its handles, and the buffers"),
        Peer("go", "echo_go.go", **GO, beside=LOAD),
        Peer("tokio", "echo_tokio.rs", **TOKIO_NET, beside=LOAD, note="its tasks have no stacks"),
    ),
    workers=(2,),
    rounds=3,
    env={"BENCH_CONNECTIONS": "10000", "BENCH_IDLE": "1"},
    remark="State Threads, as Debian builds it, lets a process have no more than 1,024 descriptors.",
)

FILES = Row(
    "files",
    "1,000 files of 64 KiB opened, read and closed by 64 tasks",
    metrics=("files", "files_cold"),
    peers=(
        Peer("pthread", "files_pthread.c", **PTHREAD, goals={"files": 1.0}, note="2 threads"),
        Peer("go", "files_go.go", **GO),
        Peer("tokio", "files_tokio.rs", **tokio("rt-multi-thread", "fs", "io-util"), note="tokio::fs, by threads"),
        Peer("pool", version=lambda: "ccrt", ours={"CC_IO": "pool"}, note="without io_uring"),
    ),
    workers=(2,),
)

ROWS = (SWITCH, YIELD, MANY, YIELD_MN, SPAWN_BATCH, SPAWN_JOIN, NURSERY, SLEEP_1M, FUTURES_1M, PARKED_1M, STARTUP,
        WAKE_LATENCY, PLACEMENT, PIPELINE, NOISY_NEIGHBOR, SYSCALL_KIDNAP, CPU_GROWTH, TRACE_COST, PINGPONG, CHAN,
        SELECT8_BLOCK, SELECT8_READY, SKYNET, CANCEL_STORM, MUTEX, MUTEX_CONTENDED, HERD, FIB, FIB_JOBS,
        SPAWN_1M_EMPTY, QUICKSORT, AXPY, REDUCE, CG, UTS, JOB_DAG, GZIP_COMPRESS, GZIP_DECOMPRESS, ECHO_1, ECHO_64,
        ECHO_1000, IDLE_CONNS, FILES)
