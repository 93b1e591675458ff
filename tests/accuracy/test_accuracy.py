"""The comparison of float32 functions: it finds an error that is there, and none that is not."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from accuracy.command import draw, markdown, write
from accuracy.measure import DOMAINS, Errors, errors, exact, measure, operands


@pytest.mark.parametrize("function", DOMAINS)
def test_operands_are_where_the_function_is_defined(function: str) -> None:
    x = operands(function, 4096)
    low, high = DOMAINS[function]
    assert np.abs(x).max() <= np.float32(high)
    assert (x.min() < 0) == (low < 0)
    assert np.isfinite(exact(function, x)).all()
    assert len(np.unique(x)) > 3900


def test_one_wrong_result_is_found() -> None:
    x = operands("exp", 1000)
    want = exact("exp", x)
    got = want.astype(np.float32)
    right = errors(got, want, x)
    assert right.worst <= 0.5
    assert right.wrong == 0.0
    place = int(np.argmin(np.abs(x - 1)))
    got[place] = np.nextafter(np.nextafter(got[place], np.float32(9)), np.float32(9))
    found = errors(got, want, x)
    assert 1.5 < found.worst < 2.5
    assert found.at == x[place]
    assert found.wrong == pytest.approx(0.001, rel=0.2)
    got[place] = np.nan
    assert errors(got, want, x).worst == np.inf


@pytest.mark.needs_cpu
def test_a_run_is_a_table_and_a_figure(tmp_path: Path) -> None:
    rows = measure("cpu:0", 512)
    ours = [next(iter(cells.items())) for cells in rows.values()]
    assert all(name.startswith("Phalanx") and e.worst <= 0.501 for name, e in ours)
    table = markdown(rows)
    assert table.count("\n") == len(DOMAINS) + 2
    draw(rows, tmp_path / "a.svg")
    texts = {t.text for t in ElementTree.parse(tmp_path / "a.svg").iter() if t.text}
    assert texts >= {"tanh", "beyond"}
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- accuracy: begin -->\nold\n<!-- accuracy: end -->\nb\n")
    write(page, table)
    assert table in page.read_text()
    assert "old" not in page.read_text()
    with pytest.raises(ValueError, match="has no lines <!-- accuracy: begin -->"):
        write(tmp_path / "a.svg", table)


def test_shares_in_words() -> None:
    cells = {"A": Errors(0.5, 1.0, 0.0), "B": Errors(123.4, 1.0, 1e-5), "C": Errors(0.7, 1.0, 0.2)}
    assert (
        markdown({"f": cells}).splitlines()[2]
        == "| f | 0.500, none | 123, < 0.05% | 0.700, 20.0% |"
    )
