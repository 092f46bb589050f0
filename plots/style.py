# SPDX-License-Identifier: MIT
"""The look of every figure: colours, markers, sizes, units, footer, and how a figure is saved."""
from __future__ import annotations

import math
import sys
import textwrap
from pathlib import Path
from typing import Any, Callable, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import pandas as pd  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from experiments.runner import tidy  # noqa: E402

COLUMN, PAGE = 3.33, 7.0
LINE = 0.105  # height of a line of notes, in inches
NO_DATA = 3   # exit code of a figure that found nothing to draw

# Okabe and Ito's colours; peers that are not of this project are black and greys.
COLOURS = {
    "fifo": "#0072B2", "lifo": "#D55E00", "hybrid": "#009E73", "sharded": "#CC79A7",
    "staged": "#E69F00", "multiq": "#56B4E9", "skeleton": "#B8A800", "queueless": "#8C4A6B",
    "coloured": "#005A43", "pushing": "#4B2E83", "yields": "#7A5C00", "pthread": "#000000", "boost": "#6E6E6E", "go": "#A6A6A6",
}
MARKERS = {
    "fifo": "o", "lifo": "s", "hybrid": "^", "sharded": "D", "staged": "v", "multiq": "P",
    "skeleton": "X", "queueless": "<", "coloured": ">", "pushing": "d", "yields": "H", "pthread": "*", "boost": "h", "go": "p",
}
ORDER = list(COLOURS)
# Series that are no schedulers, each family in figures of its own: ways to yield, what idle workers
# do, clocks, pollers.
OTHERS = {
    "top": ("#000000", "X"), "pop": ("#CC79A7", "v"), "swap": ("#E69F00", "^"),
    "tail": ("#56B4E9", "D"), "global": ("#009E73", "o"), "soft": ("#0072B2", "P"),
    "block": ("#0072B2", "o"), "spin": ("#D55E00", "s"), "spin-block": ("#009E73", "^"),
    "none": ("#7F7F7F", "X"), "tsc": ("#009E73", "^"), "vdso": ("#0072B2", "o"),
    "syscall": ("#D55E00", "s"),
    "heap": ("#0072B2", "o"), "wheel": ("#D55E00", "s"),
    "next": ("#0072B2", "o"), "utility": ("#D55E00", "s"), "lock": ("#009E73", "^"),
    "transient": ("#0072B2", "o"), "sticky": ("#D55E00", "s"), "home": ("#009E73", "^"), "waker": ("#CC79A7", "D"),
    "blocking": ("#000000", "X"),
    "pooled": ("#0072B2", "o"), "mmap": ("#D55E00", "s"), "malloc": ("#009E73", "^"),
    "fibre": ("#0072B2", "o"), "loop": ("#D55E00", "s"), "loop-sleep": ("#E69F00", "^"), "opportunistic": ("#CC79A7", "D"),
    "timeout-1ms": ("#009E73", "P"), "timeout-10ms": ("#56B4E9", "v"), "events": ("#000000", "X"), "memcached": ("#7F7F7F", "*"),
    # servers, and what a web server's or a cache's runtime has changed
    "worker": ("#4B2E83", "H"), "thread": ("#009E73", "P"), "uring": ("#B8A800", "<"),
    "fibres": ("#0072B2", "o"), "loops": ("#D55E00", "s"), "barest": ("#CC79A7", "D"), "nginx": ("#009E73", "^"),
    "as": ("#0072B2", "o"), "pinned": ("#D55E00", "s"), "no": ("#009E73", "^"), "baton": ("#CC79A7", "D"),
    "at": ("#0072B2", "o"),
    "split": ("#CC79A7", "D"), "asm": ("#0072B2", "o"), "ucontext": ("#D55E00", "s"),
    # Structures of core/queues (`sharded` is the module's), then libck's and liburcu's.
    "mpmc-ring": ("#0072B2", "o"), "mpmc-fad": ("#D55E00", "s"), "mpmc-cas": ("#009E73", "^"), "locked": ("#E69F00", "v"),
    "locked-lifo": ("#E69F00", "X"), "two-lock": ("#56B4E9", "P"), "treiber": ("#4B2E83", "d"), "multiqueue": ("#7A5C00", "H"),
    "ck-ring": ("#000000", "*"), "ck-stack": ("#000000", "<"), "urcu-wfs": ("#7F7F7F", "p"),
}
ALIASES = {"boost.fiber": "boost", "Go": "go", "pthreads": "pthread", "threads": "pthread"}
NAMES = {"pthread": "pthreads", "boost": "Boost.Fiber", "go": "Go"}
SPARE_COLOURS = ["#F0E442", "#7A5C00", "#4B2E83", "#7F7F00"]
SPARE_MARKERS = ["d", "8", "H", ">"]
DASHES = ["-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1))]

RC = {
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "font.family": "DejaVu Sans",
    "font.size": 7.5, "axes.labelsize": 7.5, "axes.titlesize": 8, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "legend.fontsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2,
    "lines.markersize": 4.2, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#DDDDDD", "grid.linewidth": 0.5, "axes.axisbelow": True,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "legend.frameon": False,
}


def base(series: str) -> str:
    """`fifo` of `fifo:layout=global, spawners 4`: what the colour stands for."""
    name = series.split(",")[0].split(":")[0].split(" ")[0]
    return ALIASES.get(name, name)


def rank(series: str) -> tuple[int, str]:
    name = base(series)
    return (ORDER.index(name) if name in ORDER else len(ORDER), series)


def _spare(name: str) -> int:
    return sum(name.encode()) % len(SPARE_COLOURS)


def colour(series: str) -> str:
    name = base(series)
    return COLOURS.get(name) or (OTHERS[name][0] if name in OTHERS else SPARE_COLOURS[_spare(name)])


def marker(series: str) -> str:
    name = base(series)
    return MARKERS.get(name) or (OTHERS[name][1] if name in OTHERS else SPARE_MARKERS[_spare(name)])


def title_of(series: str) -> str:
    first = series.split(",")[0].split(":")[0].split(" ")[0]
    return NAMES.get(base(series), first) + series[len(first):]


# -- numbers and axes -----------------------------------------------------------------------------

def _scaled(value: float, steps: Sequence[tuple[float, str]]) -> str:
    if value == 0:
        return "0"
    for size, name in steps:
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{name}"
    size, name = steps[-1]
    return f"{value / size:.3g}{name}"


def nanoseconds(value: float, _pos: Any = None) -> str:
    return _scaled(value, [(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1, " ns")])


def seconds(value: float, _pos: Any = None) -> str:
    return nanoseconds(value * 1e9)


def count(value: float, _pos: Any = None) -> str:
    return _scaled(value, [(1e9, " G"), (1e6, " M"), (1e3, " k"), (1, "")])


def number_of_bytes(value: float, _pos: Any = None) -> str:
    return f"{value:g}" if value < 10_000 else count(value)


FORMATS: dict[str, Callable[..., str]] = {"ns": nanoseconds, "s": seconds, "1/s": count,
                                          "1": count, "B": number_of_bytes}


def log_ticks(low: float, high: float) -> list[float]:
    """Readable ticks also where a log axis spans less than a decade."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for subs in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [s * 10.0 ** e for e in range(first, last + 1) for s in subs]
        ticks = [t for t in ticks if low <= t <= high]
        if len(ticks) >= 3:
            return ticks[::math.ceil(len(ticks) / 6)]
    return [float(t) for t in MaxNLocator(4).tick_values(low, high) if low <= t <= high]


def _apart(ticks: Sequence[float], least: float) -> list[float]:
    """Those that are by that factor from the one before, so that their labels stand clear of each other."""
    out: list[float] = []
    for tick in ticks:
        if not out or tick >= out[-1] * least:
            out.append(tick)
    return out


def log_axis(axis: Any, low: float, high: float, unit: str, pad: float = 1.18) -> None:
    """Make `axis` (ax.xaxis or ax.yaxis) logarithmic over what was drawn."""
    low, high = low / pad, high * pad
    ax, name = axis.axes, axis.axis_name
    getattr(ax, f"set_{name}scale")("log")
    getattr(ax, f"set_{name}lim")(low, high)
    ticks = log_ticks(low, high)
    axis.set_major_locator(FixedLocator(_apart(ticks, (high / low) ** 0.17) if name == "x" else ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(FORMATS.get(unit, count)))


def x_ticks(ax: Axes, values: Sequence[float]) -> None:
    xs = sorted(set(values))
    if 0 < len(xs) <= 8:
        ax.xaxis.set_major_locator(FixedLocator(xs))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _p: f"{v:g}"))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    span = (xs[-1] - xs[0]) or 1.0
    pad = 0.12 if len(xs) <= 4 else 0.06
    ax.set_xlim(xs[0] - pad * span, xs[-1] + pad * span)


# -- the page -------------------------------------------------------------------------------------

def wrap(notes: Sequence[str], width: float) -> list[str]:
    letters = int(width * 24.5)
    return [line for note in notes for line in textwrap.wrap(note, letters)]


def page(panels: int, width: float, notes: Sequence[str], legend_rows: int = 1, rows: int = 1,
         height: float = 1.75, titles: bool = False,
         left: float = 0.62) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` axes in `rows` rows, with exact room for legend, notes and footer."""
    plt.rcParams.update(RC)
    lines = wrap(notes, width)
    top = 0.08 + 0.17 * legend_rows + (0.17 if titles else 0.0)
    bottom = 0.42 + LINE * (len(lines) + footer_lines(width)) + 0.08
    gap = 0.7 if titles else 0.45
    total = top + rows * height + (rows - 1) * gap + bottom
    fig = plt.figure(figsize=(width, total))
    columns = math.ceil(panels / rows)
    right, between = 0.08, left + 0.06
    axes = []
    for index in range(panels):
        row, column = divmod(index, columns)
        here = min(columns, panels - row * columns)         # fewer, wider ones in the last row
        wide = (width - left - right - (here - 1) * between) / here
        y = total - top - height - row * (height + gap)
        axes.append(fig.add_axes(((left + column * (wide + between)) / width, y / total,
                                  wide / width, height / total)))
    for number, line in enumerate(lines):
        y = LINE * (footer_lines(width) + len(lines) - number) + 0.04
        fig.text(0.06 / width, y / total, line, fontsize=5.6, color="#333333", va="top")
    return fig, axes


def legend_rows(labels: Sequence[str], width: float) -> tuple[int, int]:
    """(rows, columns) of a legend above the axes."""
    longest = max((len(x) for x in labels), default=1)
    columns = max(1, min(len(labels), int((width - 0.2) / (0.42 + 0.062 * longest))))
    return math.ceil(len(labels) / columns), columns


def legend(fig: Figure, handles: Sequence[Any], labels: Sequence[str], width: float) -> None:
    _rows, columns = legend_rows(labels, width)
    fig.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 1.0), ncol=columns,
               borderaxespad=0.25, handlelength=1.9, columnspacing=1.2, handletextpad=0.5,
               labelspacing=0.3)


def footer_lines(width: float) -> int:
    return 2 if width < 5 else 1


def footer_text(prov: dict[str, Any]) -> list[str]:
    commit = str(prov.get("commit") or "unknown")[:12] + (" + changes" if prov.get("dirty") else "")
    version = f", version {prov['version']}" if prov.get("version") else ""
    machine = str(prov.get("machine") or "machine unknown")
    cores = f", {prov['cores']} cores" if prov.get("cores") else ""
    quick = f", {prov['quick']}" if prov.get("quick") else ""
    return [f"matrix {prov.get('matrix') or 'unknown'}{quick}, commit {commit}{version}",
            f"{machine}{cores}, {prov.get('date') or 'date unknown'}"]


def footer(fig: Figure, prov: dict[str, Any]) -> None:
    width, height = fig.get_size_inches()
    text = footer_text(prov)
    lines = text if width < 5 else [" · ".join(text)]
    for number, line in enumerate(lines):
        letters = int(width * 26)
        line = line if len(line) <= letters else line[:letters - 1] + "…"
        fig.text(0.06 / width, (LINE * (len(lines) - number) + 0.01) / height, line, fontsize=5,
                 color="#777777", va="top")


TABLE = ["figure", "panel", "series", "x_name", "x", "metric", "unit", "median", "low", "high",
         "n", "flag", "oversubscribed", "note"]


def save_table(table: pd.DataFrame, out: Path, name: str, notes: Sequence[str],
               extra: Sequence[str] = ()) -> Path:
    """<figure>.table.csv: what was drawn; the notes stand in the last column of the first row."""
    out.mkdir(parents=True, exist_ok=True)
    table = table.reindex(columns=[*TABLE[:-1], *extra, "note"]).assign(figure=name, note="")
    table.loc[table.index[:1], "note"] = " ".join(notes)
    path = out / f"{name}.table.csv"
    table.to_csv(path, index=False)
    return path


def save(fig: Figure, out: Path, name: str) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    fixed = {"CreationDate": None, "Producer": None, "Creator": "Tenter"}
    fig.savefig(out / f"{name}.pdf", metadata=fixed)
    fig.savefig(out / f"{name}.png", dpi=200, metadata={"Software": "Tenter"})
    plt.close(fig)
    return [out / f"{name}.pdf", out / f"{name}.png"]


class NoData(Exception):
    """There is nothing to draw; the message says what is missing."""


def script(name: str, draw: Callable[[Path, Path], None], argv: Sequence[str]) -> int:
    """Body of a figure script: one argument, a tidy.csv (or the folder that holds one).

    The figure goes to `figures/` beside the table."""
    if len(argv) != 2 or argv[1].startswith("-"):
        print(f"usage: {name}.py TIDY_CSV   (writes figures/{name}.pdf, .png and .table.csv "
              "beside it)", file=sys.stderr)
        return 0 if len(argv) == 2 and argv[1] in ("-h", "--help") else 2
    path = Path(argv[1])
    out = (path if path.is_dir() else path.parent) / "figures"
    try:
        draw(path, out)
    except NoData as reason:
        print(f"{name}: no data: {reason}", file=sys.stderr)
        return NO_DATA
    except tidy.TidyError as reason:
        print(f"{name}: {reason}", file=sys.stderr)
        return 2
    print(out / f"{name}.png")
    return 0
