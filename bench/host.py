# SPDX-License-Identifier: MIT
"""This machine: its packages, the versions of things, its free memory, and running programs on it."""
import functools
import os
import platform
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time


class Skip(Exception):
    """Something cannot be measured here; the message says why."""


# Debian packages that only bring a command: whoever has it otherwise does not need the package.
COMMANDS = {"gcc": "gcc", "g++": "g++", "golang-go": "go", "ruby": "ruby", "rustc": "rustc", "cargo": "cargo"}


def output_of(*command):
    """What a command prints, or "" where it cannot be run or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# ---- packages ----

def installed(package):
    if package in COMMANDS and shutil.which(COMMANDS[package]):
        return True
    if not shutil.which("dpkg-query"):
        return True  # not Debian: what is missing shows when it is built
    return "install ok installed" in output_of("dpkg-query", "-W", "-f=${Status}", package)


@functools.cache
def apt_get():
    """How to install packages here, or None. Fetches the package lists, once."""
    if not shutil.which("apt-get"):
        return None
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if root and subprocess.run([*root, "true"], capture_output=True).returncode != 0:
        return None
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    subprocess.run([*apt, "update", "-qq"], capture_output=True)
    return apt


def require(packages, may_install):
    """Have these packages, or raise Skip naming those that are missing."""
    missing = [package for package in packages if not installed(package)]
    if missing and may_install and apt_get():
        print(f"installing {' '.join(missing)}", flush=True)
        subprocess.run([*apt_get(), "install", "-y", "-qq", "--no-install-recommends", *missing], capture_output=True)
        missing = [package for package in packages if not installed(package)]
    if missing:
        raise Skip(f"needs package {' '.join(missing)}")


# ---- versions: functions that make the function a row calls ----

def package_version(package, title):
    return lambda: f"{title} {output_of('dpkg-query', '-W', '-f=${Version}', package) or '(version unknown)'}"


def command_version(*command):
    """The first thing like a version in what the command prints."""
    def version():
        found = re.search(r"\d+\.\d[\w.]*", output_of(*command))
        return f"{command[0]} {found.group() if found else '(version unknown)'}"
    return version


def libc_version():
    return " ".join(platform.libc_ver())


def kernel_version():
    return f"{platform.system()} {platform.release()}"


# ---- running ----

def free_gib():
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        kib = re.search(r"MemAvailable:\s+(\d+)", meminfo.read())
    return int(kib.group(1)) / 2**20 if kib else 0


def stand_alone():
    """In the child: a scheduling group of its own, before other load of the machine where we may."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as autogroup:
            autogroup.write("-15")
    except OSError:
        pass


def start(command, env):
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=os.environ | env, preexec_fn=stand_alone)
    except OSError as error:
        raise Skip(f"run failed: {error}") from None


def stop(child):
    """Leave nothing of it running."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def failure(child, err):
    ended = f"exit status {child.returncode}" if child.returncode > 0 else signal.Signals(-child.returncode).name
    return f"run failed: {': '.join([ended, *err.strip().splitlines()[-1:]])}"


def run(command, env, timeout_s=600):
    """Run a benchmark program; returns what it prints."""
    child = start(command, env)
    try:
        out, err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise Skip(f"did not end within {timeout_s} s") from None
    finally:  # also when interrupted
        stop(child)
    if child.returncode != 0:
        raise Skip(failure(child, err))
    return out


class Turns:
    """Programs that run at the same time, and take turns by themselves (load.h): each waits for a byte from its own
    pipe, and writes it to the next one's."""

    def __init__(self, names):
        self.folder = tempfile.TemporaryDirectory()
        self.paths = {name: os.path.join(self.folder.name, f"turn{i}") for i, name in enumerate(names)}
        for path in self.paths.values():
            os.mkfifo(path)
        following = [*names[1:], names[0]]
        self.env = {name: {"BENCH_TURN_IN": self.paths[name], "BENCH_TURN_OUT": self.paths[after]}
                    for name, after in zip(names, following)}
        self.pipes = [os.open(path, os.O_RDWR) for path in self.paths.values()]  # open for as long as any may write

    def begin(self):
        os.write(self.pipes[0], b"\0")

    def close(self):
        for pipe in self.pipes:
            os.close(pipe)
        self.folder.cleanup()


class OneFailed(Skip):
    """One of several programs that take turns; the others waited for it in vain."""

    def __init__(self, name, why):
        super().__init__(why)
        self.name = name


def await_ends(children, timeout_s):
    """Wait until all have ended, or raise OneFailed."""
    end = time.monotonic() + timeout_s
    waiting = select.poll()
    names = {os.pidfd_open(child.pid): name for name, child in children.items()}
    left = set(names)
    try:
        for fd in names:
            waiting.register(fd, select.POLLIN)
        while left:
            ended = [fd for fd, _ in waiting.poll(max(0, end - time.monotonic()) * 1000)]
            if not ended:
                raise OneFailed(names[min(left)], f"did not end within {timeout_s} s")
            for fd in ended:
                waiting.unregister(fd)
                left.discard(fd)
                child = children[names[fd]]
                if child.wait() != 0:
                    raise OneFailed(names[fd], failure(child, child.stderr.read()))
    finally:
        for fd in names:
            os.close(fd)


def run_in_turns(commands, env, timeout_s=120):
    """Run {name: command} at the same time, as Turns; returns {name: what it prints}, or raises OneFailed."""
    turns, children = Turns(list(commands)), {}
    try:
        for name, command in commands.items():
            try:
                children[name] = start(command, env | turns.env[name])
            except Skip as skip:
                raise OneFailed(name, str(skip)) from None
        turns.begin()
        await_ends(children, timeout_s)
        return {name: child.stdout.read() for name, child in children.items()}
    finally:  # also when interrupted
        for child in children.values():
            stop(child)
            child.stdout.close()
            child.stderr.close()
        turns.close()
