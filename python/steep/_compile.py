"""Spec and parameters to a folder with an artefact, through steepc and a cache.

The cache is the one of steep-run and steep-train (`$XDG_CACHE_HOME/steep`, else
`~/.cache/steep`) and has their layout, so that they keep it within its limit:

    KEY/params.json   KEY/artefact/   KEY/SHA256SUMS   KEY.lock
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ._artefact import Artefact
from ._error import SteepError

Shapes = Mapping[str, Sequence[int]]


def find_compiler() -> Path:
    """steepc by `$STEEPC`, else of the build beside this package, else of PATH."""
    named = os.environ.get("STEEPC")
    if named:
        found = shutil.which(named)
        if not found:
            there = os.path.exists(named)
            why = "it is not executable" if there else "there is no such program"
            raise SteepError(f"STEEPC is {named!r}, but {why}")
        return Path(found)
    beside = Path(__file__).resolve().parents[2] / "build" / "bin" / "steepc"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("steepc")
    if not found:
        raise SteepError(
            "there is no steepc: set STEEPC to the one of your build "
            "(build/bin/steepc), or put its folder into PATH"
        )
    return Path(found)


def compile(
    spec: str | os.PathLike[str],
    named_shapes: Shapes,
    *,
    target: str = "native",
    aliases: Mapping[str, str] | None = None,
) -> Artefact:
    """The optimizer that `spec` states for parameters of these shapes.

    `spec` is a file, or the text of one: a str with a line break or `optim.spec`.
    `aliases` gives parameters that share their storage, by the name of the
    owner (docs/specs.md, facts). What was compiled before comes from the cache.
    Raises SteepError with steepc's message.
    """
    text, title = read_spec(spec)
    return compile_text(text, title, named_shapes, target, aliases or {})


def compile_text(
    text: str, title: str, shapes: Shapes, target: str, aliases: Mapping[str, str]
) -> Artefact:
    """The same, of a spec that was read already; messages call it `title`."""
    spec, params = text.encode(), _params(shapes, aliases)
    compiler = find_compiler()
    entry = _cache_folder() / _key(spec, params, target, compiler)
    with _locked(entry):
        if _is_whole(entry):
            os.utime(entry)
        else:
            shutil.rmtree(entry, ignore_errors=True)
            _make(entry, spec, title, params, target, compiler)
    return Artefact.open(entry / "artefact")


def read_spec(spec: str | os.PathLike[str]) -> tuple[str, str]:
    """Text and title of a spec that is a file, or text; a Path is a file."""
    if isinstance(spec, str) and ("\n" in spec or "optim.spec" in spec):
        return spec, "spec.mlir"
    if not isinstance(spec, (str, os.PathLike)):
        raise SteepError(
            f"spec is {type(spec).__name__}: expected the path or the text of a spec"
        )
    try:
        return Path(spec).read_text(encoding="utf-8"), os.fspath(spec)
    except OSError as error:
        raise SteepError(f"cannot read the spec {spec}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SteepError(f"cannot read the spec {spec}: it is not text") from None


def _params(shapes: Shapes, aliases: Mapping[str, str]) -> bytes:
    tensors: list[dict[str, object]] = []
    for name, shape in shapes.items():
        entry: dict[str, object] = {
            "name": name,
            "shape": [int(size) for size in shape],
            "dtype": "F32",
        }
        if name in aliases:
            entry["aliases"] = aliases[name]
        tensors.append(entry)
    return json.dumps({"tensors": tensors}).encode()


def _cache_folder() -> Path:
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(xdg) if xdg.startswith("/") else Path.home() / ".cache"
    folder = base / "steep"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _no_cache(folder, error) from None
    return folder


def _no_cache(folder: Path, error: OSError) -> SteepError:
    return SteepError(
        f"cannot keep compiled specs in {folder}: {error.strerror}; expected a folder "
        "that may be written ($XDG_CACHE_HOME/steep, else ~/.cache/steep)"
    )


def _key(spec: bytes, params: bytes, target: str, compiler: Path) -> str:
    """A digest of all that steepc reads, each part with its length."""
    status = compiler.stat()
    parts = [b"python 1", spec, params, target.encode()]
    parts.append(f"{compiler} {status.st_size} {status.st_mtime_ns}".encode())
    if target.startswith("native"):
        parts.append(_cpu_flags())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:%b\n" % (len(part), part))
    return digest.hexdigest()


def _cpu_flags() -> bytes:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as file:
        return b"".join(
            line
            for line in file.read().split(b"\n\n")[0].splitlines(True)
            if line.startswith((b"flags", b"model", b"vendor_id", b"cpu family"))
        )
    return b""


@contextlib.contextmanager
def _locked(entry: Path) -> Iterator[None]:
    """Who wants the same entry waits; the lock's file stays."""
    try:
        file = open(f"{entry}.lock", "w")
    except OSError as error:
        raise _no_cache(entry.parent, error) from None
    with file as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digests(folder: Path) -> str:
    """As sha256sum writes them."""
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(folder.iterdir())
    )


def _is_whole(entry: Path) -> bool:
    try:
        expected = (entry / "SHA256SUMS").read_text()
        return bool(expected) and expected == _digests(entry / "artefact")
    except OSError:
        return False


def _make(
    entry: Path, spec: bytes, title: str, params: bytes, target: str, compiler: Path
) -> None:
    """Compiles beside `entry` and renames into place."""
    # The name by which Steep's programs know what a killed process left.
    work = entry.with_name(f".{entry.name}.tmp-{os.getpid()}-0")
    shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir()
    except OSError as error:
        raise _no_cache(entry.parent, error) from None
    try:
        (work / "spec.mlir").write_bytes(spec)
        (work / "params.json").write_bytes(params)
        _run(compiler, title, work, target)
        (work / "SHA256SUMS").write_text(_digests(work / "artefact"))
        try:
            work.rename(entry)
        except OSError:
            # Where locks do not work, or one was removed with its entry, another
            # process may have made the same.
            if not _is_whole(entry):
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(compiler: Path, title: str, work: Path, target: str) -> None:
    source, params = os.fspath(work / "spec.mlir"), os.fspath(work / "params.json")
    command = [os.fspath(compiler), source, "--params", params, "--target", target]
    try:
        result = subprocess.run(
            [*command, "-o", os.fspath(work / "artefact")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise SteepError(
            f"cannot compile {title}: cannot run {compiler}: {error.strerror} "
            "(STEEPC names the compiler)"
        ) from None
    if result.returncode < 0:
        raise SteepError(
            f"cannot compile {title}: steepc was ended by signal {-result.returncode}"
        )
    if result.returncode:
        message = _message(result.stderr)
        message = message.replace(source, title).replace(params, "named_shapes")
        raise SteepError(f"cannot compile {title}: {message}")
    if not (work / "artefact").is_dir():
        raise SteepError(
            f"cannot compile {title}: {compiler} wrote nothing; is it a steepc? "
            "(STEEPC names the compiler)"
        )


def _message(errors: str) -> str:
    """The first line with an error, else the last line."""
    lines = [line for line in errors.splitlines() if line.strip()]
    wrong = [line for line in lines if "error:" in line]
    return (wrong or lines[-1:] or ["it gave no reason"])[0]
