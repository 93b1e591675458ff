"""Run the tests of other libraries with Phalanx as their array library, and write the page.

python -m compatibility --suite scipy --device cpu:0
"""

from __future__ import annotations

from pathlib import Path

import click

from .page import page
from .running import idle_reasons, install, introduce, run, short
from .suites import SUITES

PACKAGES = tuple(dict.fromkeys(suite.package for suite in SUITES))


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--suite", "names", multiple=True, type=click.Choice(PACKAGES))
@click.option(
    "--device",
    "devices",
    multiple=True,
    default=["cpu:0", "opencl:1"],
    show_default=True,
    help="Where the arrays are; more than once for more.",
)
@click.option("--write", type=click.Path(path_type=Path), help="The page that is written.")
@click.argument("arguments", nargs=-1)
def main(
    names: tuple[str, ...], devices: tuple[str, ...], write: Path | None, arguments: tuple[str, ...]
) -> None:
    """Run the array API tests of other libraries; ARGUMENTS go to pytest.

    Installs the packages into this environment first, and changes files there.

    Exit code: 0 if every failure has a stated reason, else 1.
    """
    suites = [s for s in SUITES if not names or s.package in names]
    install(suites)
    for suite in suites:
        introduce(suite)
    outcomes = [run(suite, device, arguments) for suite in suites for device in devices]
    beside = [run(suite, "cpu:0", arguments, strict=True) for suite in suites if suite.beside]
    text = page(outcomes, beside)
    if write is None:
        click.echo(text)
    else:
        write.write_text(text, "utf-8")
    unexplained = [(o.device, short(test)) for o in outcomes for test in o.unexplained]
    for device, test in unexplained:
        click.echo(f"fails without a reason on {device}: {test}", err=True)
    for suite in suites:
        for why in idle_reasons([o for o in outcomes if o.suite is suite]):
            click.echo(f"{suite.package}: no test fails for the reason: {why}", err=True)
    raise SystemExit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
