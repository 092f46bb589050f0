# SPDX-License-Identifier: MIT
"""The verb `plot`, and report.html: one self-contained page of a results folder."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable, Sequence

import jinja2
import pandas as pd

from . import claims, figures, stats, tidy
from .arguments import Parser
from .errors import GOOD, INCOMPLETE, Stop

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "pthread"
#: what the comparisons leave out, because the figures have it and a table of all is unreadable
LEFT_OUT = ("counter_", "phys_", "sim_")
SHOWN_PERCENTILES = ("_p50_ns", "_p99_ns", "_p99_99_ns")
LONG = 120


def programs_of(frame: pd.DataFrame) -> list[str]:
    return sorted(set(frame["program"].dropna().astype(str)))


def asked_figures(results_dir: Path, programs: list[str]) -> list[str]:
    named = tidy.matrix_of(results_dir).get("figures")
    return [str(n) for n in named] if named else figures.defaults(programs)


# -- comparisons ----------------------------------------------------------------------------------

def metrics_of(frame: pd.DataFrame) -> list[str]:
    """Metrics worth comparing: the samples and the percentiles that the figures show."""
    good = tidy.usable(frame)
    out = []
    for metric, rep in dict.fromkeys(zip(good["metric"], good["rep"])):
        hidden = metric.startswith(LEFT_OUT) or (
            rep == "pooled" and not metric.endswith(SHOWN_PERCENTILES))
        if metric not in out and not hidden:
            out.append(metric)
    return out


def pairs(series: Iterable[str], peers: set[str]) -> list[tuple[str, str]]:
    """(numerator, divisor): each over pthreads, and each scheduler over the first of them."""
    names = sorted(set(series))
    own = [n for n in names if n not in peers]
    first = "fifo" if "fifo" in own else (own[0] if own else None)
    out = [(n, first) for n in own if first and n != first]
    if BASELINE in names:
        out += [(n, BASELINE) for n in names if n != BASELINE]
    return out


def comparisons(frame: pd.DataFrame, factors: list[str]) -> list[dict[str, str]]:
    """Ratios of conditions that differ in nothing but the series, paired by block."""
    good = tidy.usable(frame)
    same = tidy.varying_factors(good, factors, ("scheduler", "param_program", "program"))
    peers = set(good.loc[~good["runtime"].isin(tidy.OWN_RUNTIMES), "series"])
    out = []
    for metric in metrics_of(frame):
        part = good[good["metric"].eq(metric)]
        by = same if len(same) > 1 else same[:1][0] if same else None
        groups = part.groupby(by, dropna=False) if by else [((), part)]
        for key, group in groups:
            values = key if isinstance(key, tuple) else (key,)
            where = ", ".join(f"{n} {v:g}" if isinstance(v, (int, float)) else f"{n} {v}"
                              for n, v in zip(same, values) if v == v)
            blocks = {s: stats.by_block(g, metric) for s, g in group.groupby("series")}
            for over, under in pairs(blocks, peers):
                ratio = stats.ratio(blocks[over], blocks[under])
                if ratio.n == 0:
                    continue
                crowded = "more workers than cores" if group["oversubscribed"].any() else ""
                out.append({"metric": metric, "where": where or "–", "pair": f"{over} / {under}",
                            "text": stats.ratio_text(ratio), "blocks": str(ratio.n),
                            "shown": "yes" if stats.difference_shown(ratio) else "no",
                            "remark": ", ".join(t for t in (ratio.flag, crowded) if t)})
    return out


def meanings(rows: list[dict[str, str]]) -> list[str]:
    """What the remarks of the comparisons mean."""
    said = {word for row in rows for word in row["remark"].split(", ")}
    return [text for flag, text in stats.MEANINGS.items() if flag in said]


# -- the claims of the row that was reproduced ----------------------------------------------------

def verdicts(results_dir: Path, frame: pd.DataFrame,
             rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The row with its claims judged, where `reproduce` made the folder; else nothing."""
    asked = tidy.run_of(results_dir).get("reproduces")
    for row in claims.rows():
        if row["id"] == asked and row["available"]:
            return {"row": row, "scale": claims.scale_text(claims.scale(row, rows)),
                    "judged": claims.judge(row["id"], frame)}
    return None


# -- what went wrong ------------------------------------------------------------------------------

def statuses(rows: list[dict[str, Any]], gone: list[bool]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row, old in zip(rows, gone):
        if not old:
            counts[str(row.get("status"))] = counts.get(str(row.get("status")), 0) + 1
    return counts


def failures(rows: list[dict[str, Any]], gone: list[bool]) -> list[dict[str, str]]:
    """Each invocation that is not good, with its message and where its output lies; the skipped ones
    of an optional peer in one line."""
    out = []
    peers: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row, old in zip(rows, gone):
        if row.get("status") == "ok" or old:
            continue
        program, message = tidy.program_of(row), str(row.get("message") or "")
        if row.get("optional") and row.get("status") == "skipped":
            peers.setdefault((program, message), []).append(row)
            continue
        params = ", ".join(f"{k} {v}" for k, v in (row.get("params") or {}).items()
                           if k != "program")
        out.append({"cell": f"{program}: {params}", "block": str(row.get("block")),
                    "status": str(row.get("status")), "message": message,
                    "optional": "peer not installed" if row.get("optional") else "",
                    "output": str(row.get("output_path") or "")})
    for (program, message), alike in peers.items():
        cells = len({str(r.get("cell")) for r in alike})
        out.append({"cell": f"{program}: {cells} cells, {len(alike)} invocations", "block": "–",
                    "status": "skipped", "message": message, "optional": "peer not installed",
                    "output": str(alike[0].get("output_path") or "")})
    return out


def warnings_of(frame: pd.DataFrame, rows: list[dict[str, Any]], factors: list[str]) -> list[str]:
    """Drift, steal, retried cells, and conditions that were measured with two binaries."""
    samples = [m for m in metrics_of(frame)
               if (frame.loc[frame["metric"].eq(m), "rep"] != "pooled").all()]
    out = [d.text() for d in stats.drifts(frame, samples)]
    stolen = [r["steal_pct"] for r in rows if isinstance(r.get("steal_pct"), (int, float))]
    if stolen and max(stolen) >= 2.0:
        out.append(f"up to {max(stolen):.1f} % of the processor time was stolen by other guests "
                   f"({sum(s >= 2.0 for s in stolen)} of {len(stolen)} invocations)")
    replaced = int(frame.drop_duplicates("invocation")["superseded"].sum())
    if replaced:
        out.append(f"{replaced} invocations were run again later; figures use the later ones")
    good = tidy.usable(frame)
    keys = [f for f in factors if f in good] + ["series"]
    if good.groupby(keys, dropna=False)["binary_id"].nunique().gt(1).any():
        out.append("some conditions were measured with more than one binary and are put together")
    return out


# -- the machine ----------------------------------------------------------------------------------

def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """A nested object as lines; null is `unknown`."""
    if isinstance(value, dict):
        return [line for key, inner in value.items()
                for line in flat(inner, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list):
        value = ", ".join("none" if v is None else str(v) for v in value)
    text = "unknown" if value is None else str(value)
    return [(name, text)]


def environments(results_dir: Path) -> list[list[tuple[str, str]]]:
    path = results_dir / "env.jsonl"
    return [flat(e) for e in tidy.read_jsonl(path)] if path.exists() else []


def binaries(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each program with what it said of itself."""
    seen: dict[str, str] = {}
    for row in rows:
        if row.get("binary"):
            text = ", ".join(f"{k} {v}" for k, v in flat(row["binary"]))
            seen.setdefault(text, tidy.program_of(row))
    return [(program, text) for text, program in seen.items()]


def unavailable(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Counters that were asked for and cannot be had here: by program and reason."""
    seen: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for name, why in (row.get("unavailable") or {}).items():
            seen.setdefault((tidy.program_of(row), str(why)), set()).add(str(name))
    return [(program, ", ".join(sorted(names)), why)
            for (program, why), names in sorted(seen.items())]


def clocks(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    seen = {(tidy.program_of(r), f"{r['clock']} (load: {r.get('load_kind') or 'unknown'})")
            for r in rows if r.get("clock")}
    return sorted(seen)


# -- the page -------------------------------------------------------------------------------------

def make(results_dir: Path, command: str, only: Sequence[str] | None = None) -> Path:
    """Draws the figures of the matrix, or `only` these, and writes report.html; its path."""
    table = tidy.export(results_dir)
    frame, prov = tidy.load(results_dir), tidy.load_provenance(results_dir)
    rows = tidy.read_jsonl(results_dir / "rows.jsonl")
    gone = [bool(x) for x in frame.drop_duplicates("invocation")["superseded"]]
    programs, factors = programs_of(frame), list(prov.get("factors") or [])
    matrix = tidy.matrix_of(results_dir)
    names = asked_figures(results_dir, programs) if only is None else list(only)
    compared = comparisons(frame, factors)
    page = _template().render(
        title=str(matrix.get("title") or matrix.get("name") or results_dir.name),
        verdicts=verdicts(results_dir, frame, rows), meanings=meanings(compared),
        command=command, prov=prov, matrix=matrix, folder=results_dir.name,
        figures=figures.draw_all(names, programs, table),
        statuses=statuses(rows, gone), failures=failures(rows, gone),
        warnings=warnings_of(frame, rows, factors), comparisons=compared,
        environments=environments(results_dir), binaries=binaries(rows), clocks=clocks(rows),
        unavailable=unavailable(rows),
        no_difference=stats.NO_DIFFERENCE, too_few=stats.TOO_FEW, few=stats.FEW, long=LONG)
    path = results_dir / "report.html"
    scratch = path.with_name("report.html.new")
    scratch.write_text(page, encoding="utf-8")
    scratch.replace(path)
    return path


def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(str(Path(__file__).resolve().parent))
    env = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return env.get_template("report.html.j2")


def recorded_command(results_dir: Path) -> str:
    """The command that made the folder, as the runner recorded it."""
    return str(tidy.run_of(results_dir).get("command") or "unknown")


def plot_main(argv: list[str]) -> int:
    """./tenter plot [RESULTS_DIR] [FIGURE…]"""
    parser = Parser(
        "plot", usage="./tenter plot [RESULTS_DIR] [FIGURE ...]",
        description="Draw the figures of a results folder again: all that its matrix names, and "
                    "the report; or only the figures that are named.",
        epilog="Figures: " + ", ".join(figures.known()) + ". Exit codes: 0 drawn; 2 usage; "
               "3 some figure found no data.")
    parser.add_argument("words", nargs="*", metavar="WORD",
                        help="a results folder, if the first word is one (default: results/latest "
                             "beside ./tenter); the other words are names of figures")
    words = parser.parse(argv).words
    folder = ROOT / "results" / "latest"
    if words and (Path(words[0]).is_dir() or "/" in words[0]):
        folder = Path(words.pop(0))
    if not (folder / "rows.jsonl").exists():
        raise Stop(f"{folder} holds no rows.jsonl: name a results folder, or ./tenter run first")
    if not words:
        print(make(folder, recorded_command(folder)))
        return GOOD
    table = tidy.export(folder)
    programs = programs_of(tidy.load(folder))
    try:
        names = [figures.resolve(word, programs) for word in words]
    except KeyError as error:
        raise Stop(str(error.args[0])) from error
    code = GOOD
    for drawn in figures.draw_all(names, programs, table):
        if drawn.problem is None:
            print(folder / "figures" / f"{drawn.name}.png")
        else:
            print(f"{drawn.name}: {drawn.problem}")
            code = INCOMPLETE
    return code
