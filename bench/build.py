# SPDX-License-Identifier: MIT
"""Building the programs: ours with CMake, a peer's by the suffix of its source."""
import os
import shutil
import subprocess
from pathlib import Path

import host
from host import Skip

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
OURS = ROOT / "build" / "release" / "bench"
PEERS = ROOT / "build" / "bench"
DEBIAN_CRATES = Path("/usr/share/cargo/registry")


class BuildError(Exception):
    """Our own side does not build; the message has the compiler's words."""


def build_ours(rows):
    """Configure the release with benchmarks and build the programs of these rows."""
    configure = ["cmake", "--preset", "release", "-DCCRT_BENCH=ON"]
    targets = [our_program(row, bare) for row in rows for bare in {False, *(peer.bare for peer in row.peers)}]
    build = ["cmake", "--build", ROOT / "build" / "release", "--target", *targets]
    for command in (configure, build):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise BuildError(done.stdout)


def our_program(row, bare=False):
    return f"bench_{row.name}_bare" if bare else f"bench_{row.name}"


def our_command(row, env=None, bare=False):
    setting = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
    return [*setting, str(OURS / our_program(row, bare))]


def build_peer(peer, may_install):
    """Build a peer's program; returns the command that runs it. Raises Skip."""
    host.require(peer.packages, may_install)
    source = BENCH / "peers" / peer.source
    program = PEERS / source.stem
    PEERS.mkdir(parents=True, exist_ok=True)
    for other in peer.beside:
        build_c(BENCH / other, PEERS / Path(other).stem, (), may_install)
    return BUILDERS[source.suffix](source, program, peer.link, may_install)


def compile_or_skip(command, log, env=None):
    """Run a compiler; its output goes to a log."""
    with open(log, "w", encoding="utf-8") as out:
        try:
            done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=os.environ | (env or {}))
        except OSError as error:
            raise Skip(f"build failed: {error}") from None
    if done.returncode != 0:
        raise Skip(f"build failed: see {log.relative_to(ROOT)}")


def build_c(source, program, link, _, compiler=("gcc", "-O2", "-std=gnu11")):
    compile_or_skip([*compiler, "-I", BENCH, source, "-o", program, *link], program.with_suffix(".log"))
    return [str(program)]


def build_cpp(source, program, link, _):
    return build_c(source, program, link, _, compiler=("g++", "-O2", "-std=c++17"))


def build_go(source, program, _link, _):
    env = {"GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(PEERS / "go-cache"), "GOPATH": str(PEERS / "go")}
    sources = [source, source.with_name("common.go")]
    if "startLoad" in source.read_text(encoding="utf-8"):
        sources.append(source.with_name("load.go"))
    compile_or_skip(["go", "build", "-o", program, *sources], program.with_suffix(".log"), env)
    return [str(program)]


def build_ruby(source, _program, _link, _):
    return ["ruby", str(source)]


# ---- Rust: cargo, with Debian's crates instead of the registry ----

CARGO_CONFIG = f"""\
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{DEBIAN_CRATES}"
[net]
offline = true
"""

CARGO_PACKAGE = """\
[package]
name = "{name}"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "{name}"
path = "{source}"
[dependencies]
{dependencies}
[workspace]
"""


def build_rust(source, program, crates, may_install):
    """By the cargo on PATH; should that fail, by Debian's own, which these crates are sure to suit."""
    folder = PEERS / "rust" / source.stem
    folder.mkdir(parents=True, exist_ok=True)
    (PEERS / "rust" / "config.toml").write_text(CARGO_CONFIG, encoding="utf-8")
    (folder / "Cargo.toml").write_text(
        CARGO_PACKAGE.format(name=source.stem, source=source, dependencies="\n".join(crates)), encoding="utf-8")
    try:
        cargo_build(shutil.which("cargo") or "cargo", folder, program)
    except Skip:
        if may_install and not Path("/usr/bin/cargo").exists() and host.apt_get():
            subprocess.run([*host.apt_get(), "install", "-y", "-qq", "cargo", "rustc"], capture_output=True)
        if not Path("/usr/bin/cargo").exists():
            raise
        cargo_build("/usr/bin/cargo", folder, program)
    return [str(program)]


def cargo_build(cargo, folder, program):
    """Build one package; all share the folder of built crates."""
    target = PEERS / "rust" / ("debian" if cargo == "/usr/bin/cargo" else "target")
    env = {"CARGO_HOME": str(PEERS / "rust"), "CARGO_TARGET_DIR": str(target)}
    if Path(cargo).with_name("rustc").exists():
        env["RUSTC"] = str(Path(cargo).with_name("rustc"))
    (folder / "Cargo.lock").unlink(missing_ok=True)  # its format may be another cargo's
    command = [cargo, "build", "--release", "--offline", "--manifest-path", folder / "Cargo.toml"]
    compile_or_skip(command, program.with_suffix(".log"), env)
    shutil.copy2(target / "release" / program.name, program)


BUILDERS = {".c": build_c, ".cpp": build_cpp, ".go": build_go, ".rb": build_ruby, ".rs": build_rust}
