#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goal: ccgz is a gzip one can keep: every file that it makes is read by gzip, pigz and zlib, and the other way round;
its options, exit codes and refusals are those of gzip; and whatever interrupts it, no data is lost.
Method: the program is run as users do, in a folder of its own, on inputs from none to 200 MB (CC_TEST_LONG=1: 5 GB),
with every engine and option, and what it leaves behind is looked at: bytes, names, times, modes, messages, exit codes.
gzip and pigz are asked where they are installed. Signals, full disks and terminals are real ones.

    check.py CCGZ [CASE...]     run all cases, or those named
"""
import fcntl
import gzip
import os
import pty
import re
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import zlib
from pathlib import Path

CCGZ = None
LONG = os.environ.get("CC_TEST_LONG") == "1"
HERE = Path(__file__).resolve().parent
OTHERS = [name for name in ("gzip", "pigz") if shutil.which(name)]


class Wrong(Exception):
    """What is wrong."""


def need(condition, message):
    if not condition:
        raise Wrong(message)


def run(*words, stdin=b"", code=0, **more):
    """Run ccgz; (stdout, stderr). `code` is what it must end with."""
    done = subprocess.run([CCGZ, *words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    need(done.returncode == code, f"{' '.join(words)}: ended with {done.returncode}, not {code}: {done.stderr[:300]}")
    return done.stdout, done.stderr.decode()


def other(*words, stdin=b""):
    return subprocess.run(words, input=stdin, stdout=subprocess.PIPE, check=True).stdout


def engines():
    text, _ = run("--version")
    return re.findall(r" (\w+) \(", text.decode())


def noise(size, seed=1):
    """Bytes that do not compress, the same every time."""
    out, x = bytearray(), seed
    while len(out) < size:
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        out += (x >> 24).to_bytes(5, "little")
    return bytes(out[:size])


def text(size):
    words = [b"%d:%s" % (i * i % 9973, noise(3 + i % 5, i).hex().encode()) for i in range(997)]
    out = b" ".join(words[i * i * 31 % 997] for i in range(size // 8))
    return (out * 2)[:size]


INPUTS = {
    "empty": b"",
    "one": b"x",
    "text": text(2_500_000),
    "noise": noise(300_000),
    "zeros": bytes(3_000_000),
    "block": text(131072),
    "chunk": text(1048576),
    "more": text(1048577),
}


def write(name, content=b"some data\n"):
    Path(name).write_bytes(content)
    return name


def listing():
    return sorted(os.listdir("."))


# ---- round trips ----

def case_round_trips():
    for name, data in INPUTS.items():
        for engine in engines():
            packed, _ = run("--engine", engine, "-c", stdin=data)
            need(gzip.decompress(packed) == data, f"{engine} {name}: not what python reads")
            for tool in OTHERS:
                need(other(tool, "-dc", stdin=packed) == data, f"{engine} {name}: not what {tool} reads")
            for reader in engines():
                got, _ = run("-dc", "--engine", reader, stdin=packed)
                need(got == data, f"{engine} {name}: not what {reader} reads")
        for tool in OTHERS:
            need(run("-dc", stdin=other(tool, "-c", stdin=data))[0] == data, f"{name}: {tool} made it")


def case_ways():
    """Every way to compress; as files, where indexes are used, and piped."""
    data = INPUTS["text"]
    write("in", data)
    ways = [[f"-{level}"] for level in range(10)]
    ways += [["-p1"], ["-p8"], ["-b32"], ["-b", "1M", "-i"], ["-i"], ["--fast"], ["--best"], ["--no-index"],
             ["--chunk", "128K"], ["--chunk=64k", "-b", "32"], ["-p", "3", "--blocksize=96K"]]
    for engine in engines():
        for way in ways if engine == "zlib" else ways[::3]:
            run("--engine", engine, "-kf", *way, "in")
            packed = Path("in.gz").read_bytes()
            need(gzip.decompress(packed) == data, f"{engine} {way}: not what python reads")
            for reader in ([], ["-p1"], ["-p8"], ["--no-index"], ["--engine", "zlib"], ["--engine", engine]):
                need(run("-dc", *reader, "in.gz")[0] == data, f"{engine} {way}: not what {reader} reads")
            need(run("-dc", stdin=packed)[0] == data, f"{engine} {way}: not as a stream")


def case_workers():
    """What is made does not depend on the number of workers: with blocks in a row, and one by one at the end."""
    for name, data in (("text", INPUTS["text"]), ("noise", noise(4_500_001))):
        write(name, (data * (1 + (9 << 20) // len(data)))[:9_000_001])
        made = {run("-nc", "-p", workers, name)[0] for workers in ("1", "2", "3", "8")}
        need(len(made) == 1, f"{name}: it depends on the number of workers")
        need(gzip.decompress(made.pop()) == Path(name).read_bytes(), f"{name}: not what python reads")


def case_first_member():
    """Readers that know only one member get all of it."""
    data = INPUTS["text"]
    packed, _ = run("-c", stdin=data)
    need(zlib.decompressobj(31).decompress(packed) == data, "the first member is not all")


def case_sparse():
    size = (5 << 30) if LONG else (200 << 20)
    with open("sparse", "wb") as f:
        f.truncate(size)

    def check(maker, *words):
        with subprocess.Popen([*words, "sparse.gz"], stdout=subprocess.PIPE) as p:
            count, zeros = 0, bytes(1 << 20)
            while piece := p.stdout.read(len(zeros)):
                need(zeros.startswith(piece), f"{words} of what {maker} made: not zeros at {count}")
                count += len(piece)
        need(p.returncode == 0 and count == size, f"{words} of what {maker} made: {count} bytes of {size}")
    run("-1", "-k", "sparse")
    need(Path("sparse.gz").stat().st_size < size // 200, "zeros do not compress")
    for words in ([CCGZ], [CCGZ, "--no-index"], *([tool] for tool in OTHERS)):
        check("ccgz", *words, "-dc")
    need(str(size) in run("-l", "sparse.gz")[0].decode(), "-l does not know its size")
    for tool in OTHERS if LONG else ():  # lengths of more than 4 GiB are written by them, too
        subprocess.run([tool, "-1", "-k", "-f", "sparse"], check=True)
        for engine in engines():
            check(tool, CCGZ, "--engine", engine, "-dc")
        need(str(size) in run("-l", "sparse.gz")[0].decode(), f"-l does not know the size of what {tool} made")


def case_parts():
    """More chunks than an index has room for: another part."""
    size = 13001 * 32768 + 5
    with open("big", "wb") as f:
        f.truncate(size)
    run("-1", "-b32", "--chunk", "32K", "big", "-k")
    packed = Path("big.gz").read_bytes()
    need(packed.count(b"\x1f\x8b\x08") >= 4, "there are no two parts")
    need(str(size) in run("-l", "big.gz")[0].decode(), "-l does not know its size")
    run("-t", "big.gz")
    run("-t", "-p1", "big.gz")
    at = packed.index(b"\x1f\x8b\x08", 10)
    at = packed.index(b"\x1f\x8b\x08", at + 1)  # where the second part begins
    write("cut.gz", packed[:at])
    need("unexpected end" in run("-t", "cut.gz", code=1)[1], "a missing part is not missed")


# ---- options ----

def case_files():
    data = {"a": INPUTS["text"], "b": b"", "c": b"c"}
    for name, content in data.items():
        write(name, content)
    run("a", "b", "c")
    need(listing() == ["a.gz", "b.gz", "c.gz"], f"files are {listing()}")
    run("-t", "a.gz", "b.gz", "c.gz")
    run("-dk", "a.gz")
    run("-d", "a.gz", "-f", "b", "c.gz")  # b is found as b.gz
    need(listing() == ["a", "b", "c"] and all(Path(n).read_bytes() == d for n, d in data.items()), "not as they were")
    out, _ = run("-c", "a", "c")
    need(gzip.decompress(out) == data["a"] + data["c"], "-c of two files")
    need(listing() == ["a", "b", "c"], "-c made or removed files")


def case_errors_go_on():
    write("good")
    write("bad.gz", b"this is not gzip")
    _, err = run("missing", "good", code=1)
    need("missing" in err and listing() == ["bad.gz", "good.gz"], "one error stopped the rest")
    _, err = run("-d", "bad.gz", "good.gz", code=1)
    need("not in gzip format" in err and listing() == ["bad.gz", "good"], "a bad file: " + err)


def case_refusals():
    write("a", b"new")
    write("a.gz", b"old")
    _, err = run("a", code=2)
    need("already exists" in err and Path("a.gz").read_bytes() == b"old", "overwritten")
    need(run("-q", "a", code=2)[1] == "", "-q still speaks")
    run("-f", "a")
    need(listing() == ["a.gz"] and run("-dc", "a.gz")[0] == b"new", "-f does not overwrite")
    need("suffix" in run("a.gz", code=2)[1], "compressed twice")
    write("plain")
    need("unknown suffix" in run("-d", "plain", code=2)[1], "decompressed a file without suffix")
    os.mkdir("dir")
    need("is a directory" in run("dir", code=2)[1], "a directory")
    os.symlink("plain", "link")
    need("symbolic link" in run("link", code=1)[1], "a link")
    os.link("plain", "hard")
    need("other link" in run("hard", code=2)[1], "a hard link")
    os.mkfifo("fifo")
    need("not a directory or a regular file" in run("fifo", code=2)[1], "a fifo")
    run("-k", "hard")
    run("-f", "link")
    need(listing() == ["a.gz", "dir", "fifo", "hard", "hard.gz", "link.gz", "plain"], f"files are {listing()}")
    os.symlink("plain", "other.gz")  # which is what is found, and is not taken
    need(re.search(r"other.gz: .*symbolic link", run("-d", "other", code=1)[1]), "a link with a suffix")
    need(run("-d", "nothing", code=1)[1] == "ccgz: nothing: no such file or directory\n", "nothing")
    need("Try" in run("--no-such-option", code=1)[1], "an unknown option")
    for words in (["-p0"], ["-p", "x"], ["-b", "1"], ["-b", "9999M"], ["--engine", "none"], ["-S", ""]):
        run(*words, code=1)


def case_named_pipes():
    """What is written to them is read, however late it comes."""
    data = INPUTS["text"]
    os.mkfifo("fifo")
    packed, size = gzip.compress(data), str(len(data)).encode()
    for words, content, is_right in ((["-c", "fifo"], data, lambda out: gzip.decompress(out) == data),
                                     (["-dc", "fifo"], packed, lambda out: out == data),
                                     (["-tv", "fifo"], packed, lambda out: out == b""),
                                     (["-l", "fifo"], packed, lambda out: size in out)):
        for late in (0, 0.2):
            def put(late=late, content=content):
                time.sleep(late)
                write("fifo", content)
            writer = threading.Thread(target=put, daemon=True)
            writer.start()
            out, _ = run(*words)
            need(is_right(out), f"{words}: {len(out)} bytes")
            writer.join()
    os.mkdir("d")  # but not where nobody has named them
    os.rename("fifo", "d/fifo")
    os.symlink("fifo", "d/link")
    os.symlink("/dev/zero", "d/zeros")
    write("d/a.gz", packed)
    for words in (["-tr"], ["-lr"], ["-cr"], ["-dcr"], ["-dkr"]):
        _, err = run(*words, "d", code=2, timeout=60)
        need(err.count("is not a directory or a regular file") == 3, f"{words}: {err}")


def case_closed_descriptors():
    """No file gets the number of one: messages would be in it."""
    def closed(redirections, *words):
        line = f'exec "$0" "$@" {redirections}'
        return subprocess.run(["sh", "-c", line, CCGZ, *words], stdin=subprocess.DEVNULL, capture_output=True)
    data = INPUTS["text"]
    for redirections in (">&- 2>&-", "<&- >&- 2>&-", "<&-", ">&-", "2>&-", "<&- 2>&-"):
        write("a", data)
        done = closed(redirections, "-v", "a", "missing")
        need(done.returncode == 1 and listing() == ["a.gz"], f"{redirections}: {done} {listing()}")
        need(gzip.decompress(Path("a.gz").read_bytes()) == data, f"{redirections}: something else is in it")
        need(closed(redirections, "-dv", "a.gz").returncode == 0, f"{redirections}: not decompressed")
        need(listing() == ["a"] and Path("a").read_bytes() == data, f"{redirections}: something else came out")
        write("a.gz", gzip.compress(data) + b"garbage")  # of which there is something to be said while it is written
        need(closed(redirections, "-df", "a.gz").returncode == 2, f"{redirections}: no warning")
        need(Path("a").read_bytes() == data, f"{redirections}: the warning is in the output")
    for redirections, words in ((">&-", ["-c", "a"]), (">&- 2>&-", ["-c", "a"]), ("<&-", ["-c"]), ("<&-", ["-dc"]),
                                (">&-", ["--help"])):
        need(closed(redirections, *words).returncode == 1, f"{words} {redirections}: that went well")


def case_no_right():
    if os.getuid() == 0:
        return  # root may
    os.mkdir("locked")
    write("locked/a")
    os.chmod("locked", 0o555)
    run("locked/a", code=1)
    need(os.listdir("locked") == ["a"], "something was left")


def case_attributes():
    write("a", b"data")
    os.utime("a", (1_500_000_000, 1_400_000_000))
    os.chmod("a", 0o640)
    run("a")
    for name, words in (("a.gz", ["-d", "a.gz"]), ("a", ["-l", "a"])):
        st = os.stat(name)
        need(stat.S_IMODE(st.st_mode) == 0o640, f"{name}: mode {st.st_mode:o}")
        need(int(st.st_mtime) == 1_400_000_000, f"{name}: time {st.st_mtime}")
        run(*words, code=1 if name == "a" else 0)


def case_names():
    def header(*words, name="given"):
        write(name, b"data")
        os.utime(name, (1_500_000_000, 1_400_000_000))
        return run("-kc", *words, name)[0]
    with_name, without = header(), header("-n")
    need(with_name[3] == 8 and with_name[4:8] == (1_400_000_000).to_bytes(4, "little"), "no name or time")
    need(with_name[10:16] == b"given\0", "another name")
    need(without[3] == 0 and without[4:8] == bytes(4), "-n stores them")
    need(header("-m")[3:8] == b"\x08\0\0\0\0", "-m")
    os.unlink("given")
    write("other.gz", with_name)
    run("-dk", "other.gz")
    need(listing() == ["other", "other.gz"], "the name is restored without -N")
    run("-dkN", "other.gz")
    need(int(os.stat("given").st_mtime) == 1_400_000_000, "-N: the time")
    need("given" in run("-lN", "other.gz")[0].decode(), "-lN")
    need("already exists" in run("-dN", "other.gz", code=2)[1], "-N overwrites")
    write("evil.gz", with_name.replace(b"given\0", b"../evil\0"))
    os.mkdir("in")
    shutil.move("evil.gz", "in/x.gz")
    run("-dN", "in/x.gz")
    need(os.listdir("in") == ["evil"], "-N went to another folder")


def case_onto_itself():
    """Where the name in the header is the input's own, or that of a link to it, nothing is touched."""
    packed = run("-c", "--no-name", stdin=b"data")[0]
    named = packed[:3] + b"\x08" + packed[4:10] + b"own.gz\0" + packed[10:]
    need(gzip.decompress(named) == b"data", "it is no gzip file")

    def check(words, got, said, files):
        need(got == 1 and "is the input itself" in said, f"{words}: {got} {said}")
        need(listing() == files and Path(files[0]).read_bytes() == named, f"{words}: {listing()}")

    write("own.gz", named)
    for words in (["-dN"], ["-dNf"], ["-dNk"], ["-dNkf"], ["-dNfq"]):
        check(words, 1, run(*words, "own.gz", code=1)[1], ["own.gz"])
    for words in (["-dN"], ["-dNk"], ["-dNf"]):
        check(words, *on_terminal(*words, "own.gz", answer=b"y\n"), ["own.gz"])
    os.rename("own.gz", "data.gz")
    os.symlink("data.gz", "own.gz")  # by the link: it would be replaced, and removed as the input
    check("a link", 1, run("-dNf", "own.gz", code=1)[1], ["data.gz", "own.gz"])
    os.unlink("own.gz")
    os.rename("data.gz", "own")
    os.symlink("own", "own.gz")
    check("to what it points to", 1, run("-df", "own.gz", code=1)[1], ["own", "own.gz"])


def case_recursive():
    os.makedirs("d/e")
    for name in ("d/a", "d/e/b", "d/e/c.gz"):
        write(name)
    os.symlink("a", "d/link")
    run("-r", "d", code=1)  # the link
    need(sorted(os.listdir("d")) == ["a.gz", "e", "link"] and sorted(os.listdir("d/e")) == ["b.gz", "c.gz"], "-r")
    write("d/e/c.gz", run("-c", stdin=b"c")[0])
    os.unlink("d/link")
    run("-dr", "d")
    need(sorted(os.listdir("d/e")) == ["b", "c"] and os.listdir("d") != [], "-dr")


def case_suffix():
    write("a")
    run("-S", ".zip", "a")
    run("-d", "-S", ".zip", "a.zip")
    for name, plain in (("x.tgz", "x.tar"), ("x.taz", "x.tar"), ("x-gz", "x"), ("x.z", "x"), ("X.GZ", "X")):
        write(name, gzip.compress(b"tar"))
        run("-d", name)
        need(Path(plain).read_bytes() == b"tar", f"{name} is not {plain}")
        os.unlink(plain)
    need(listing() == ["a"], f"files are {listing()}")


def case_own_name():
    for name in ("unccgz", "cczcat"):
        os.symlink(CCGZ, name)
    write("a.gz", gzip.compress(b"data"))
    need(subprocess.check_output(["./cczcat", "a.gz"]) == b"data", "cczcat")
    subprocess.check_call(["./unccgz", "a.gz"])
    need(Path("a").read_bytes() == b"data", "unccgz")


def case_members():
    a, b = INPUTS["text"], INPUTS["noise"]
    one, two = run("-c", stdin=a)[0], run("-c", "--engine", engines()[-1], stdin=a)[0]
    for packed, data in ((one + gzip.compress(b) + two, a + b + a), (one + two, a + a),
                         (gzip.compress(b"") + one + gzip.compress(b""), a)):
        write("m.gz", packed)
        need(run("-dc", "m.gz")[0] == data and run("-dc", stdin=packed)[0] == data, "several members")
        need(str(len(data)) in run("-l", "m.gz")[0].decode(), "-l of several members")
    for tail, code in ((bytes(1000), 0), (b"garbage", 2), (bytes(100) + b"garbage", 2), (b"\x1f", 2), (b"\x1f\x8b", 1)):
        for packed in (one, gzip.compress(a)):
            out, err = run("-dc", stdin=packed + tail, code=code)
            need(code == 1 or out == a, f"what is before {tail[:9]} is lost")
            need((code == 0) == (err == ""), f"with {tail[:9]}: {err}")
    write("g.gz", one + b"garbage")
    run("-d", "g.gz", code=2)
    need(Path("g").read_bytes() == a, "garbage: no output")
    need("2" == str(run("-tq", code=2, stdin=one + b"garbage") and 2), "-q changes the code")


def case_foreign_headers():
    """Extra fields, names, comments and checksums of headers as others write them."""
    body = zlib.compressobj(6, zlib.DEFLATED, -15)
    raw = body.compress(b"data") + body.flush()
    end = zlib.crc32(b"data").to_bytes(4, "little") + (4).to_bytes(4, "little")
    def member(flags, rest):
        head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + rest
        if flags & 2:
            head += (zlib.crc32(head) & 0xffff).to_bytes(2, "little")
        return head + raw + end
    extra = (65535).to_bytes(2, "little") + b"AB" + (65531).to_bytes(2, "little") + bytes(65531)
    for flags, rest in ((4, extra), (8, b"n" * 70000 + b"\0"), (16, b"comment\0"), (2, b""),
                        (31, extra + b"name\0" + b"c" * 9999 + b"\0"), (4, b"\3\0cgx")):
        need(run("-dc", stdin=member(flags, rest))[0] == b"data", f"flags {flags}")
    need("flags" in run("-t", stdin=member(32, b""), code=1)[1], "reserved flags")
    need("method" in run("-t", stdin=b"\x1f\x8b\x07" + bytes(20), code=1)[1], "another method")
    wrong = bytearray(member(2, b""))
    wrong[10] ^= 1
    need("header" in run("-t", stdin=bytes(wrong), code=1)[1], "a wrong checksum of the header")
    need("too long" in run("-t", stdin=member(8, b"n" * 999999), code=1)[1], "a name without end")


def case_damaged():
    packed = bytearray(run("-c", stdin=INPUTS["text"])[0])
    half = len(packed) // 2
    write("cut.gz", packed[:half])
    need(f"unexpected end of file at byte {half}" in run("-t", "cut.gz", code=1)[1], "the place of the end")
    packed[half] ^= 255
    write("bad.gz", packed)
    need(re.search(r"corrupted data.*byte \d+", run("-d", "bad.gz", code=1)[1]), "the place of the damage")
    need(listing() == ["bad.gz", "cut.gz"], "output was left")
    run("-d", "cut.gz", code=1)
    need(listing() == ["bad.gz", "cut.gz"], "output was left")


def le(value, size=4):
    return value.to_bytes(size, "little")


def stored(data, length, last):
    """A stored block that says it has so many bytes."""
    return bytes([last]) + le(length, 2) + le(length ^ 0xffff, 2) + data


def with_index(chunks, chunk_bytes, data):
    """A file of one member, made of these pieces of deflate, with a trailer for this data and an index of both."""
    def number(value):
        return bytes([value & 127 | 128]) + number(value >> 7) if value > 127 else bytes([value])

    def subfield(own):
        return b"cg" + le(len(own), 2) + own
    part = b"\x1f\x8b\x08\x04" + bytes(6) + le(6, 2) + subfield(b"\1\0") + b"".join(chunks)
    part += le(zlib.crc32(data)) + le(len(data))
    own = b"\1\0" + le(zlib.crc32(part))
    own += b"".join(map(number, (len(part), len(data), chunk_bytes, len(chunks), *map(len, chunks))))
    own += le(zlib.crc32(own))
    extra = subfield(own + le(len(own) + 6, 2))
    return part + b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff" + le(len(extra), 2) + extra + b"\3" + bytes(9)


def same_checksum(make_one, make_other, size):
    """So many bytes of which two functions make different data with the same checksum. A checksum is linear: solve."""
    def difference(x):
        return zlib.crc32(make_one(le(x, size))) ^ zlib.crc32(make_other(le(x, size)))
    constant, basis = difference(0), {}
    for bit in range(8 * size):
        vector, x = difference(1 << bit) ^ constant, 1 << bit
        while vector and vector.bit_length() in basis:
            other_vector, other_x = basis[vector.bit_length()]
            vector, x = vector ^ other_vector, x ^ other_x
        if vector:
            basis[vector.bit_length()] = vector, x
    x = 0
    while constant:
        vector, bits = basis[constant.bit_length()]
        constant, x = constant ^ vector, x ^ bits
    need(difference(x) == 0, "not solved")
    return le(x, size)


def case_forged_index():
    """An index that is true in all its sums, of a file that says something else to whoever reads all of it."""
    first, rest, size = text(40000), b"the rest is the same", 8
    for last in (1, 0):  # all of the index is true; or it turns out late that it is not
        heads = stored(b"", size + 5 + len(rest), last), stored(b"", len(rest), 1)
        # The first block goes on behind its chunk. For a stream, what begins there is data; by the index, a block.
        free = same_checksum(lambda x: first + heads[0] + x + rest, lambda x: first + x + heads[1] + rest, size)
        truth, lie = first + heads[0] + free + rest, first + free + heads[1] + rest
        need(truth != lie and len(truth) == len(lie) and zlib.crc32(truth) == zlib.crc32(lie), "no two of a kind")
        chunks = stored(first, len(first) + 5 + size, 0), heads[0] + free + heads[1] + rest
        packed = with_index(chunks, len(first), truth)
        need(gzip.decompress(packed) == truth, "python reads something else")
        write("forged.gz", packed)
        for engine in engines():
            for words, code in ([["-p8"], 2], [["--no-index"], 0], [["-p1"], 0]):
                if words == ["-p8"] and len(os.sched_getaffinity(0)) < 2:
                    continue  # without a second processor the index is not used
                out, err = run("-dc", "--engine", engine, *words, "forged.gz", code=code)
                need(out == truth, f"{engine} {words}: not what every gzip makes of it")
                need((code == 2) == ("index" in err), f"{engine} {words}: {err}")
    # The last block of a stream that does not end where its chunk does: two bytes are missing, and an empty last block,
    # put behind it to have one, is taken for them.
    first = first[:-2] + b"\3\0"
    chunks = stored(first[:-2], len(first), 1), stored(rest, len(rest), 1)
    write("forged.gz", with_index(chunks, len(first), first + rest))
    for engine in engines():
        run("-t", "--engine", engine, "forged.gz", code=1)
    # And one that is what it says.
    chunks = stored(first, len(first), 0), stored(rest, len(rest), 1)
    write("forged.gz", with_index(chunks, len(first), first + rest))
    for engine in engines():
        need(run("-dc", "--engine", engine, "forged.gz") == (first + rest, ""), f"{engine}: a true one")


def case_copies():
    need(run("-dcf", stdin=b"not gzip")[0] == b"not gzip", "-dcf does not copy")
    big = b"plain" * 100000
    need(run("-dcf", stdin=big)[0] == big and run("-dcf", stdin=b"")[0] == b"", "-dcf does not copy all")
    need(run("-dcf", stdin=gzip.compress(b"it is"))[0] == b"it is", "-dcf does not decompress")
    for words in ("-df", "-dcf"):
        other_method = b"\x1f\x8b\x09" + bytes(20)
        for data in (b"not gzip", b"", b"\x1f", b"\x1fx", b"\x1f\x8b", other_method, big, gzip.compress(big)):
            out, _ = run(words, stdin=data, code=1 if data in (b"\x1f\x8b", other_method) else 0)
            if "gzip" in OTHERS:
                done = subprocess.run(["gzip", words], input=data, capture_output=True)
                need(done.stdout == out, f"{words}: gzip makes something else of {data[:9]}")
    write("plain.gz", b"not gzip")
    need("not in gzip format" in run("-df", "plain.gz", code=1)[1] and listing() == ["plain.gz"], "-df of a file")
    need(run("-dcf", "plain.gz")[0] == b"not gzip", "-dcf of a file")


def case_words():
    write("a", bytes(100000))
    need(re.search(r"a:\s+99\.\d% -- replaced with a.gz", run("-v", "a")[1]), "-v")
    need("OK" in run("-tv", "a.gz")[1], "-tv")
    need("created a" in run("-dkv", "a.gz")[1], "-dkv")
    lines = run("-l", "a.gz", "a.gz")[0].decode().splitlines()
    need(lines[0].split()[:2] == ["compressed", "uncompressed"] and lines[3].split()[-1] == "(totals)", "-l")
    need(lines[1].split()[1:] == ["100000", lines[1].split()[2], "a"], "-l of a file")
    crc = f"{zlib.crc32(bytes(100000)):08x}"
    need(crc in run("-lv", "a.gz")[0].decode(), "-lv")
    write("big", INPUTS["text"])  # has an index
    crc = f"{zlib.crc32(INPUTS['text']):08x}"
    run("-k", "big")
    for words in ([], ["-p1"], ["-p8"], ["--no-index"]):
        need(crc in run("-lv", *words, "big.gz")[0].decode(), f"-lv {words}")
    need(crc in run("-lv", stdin=Path("big.gz").read_bytes())[0].decode(), "-lv of a pipe")
    shown = run("--help")[0].decode()
    man = (HERE.parents[1] / "apps/ccgz/ccgz.1").read_text().replace("\\-", "-")
    source = (HERE.parents[1] / "apps/ccgz/options.c").read_text()
    for name in re.findall(r'\{"([\w-]+)", ', source):
        if name not in ("ascii", "silent", "to-stdout", "uncompress", "index"):
            need(f"--{name}" in shown, f"--help does not have --{name}")
        need(f"--{name}" in man, f"the manual does not have --{name}")
    for words in (["-V"], ["-L"], ["-h"]):
        need(run(*words)[0], f"{words} says nothing")


# ---- what interrupts it ----

def zeros_in_members(name, size):
    """A large file of zeros, made in no time."""
    member = gzip.compress(bytes(32 << 20), 1)
    with open(name, "wb") as f:
        for _ in range(size >> 25):
            f.write(member)


def limit_file_size(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def case_full_disk():
    write("noise", noise(3_000_000))
    before = Path("noise").read_bytes()
    _, err = run("noise", code=1, preexec_fn=lambda: limit_file_size(1_000_000))
    need("file too large" in err and listing() == ["noise"], f"a file too large: {err} {listing()}")
    with open("/dev/full", "wb") as full:
        for words in (["-c", "noise"], ["--engine", engines()[-1], "-c", "noise"]):
            done = subprocess.run([CCGZ, *words], stdout=full, stderr=subprocess.PIPE)
            need(done.returncode == 1 and b"no space left" in done.stderr, f"a full disk: {done}")
        run("-k", "noise")
        for words in (["-dc", "noise.gz"], ["-dc", "--no-index", "noise.gz"]):
            done = subprocess.run([CCGZ, *words], stdout=full, stderr=subprocess.PIPE)
            need(done.returncode == 1 and b"no space left" in done.stderr, f"a full disk: {done}")
        done = subprocess.run([CCGZ, "-l", "noise.gz"], stdout=full, stderr=subprocess.PIPE)
        need(done.returncode == 1 and b"no space left" in done.stderr, f"-l to a full disk: {done}")
    os.unlink("noise")
    _, err = run("-d", "noise.gz", code=1, preexec_fn=lambda: limit_file_size(1_000_000))
    need(listing() == ["noise.gz"], "a file too large, decompressing")
    run("-d", "noise.gz")
    need(Path("noise").read_bytes() == before, "it was lost")


def case_full_file_system():
    """A real one, where one may be made."""
    os.mkdir("small")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "none", "small"], capture_output=True)
    if made.returncode != 0:
        return  # one must be root for that; files that are too large are as good
    try:
        data = noise(3_000_000)
        for words, content in ((["noise"], data), (["-d", "noise.gz"], run("-c", stdin=data)[0]),
                               (["-d", "--no-index", "noise.gz"], run("-c", stdin=data)[0])):
            write(f"small/{words[-1]}", content)
            _, err = run(*words[:-1], f"small/{words[-1]}", code=1)
            need("no space left" in err, f"{words}: {err}")
            need(os.listdir("small") == words[-1:], f"{words}: left behind: {os.listdir('small')}")
            need(Path(f"small/{words[-1]}").read_bytes() == content, f"{words}: the input is another")
            os.unlink(f"small/{words[-1]}")
    finally:
        subprocess.run(["umount", "-l", "small"], check=True)


def case_signals():
    """In the middle of it: neither a temporary file nor a lost input."""
    with open("big", "wb") as f:
        f.truncate(8 << 30)
    zeros_in_members("packed.gz", 8 << 30)
    before = listing(), os.stat("big").st_size, os.stat("packed.gz").st_size
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXCPU)
    for words in (["-9", "big"], ["-d", "packed.gz"], ["-d", "--no-index", "-p1", "packed.gz"]):
        for number in ends if words == ["-9", "big"] else ends[:2]:
            def no_core():
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with subprocess.Popen([CCGZ, *words], preexec_fn=no_core) as p:
                while not any(name.startswith(".ccgz-") and os.stat(name).st_size > 0 for name in listing()):
                    need(p.poll() is None, "it ended by itself")
                    time.sleep(0.005)
                p.send_signal(number)
            need(p.returncode == -number, f"{words}: ended with {p.returncode}, not by signal {number}")
            after = listing(), os.stat("big").st_size, os.stat("packed.gz").st_size
            need(after == before, f"{words}, signal {number}: left behind: {listing()}")


def case_ignored_signals():
    """Who has told it to ignore one, as nohup does, means it."""
    write("a", INPUTS["text"])
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        def ignore(number=number):
            signal.signal(number, signal.SIG_IGN)
            os.kill(os.getpid(), number)
        subprocess.run([CCGZ, "-kf", "a"], preexec_fn=ignore, restore_signals=False, check=True)


def case_synchronous():
    data = INPUTS["text"]
    os.mkdir("in")
    for name in ("a", "in/a"):
        write(name, data)
        run("-Y", name)
        need(gzip.decompress(Path(f"{name}.gz").read_bytes()) == data and not os.path.exists(name), f"-Y {name}")
        run("--synchronous", "-d", f"{name}.gz")
        need(Path(name).read_bytes() == data and not os.path.exists(f"{name}.gz"), f"-dY {name}")
    need(gzip.decompress(run("-cY", "a")[0]) == data, "-cY to a pipe")
    with open("out", "wb") as out:
        subprocess.run([CCGZ, "-cY", "a"], stdout=out, check=True)
    need(gzip.decompress(Path("out").read_bytes()) == data, "-cY to a file")


def case_times():
    """-M is of the time alone: without the name, or with it."""
    write("a", b"data")
    os.utime("a", (1_500_000_000, 1_400_000_000))
    stamp = (1_400_000_000).to_bytes(4, "little")
    for words, flags, time_bytes in ((["-nM"], 0, stamp), (["-n", "--time"], 0, stamp), (["-Mn"], 0, bytes(4)),
                                     (["-M"], 8, stamp), (["-m"], 8, bytes(4)), (["--no-time"], 8, bytes(4))):
        packed = run("-c", *words, "a")[0]
        need(packed[3] == flags and packed[4:8] == time_bytes, f"{words}: {packed[:10]}")
    write("b.gz", run("-c", "a")[0])
    os.utime("b.gz", (1_600_000_000, 1_600_000_000))
    for words, when in ((["-dkf"], 1_600_000_000), (["-dkfM"], 1_400_000_000), (["-dkfNm"], None)):
        run(*words, "b.gz")
        need(when is None or int(os.stat("b").st_mtime) == when, f"{words}: {os.stat('b').st_mtime}")
    need(int(os.stat("a").st_mtime) == 1_600_000_000, "-Nm: the name, but not the time")


def case_broken_pipe():
    with open("big", "wb") as f:
        f.truncate(64 << 20)
    run("-1k", "big")
    for words in (["-dc", "big.gz"], ["-dc", "--no-index", "big.gz"], ["-c1", "--no-index", "big"]):
        def default():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        with subprocess.Popen([CCGZ, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default) as p:
            p.stdout.read(1)
            p.stdout.close()
            err = p.stderr.read()
        need(p.returncode == -signal.SIGPIPE and err == b"", f"{words}: {p.returncode} {err}")


def on_terminal(*words, answer=None, wait=30, columns=0):
    """Run it with a terminal as stdin, stdout and stderr: (code, what was shown)."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        os.execv(CCGZ, [CCGZ, *words])
    shown, end = b"", time.monotonic() + wait
    while time.monotonic() < end:
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(fd, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if answer and b"?" in shown:
            os.write(fd, answer)
            answer = None
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def case_terminal():
    code, shown = on_terminal()
    need(code == 1 and "terminal" in shown, f"compressed to a terminal: {shown}")
    write("file")
    code, shown = on_terminal("-c", "file")
    need(code == 1 and "terminal" in shown, f"compressed to a terminal: {shown}")
    need(on_terminal("-cf", "file")[0] == 0, "-f does not force it")
    code, shown = on_terminal("-d")
    need(code == 1 and "terminal" in shown, f"compressed from a terminal: {shown}")
    for answer, code, left in ((b"n\n", 2, b"old"), (b"y\n", 0, None)):
        write("a", b"new")
        write("a.gz", b"old")
        got, shown = on_terminal("a", answer=answer)
        need(got == code and "overwrite" in shown, f"asked, answered {answer}: {got} {shown}")
        need(left is None or Path("a.gz").read_bytes() == left, "the answer was no")
    os.unlink("a.gz")
    with open("big", "wb") as f:
        f.truncate(400 << 20)
    code, shown = on_terminal("-k", "-9", "big", wait=120)
    need(code == 0 and re.search(r"big: \[#*\.*\] +\d+ %", shown), f"no progress: {shown[:200]}")
    need("[#" not in on_terminal("-kqf", "-1", "big", wait=120)[1], "-q shows progress")


def case_narrow_terminal():
    """What is shown of progress stays in its line, whatever the name."""
    for name, columns in (("n" * 200, 0), ("n" * 200, 120), ("\u00fc" * 100, 80), ("n" * 200, 40), ("n" * 200, 12)):
        for megabytes in (150, 600, 2400):  # until it takes long enough
            with open(name, "wb") as f:
                f.truncate(megabytes << 20)
            code, shown = on_terminal("-9f", "-p1", name, wait=120, columns=columns)
            lines = [line for line in re.split(r"\x1b\[K|\r", shown) if line]
            if lines:
                break
        width = columns or 80
        need(code == 0 and lines, f"no progress: {code} {shown[:200]}")
        need(all(len(line) < width for line in lines), f"{columns} columns: {max(lines, key=len)}")
        need(all(f"{name[0] * 8}" in line for line in lines) or width < 50, f"{columns} columns: no name: {lines[:2]}")
        need(columns == 12 or all(re.search(r" \d+ %, ", line) for line in lines), f"{columns} columns: {lines[:2]}")
        need(width < 80 or all("[" in line for line in lines), f"{columns} columns: no bar in {lines[:2]}")
        os.unlink(f"{name}.gz")


def main():
    global CCGZ
    CCGZ = str(Path(sys.argv[1]).resolve())
    # ThreadSanitizer would have every process wait for a second at its end.
    os.environ["TSAN_OPTIONS"] = f"{os.environ.get('TSAN_OPTIONS', '')}:atexit_sleep_ms=0"
    cases = {name[5:]: f for name, f in globals().items() if name.startswith("case_")}
    wanted = sys.argv[2:] or list(cases)
    failed = 0
    for name in wanted:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ccgz-test-") as folder:
            os.chdir(folder)
            try:
                cases[name]()
                print(f"ok     {name} ({time.monotonic() - start:.1f} s)", flush=True)
            except Wrong as wrong:
                failed += 1
                print(f"FAILED {name}: {wrong}", flush=True)
            os.chdir("/")
    print(f"{len(wanted) - failed} passed, {failed} failed; against {', '.join(OTHERS) or 'nobody else'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
