# SPDX-License-Identifier: MIT
"""Fibers in gdb, of a live process and of a core file; docs/DEBUGGING.md shows them in use.

    info fibers             all tasks: number, name, what each does, what it waits for, where it was spawned
    fiber N                 look at task N (a number, or a name in quotes): bt, up, info locals and so on are about it
    fiber N COMMAND         the same for one command: fiber 7 bt
    fiber 0                 back to the thread

gdb loads this by itself for an installed libccrt.so; else: source .../ccrt-gdb.py. It needs the library's debug
information, not its source.

A task that waits has its registers on its own stack. They are shown to gdb as the caller of the frame that the thread
is in, by an unwinder: nothing is written to the process, so it works on a core file as well. Frame 0 stays the
thread's; the task's begin at 1.
"""
import struct

import gdb
import gdb.unwinder

IDLE, ACTIVE, PARKED, DONE = range(4)
STATE, THREAD = 7, 1 << 4
EPOCH_SHIFT = 6  # of the outcome word
FLAG = 1  # in waits_for: no node, the address of a flag

# The registers that are needed: pc, sp, fp; which words of the saved frame are pc and fp, and how long that is.
SAVED = {
    "i386:x86-64": ("rip", "rsp", "rbp", 1, 0, 16 + 128),
    "aarch64": ("pc", "sp", "x29", 1, 0, 16),
    "riscv:rv64": ("pc", "sp", "fp", 0, 1, 16),
}


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def words(address, count):
    return struct.unpack(f"<{count}Q", read(address, 8 * count))


def text(pointer):
    """A C string, or ""; memory may be anything."""
    try:
        return pointer.string(errors="replace")[:80] if int(pointer) else ""
    except gdb.error:
        return ""


def offset(kind, name):
    return next(f.bitpos // 8 for f in kind.fields() if f.name == name)


class Task:
    """One record, as it is now."""

    def __init__(self, record):
        self.record = record
        control = int(record["control"])
        self.state = control & STATE
        self.thread = control & THREAD != 0
        self.serial = int(record["serial"])
        site = record["site"]
        self.site = f"{text(site['file'])}:{int(site['line'])}" if int(site) else ""
        self.name = text(record["name"]) if int(record["has_name"]) else text(site["what"]) if int(site) else ""

    def worker(self):
        """The worker that runs it, or None."""
        runtime = self.record["runtime"]
        if self.state != ACTIVE or not int(runtime):
            return None
        for i in range(int(runtime["worker_count"])):
            if int(runtime["workers"][i]["current"]) == int(self.record.address):
                return runtime["workers"][i]
        return None

    def doing(self):
        if self.state == PARKED:
            return "waits"
        worker = self.worker()
        return "ready" if worker is None else f"runs on worker {int(worker['id']) + 1}"

    def waits_for(self):
        fiber = self.record["fiber"]
        if self.state != PARKED or not int(fiber):
            return ""
        at = int(fiber["waits_for"])
        if at & FLAG:
            return f"park_if on {at & ~FLAG:#x}"
        if at == 0:
            return ""
        node = gdb.Value(at).cast(gdb.lookup_type("struct cc__wait").pointer())
        epoch = int(self.record["outcome"]) >> EPOCH_SHIFT
        if int(node["task"]) != int(self.record.address) or int(node["epoch"]) != epoch:
            return ""
        reason, what = text(node["reason"]), int(node["object"])
        if reason == "join":
            return f"join of task {Task(node['object'].cast(self.record.address.type).dereference()).label()}"
        return f"{reason} on {what:#x}" if what else reason

    def label(self):
        return f'{self.serial} "{self.name}"' if self.name else str(self.serial)


def records():
    """All records in use. Slabs are read whole, and a record is only looked at if its control word says it lives."""
    symbols = gdb.lookup_static_symbols("records")
    pools = [s for s in symbols if s.symtab.filename.endswith("task/pool.c")]
    if not pools:
        raise gdb.GdbError("no debug information of libccrt, or no ccrt in this program")
    kind = gdb.lookup_type("struct cc__task")
    control = offset(kind, "control")
    slab = pools[0].value()["slabs"]
    while int(slab):
        first = int(slab["record"].address)
        memory = read(first, int(slab["cut"]) * kind.sizeof)
        for at in range(0, len(memory), kind.sizeof):
            word = struct.unpack_from("<Q", memory, at + control)[0]
            if word & STATE in (ACTIVE, PARKED) and not word & THREAD:
                yield gdb.Value(first + at).cast(kind.pointer()).dereference()
        slab = slab["next"]


def find(wanted):
    tasks = (Task(r) for r in records())
    found = [t for t in tasks if (t.name == wanted[1:-1] if wanted.startswith('"') else str(t.serial) == wanted)]
    if not found:
        raise gdb.GdbError(f"no task {wanted}; info fibers lists them")
    if len(found) > 1:
        print(f"{len(found)} tasks are called {wanted}; this is the first")
    return found[0]


class Unwinder(gdb.unwinder.Unwinder):
    """While a task is looked at: what called the selected thread's innermost frame is where the task waits."""

    def __init__(self):
        super().__init__("ccrt-fiber")
        self.task = None  # (pc, sp, fp), and the thread that stands in for it

    def __call__(self, frame):
        if self.task is None or frame.level() != 0 or gdb.selected_thread().ptid != self.task[1]:
            return None
        names, values = saved_names(), self.task[0]
        # Its place among the frames: right below the task's, or gdb would take those for a corrupt stack.
        at = gdb.Value(values[1] - 16).cast(frame.read_register(names[1]).type)
        info = frame.create_unwind_info(FrameId(at, frame.read_register(names[0])))
        for name, value in zip(names, values):
            info.add_saved_register(name, gdb.Value(value).cast(frame.read_register(name).type))
        return info

    def look_at(self, registers):
        self.task = None if registers is None else (registers, gdb.selected_thread().ptid)
        gdb.invalidate_cached_frames()


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


def saved_names():
    name = gdb.selected_inferior().architecture().name()
    if name not in SAVED:
        raise gdb.GdbError(f"fibers on {name} are not known here")
    return SAVED[name][:3]


def registers_of(task):
    """Where a task that does not run goes on: pc, sp, fp."""
    names = saved_names()
    _, _, _, pc, fp, size = SAVED[gdb.selected_inferior().architecture().name()]
    fiber = task.record["fiber"]
    if not int(fiber):
        raise gdb.GdbError(f"task {task.label()} has not begun: it has no stack yet")
    sp = int(fiber["ctx"]["sp"])
    saved = words(sp, len(names) - 1)
    return saved[pc], sp + size, saved[fp]


UNWINDER = Unwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def back_to_thread(_=None):
    if UNWINDER.task is not None:
        UNWINDER.look_at(None)


gdb.events.cont.connect(back_to_thread)


def select(task):
    """Have gdb look at a task: its saved place, or the thread that runs it."""
    worker = task.worker()
    if worker is None:
        UNWINDER.look_at(registers_of(task))
        gdb.newest_frame().older().select()
        return
    thread = gdb.selected_inferior().thread_from_handle(worker["thread"]["handle"])
    if thread is None:
        raise gdb.GdbError(f"task {task.label()} runs on a thread that gdb does not know")
    thread.switch()
    gdb.newest_frame().select()


def show(command):
    """Run it; of a backtrace leave off the thread's own frame, which the task's only seem to be called from."""
    shown = gdb.execute(command, to_string=True)
    if UNWINDER.task is not None and shown.startswith("#0 "):
        shown = shown[shown.find("\n#1 ") + 1 :]
    print(shown, end="")


class InfoFibers(gdb.Command):
    """All tasks of the program: number, name, what each does, what it waits for, where it was spawned."""

    def __init__(self):
        super().__init__("info fibers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        tasks = sorted((Task(r) for r in records()), key=lambda t: t.serial)
        for t in tasks:
            what, site = t.waits_for(), t.site
            line = f"{t.label()}: {t.doing()}"
            line += f" ({what})" if what else ""
            print(line + (f", spawned at {site}" if site else ""))
        print(f"{len(tasks)} tasks")


class Fiber(gdb.Command):
    """fiber N [COMMAND]: look at task N, a number or a name in quotes, or run one command on it. fiber 0: back."""

    def __init__(self):
        super().__init__("fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if argument.startswith('"'):
            name, _, command = argument[1:].partition('"')
            wanted = f'"{name}"'
        else:
            wanted, _, command = argument.partition(" ")
        if not wanted:
            raise gdb.GdbError("which one? info fibers lists them")
        back_to_thread()
        if wanted == "0":
            return
        thread = gdb.selected_thread()
        select(find(wanted))
        if not command.strip():
            gdb.execute("frame")
            return
        try:
            show(command.strip())
        finally:
            back_to_thread()
            thread.switch()


InfoFibers()
Fiber()
