"""The command ``python -m accuracy``: a table, and a figure of the largest errors."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from .measure import Errors, measure

#: Where errors are drawn that are larger, or infinite.
_BEYOND = 500.0
Rows = dict[str, dict[str, Errors]]
_BEGIN, _END = "<!-- accuracy: begin -->\n", "<!-- accuracy: end -->\n"


@click.command()
@click.option("--device", default="cpu:0", show_default=True, help="Phalanx's device.")
@click.option("--count", default=2**20, show_default=True, help="Operands of each function.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("out/accuracy.svg"),
    show_default=True,
    help="Where to draw the figure.",
)
@click.option(
    "--write",
    "page",
    type=click.Path(exists=True, path_type=Path),
    help="Put the table between the marks of this page.",
)
def accuracy(device: str, count: int, plot: Path, page: Path | None) -> None:
    """Compare errors of float32 functions with those of NumPy, PyTorch and JAX.

    The last two take part if they are installed. All get the same operands.
    """
    rows = measure(device, count)
    table = markdown(rows)
    Console(soft_wrap=True).print(table, highlight=False, markup=False)
    plot.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, plot)
    if page is not None:
        write(page, table)
    print(f"figure: {plot}")


def markdown(rows: Rows) -> str:
    """Return a table of largest errors in ulp and shares of results not rounded correctly."""
    names = list(next(iter(rows.values())))
    lines = ["| function | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for function, cells in rows.items():
        shown = [f"{_ulp(e.worst)}, {_share(e.wrong)}" for e in cells.values()]
        lines.append(f"| {function} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def _ulp(error: float) -> str:
    return f"{error:.3f}" if error < 10 else f"{error:.3g}"


def _share(wrong: float) -> str:
    if not wrong:
        return "none"
    return f"{wrong:.1%}" if wrong >= 0.0005 else "< 0.05%"


def write(page: Path, table: str) -> None:
    """Put the table between the marks of a page.

    Raises:
        ValueError: the page has no marks.
    """
    before, begin, rest = page.read_text("utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {_BEGIN.strip()} and {_END.strip()}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", "utf-8")


def draw(rows: Rows, path: Path) -> None:
    """Draw the largest error of each function and library, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "phalanx", "svg.fonttype": "none"}
    import matplotlib.pyplot as plt

    functions, names = list(rows), list(next(iter(rows.values())))
    figure, axes = plt.subplots(figsize=(7.5, 6.6), layout="constrained")
    axes.axvline(0.5, color="0.45", linewidth=1, zorder=1)
    marks = zip(names, "os^D", ("#0b5fa5", "#d1701b", "#b3261e", "#4d7f3a"), strict=False)
    for name, mark, color in marks:
        x = [min(rows[f][name].worst, _BEYOND) for f in functions]
        axes.plot(x, range(len(functions)), mark, color=color, label=name, alpha=0.85, zorder=2)
    axes.set(xscale="log", xlim=(0.4, 1.6 * _BEYOND))
    axes.set_xlabel("largest error, in units of the last place; 0.5 is correctly rounded")
    ticks = {0.5: "0.5", 1: "1", 2: "2", 5: "5", 10: "10", 100: "100", _BEYOND: "beyond"}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_yticks(range(len(functions)), functions)
    axes.set_ylim(len(functions) - 0.4, -0.6)
    axes.grid(axis="y", alpha=0.25)
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
    plt.close(figure)
