# SPDX-License-Identifier: MIT
"""Compiles what `check` explores: the checker itself, and the user's files as an instrumented object."""
from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import UNSUPPORTED, USAGE, Stop
from .progress import say

ROOT = Path(__file__).resolve().parents[2]
#: Fixed: the instrumentation that the checker understands.  They come last, so that nothing undoes them.  What nobody needs is
#: kept: a variable that is only written, a read whose value goes nowhere.  Debian 12's addr2line names the wrong file for some
#: lines of the DWARF that comes after 4.
FLAGS = ["-O1", "-fno-toplevel-reorder", "-fno-tree-dce", "-fno-tree-dse", "-gdwarf-4", "-fno-builtin", "-fno-tree-vectorize",
         "-mcx16", "-fno-lto",
         "-fno-omit-frame-pointer", "-Wno-tsan", "-fsanitize=thread", "-fPIC",
         "-ftls-model=global-dynamic"]
#: dscheck.h, and that it is the checker who compiles.
OURS = ["-D__DSCHECK__", "-idirafter", str(ROOT / "dscheck" / "include")]
_RUNTIME = ["instrument/*.c", "instrument/*.S",
            *(f"dscheck/{name}.c" for name in ("graph", "items", "search", "revisit", "place", "await", "pick",
                                               "add", "invariant", "rest", "run", "race", "watch",
                                               "checkpoint", "jobs", "answer", "main"))]
#: As a whole, since its files call each other for each event.
OPTIMISE = ["-std=gnu17", "-O3", "-flto", "-g", "-fno-pie", "-no-pie"]
LINK = ["-rdynamic", "-ldl"]
#: Golden programs that show the compiler where the checker spends its time: a tenth to a fifth less of it.
TRAINING = {"msq": ["-DNP=2", "-DNC=2"], "inc": ["-DN=3", "-DK=2"], "ttas": ["-DN=3"], "chaselev": ["-DNT=2"]}
#: Flags of the compiler after which it writes something else, or elsewhere.
_WRITES = re.compile(r"-o|--output|-M|--?save-temps|-fdump-|-E$")
#: Lines of inline assembly that touch no memory.
_HARMLESS = re.compile(r"\s*(#.*|\.loc .*|(pause|nop|rep;? *nop|yield|)\s*;?)\s*")

#: What every atomic operation but a load and a plain store comes to, where it is not a call of the instrumentation's.
_LOCKED = re.compile(r"^ *[0-9a-f]+:\t(lock .*|xchg .*\(.*|mfence.*)$", re.MULTILINE)


def _run(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # Not where an error is, nor that there was one: which.
        lines = [x for x in done.stderr.splitlines() if not x.endswith(":") and not x.startswith("collect2: ")] or ["?"]
        line = next((x for x in lines if "error" in x), lines[0])
        raise Stop(f"{what}: {line}", USAGE)
    return done.stdout


def no_option(name: str) -> str:
    """The file, so that no command takes it for an option."""
    return f"./{name}" if name.startswith("-") else name


def replay_name(file: Path | str) -> str:
    """Where a failing execution of this program goes, if nobody says."""
    return no_option(Path(file).stem + ".replay")


def fixed_addresses() -> None:
    """Programs that start from here on find their libraries at the same addresses each time."""
    ctypes.CDLL(None).personality(0x0040000)        # ADDR_NO_RANDOMIZE; else the checker starts itself again


def symbols() -> dict[str, str]:
    """What the code under test may call, and what serves it: '' for the C library itself."""
    out = {}
    text = (ROOT / "instrument" / "symbols").read_text(encoding="utf-8")
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            other = words[1] if len(words) > 1 else words[0]
            out[words[0]] = "" if other == "=" else "ex_" + other
    return out


def _folder() -> Path:
    for folder in (ROOT / "build" / "check", Path(os.environ.get("TMPDIR", "/tmp")) / "tenter-check"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    raise Stop("no folder to build in: make build/ writable")


def sources() -> list[Path]:
    """The files of the checker."""
    return sorted(p for pattern in _RUNTIME for p in ROOT.glob(pattern))


def aliases() -> list[str]:
    """For the linker: functions of the code under test that another one serves as well."""
    return [f"-Wl,--defsym=ex_{name}={other}" for name, other in symbols().items()
            if other and other != "ex_" + name]


def checker() -> Path:
    """The compiled checker; built when its sources have changed."""
    digest = hashlib.sha256()
    for path in sorted([*sources(), *ROOT.glob("instrument/*.h"), *ROOT.glob("dscheck/*.h"),
                        ROOT / "instrument" / "symbols", Path(__file__)]):
        digest.update(path.name.encode() + path.read_bytes())
    out = _folder() / f"dscheck-{digest.hexdigest()[:16]}"
    if out.exists():
        return out
    new = out.with_suffix(f".{os.getpid()}")
    say("building the checker, once for this version: a minute or more")
    with tempfile.TemporaryDirectory(dir=_folder()) as work:
        if "clang" in os.environ.get("CC", "gcc"):     # whose profiles are another thing
            _compile(new, Path(work), [])
        else:
            trained = Path(work) / "trained"
            _compile(trained, Path(work), ["-fprofile-generate", "-fno-lto"])
            for name, macros in TRAINING.items():
                made = image([ROOT / "dscheck" / "golden" / f"{name}.c"], macros, trained)
                _run([str(trained), str(made)], "the checker does not run")
                made.unlink()
            _compile(new, Path(work), ["-fprofile-use", "-fprofile-partial-training"])
    new.rename(out)
    return out


def _compile(out: Path, work: Path, flags: list[str]) -> None:
    """The objects keep their places, where a profile is looked for."""
    cc = [os.environ.get("CC", "gcc"), *OPTIMISE, *flags]

    def one(source: Path) -> str:
        made = work / f"{source.name}.o"
        _run([*cc, "-c", str(source), "-o", str(made)], "the checker does not compile")
        return str(made)

    with ThreadPoolExecutor(os.cpu_count()) as several:
        made = list(several.map(one, sources()))
    _run([*cc, *made, *LINK, *aliases(), "-o", str(out)], "the checker does not link")


def image(files: list[Path], cflags: list[str], by: Path | None = None) -> Path:
    """The instrumented shared object of these files; raises Stop when it holds what cannot be explored, by the checker."""
    if lto := next((f for f in cflags if f.startswith("-flto")), None):
        raise Stop(f"with link-time optimisation accesses are not where the instrumentation has seen them: leave {lto} out", UNSUPPORTED)
    if writes := next((f for f in cflags if _WRITES.match(f)), None):
        raise Stop(f"{writes}: what the compiler writes, and where, is not for CFLAGS to say: leave it out")
    by = by or checker()                            # first: to build it, images are made here
    table, folder = symbols(), _folder()
    mine = f"{os.getpid()}.{threading.get_native_id()}"
    redefine = folder / f"redefine.{mine}"
    redefine.write_text("".join(f"{n} ex_{n}\n" for n, o in table.items() if o), encoding="utf-8")
    objects = []
    key = hashlib.sha256("\0".join([*map(str, files), *cflags, mine]).encode())
    out = folder / f"{files[0].stem}-{key.hexdigest()[:12]}.so"
    flags = [f for f in cflags if f != "-Werror"]
    try:
        for number, file in enumerate(files):
            made = out.with_suffix(f".{number}.o")
            objects.append(made)
            text = made.with_suffix(".s")
            objects.append(text)
            compiles = ["gcc", "-std=gnu17", "-w", *flags, f"-I{ROOT}", *OURS, *FLAGS, no_option(str(file))]
            _hidden(_run([*compiles, "-E"], f"{file} does not compile"))
            _run([*compiles, "-S", "-o", str(text)], f"{file} does not compile")
            _inline(text, file)
            _run(["gcc", "-c", str(text), "-o", str(made)], f"{file} does not assemble")
        made_of = [o for o in objects if o.suffix == ".o"]
        defined = _symbols(made_of, defined=True)
        for file, made in zip(files, made_of):
            _hold(made, file, table, defined, by)
            _run(["objcopy", f"--redefine-syms={redefine}", str(made)], "objcopy")
        _run(["gcc", "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-Wl,-z,now", *map(str, made_of),
              "-o", str(out)], "it does not link")
    finally:
        redefine.unlink(missing_ok=True)
        for made in objects:
            made.unlink(missing_ok=True)
    return out


def digest(image: Path, options: list[str]) -> str:
    """Of what is explored, and how: the same wherever it was compiled, as long as it is the same code and data."""
    raw = image.with_suffix(".raw")
    try:
        sections = [word for name in (".text", ".rodata", ".data", ".tdata") for word in ("-j", name)]
        _run(["objcopy", "-O", "binary", *sections, str(image), str(raw)], "objcopy")
        return hashlib.sha256("\0".join([checker().name, *options, ""]).encode() + raw.read_bytes()).hexdigest()[:16]
    finally:
        raw.unlink(missing_ok=True)


def _symbols(files: list[Path], defined: bool) -> set[str]:
    text = subprocess.run(["nm", *map(str, files)], capture_output=True, text=True, check=False).stdout
    names = (line.split()[-2:] for line in text.splitlines() if line)
    return {name for *kind, name in names if kind and (kind[0] not in "Uwv" if defined else kind[0] == "U")}


def _hold(made: Path, file: Path, table: dict[str, str], defined: set[str], by: Path) -> None:
    """`defined`: by all files of the program."""
    undefined = _symbols([made], defined=False) - defined
    if not any(name.startswith("__tsan_") for name in undefined):
        raise Stop(f"{file}: the compiler has instrumented nothing in it (link-time optimisation, or a flag "
                   "that turns -fsanitize=thread off?)", UNSUPPORTED)
    known = {"_GLOBAL_OFFSET_TABLE_", "__tls_get_addr"}
    locked = _LOCKED.search(_run(["objdump", "-d", "--no-show-raw-insn", str(made)], "objdump"))
    if locked:
        raise Stop(f"{file}: {' '.join(locked[1].split())}, which no instrumentation has seen", UNSUPPORTED)
    provided = _symbols([by], defined=True)
    for name in sorted(undefined - known):
        if name.startswith("__tsan_"):
            if name not in provided:
                what = "arithmetic on an atomic of 16 bytes" if "atomic128" in name else name
                raise Stop(f"{file}: {what} is not supported", UNSUPPORTED)
        elif name.startswith("__atomic_") and name not in table:
            raise Stop(f"{file}: an atomic object of more than 16 bytes, or of a size that is no power of two, is not supported (it calls "
                       f"{name}())", UNSUPPORTED)
        elif name not in table:
            raise Stop(f"{file}: it needs {name}, which none of the files defines and the explorer does not know", UNSUPPORTED)


def _inline(text: Path, file: Path) -> None:
    """What a program does in inline assembly is not instrumented; nothing at all, or a pause, does no harm."""
    for part in re.findall(r"^#APP\n(.*?)^#NO_APP\n", text.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for line in part.splitlines():
            if not _HARMLESS.fullmatch(line):
                raise Stop(f"{file}: inline assembly with '{' '.join(line.split())}', which is not instrumented", UNSUPPORTED)


def _hidden(text: str) -> None:
    """Functions that their author keeps from the instrumentation would be executed unseen.  The text is the preprocessor's."""
    at = text.find("no_sanitize")
    if at >= 0:
        names = re.findall(r'^# \d+ "((?:[^"\\]|\\.)*)"', text[:at], re.MULTILINE)
        name = re.sub(r"\\(.)", r"\1", names[-1])
        raise Stop(f"{name}: an attribute no_sanitize, which hides code from the explorer", UNSUPPORTED)
