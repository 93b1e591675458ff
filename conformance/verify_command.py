"""``phalanx verify``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from phalanx.cli.options import NamedPath
from phalanx.cli.output import console, emit, fail, json_option, noise_to_stderr
from rich.markup import escape

if TYPE_CHECKING:
    from .description import Description
    from .outcome import Outcome

UNREADABLE, UNUSABLE, STOPPED_BY_USER = 2, 3, 130
#: Classes of kernels that give the same bits, and so the same errors, in every run.
_REPEATABLE = ("bitwise", "reproducible")

_EPILOG = """\b
Examples:
  phalanx verify opencl.json                 digest, versions, device, 50 cases run again
  phalanx verify opencl.json --sample 500
  phalanx verify opencl.json --sample 0      run nothing
  phalanx verify opencl.json --device opencl:1
  phalanx verify acme.json --trust trusted-keys      who vouches for it
  phalanx verify acme.json --issuer https://token.actions.githubusercontent.com
      --identity https://github.com/acme/plugin/.github/workflows/ci.yml@refs/heads/main

\b
Exit code: 0 it holds, 1 it does not (another device, another version, another result, nobody of
the trusted vouches), 2 the file is unreadable, cut off or was changed, 3 the device is not usable.
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=NamedPath(path_type=Path))
@click.option("--device", "-d", metavar="NAME", help="Default: the one that it names.")
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    metavar="N",
    help="How many cases, chosen at random, are run again.",
)
@click.option(
    "--trust",
    type=NamedPath(path_type=Path),
    multiple=True,
    metavar="KEYS",
    help="Only if one of these keys signed it: a file of lines NAME ed25519:BASE64; repeatable.",
)
@click.option(
    "--identity",
    metavar="ID",
    help="Only if this identity signed it through Sigstore: the address of a workflow, or of mail; "
    "the bundle is FILE.sigstore.json.",
)
@click.option("--issuer", metavar="URL", help="With --identity: who vouches for the identity.")
@click.option(
    "--sigstore-config",
    type=NamedPath(path_type=Path),
    metavar="CONFIG",
    help="With --identity: the client trust configuration of an instance of one's own.",
)
@click.option(
    "--offline",
    is_flag=True,
    help="With --identity: fetch no roots of trust; those of an earlier time do.",
)
@json_option
def verify(
    file: Path,
    device: str | None,
    sample: int,
    trust: tuple[Path, ...],
    identity: str | None,
    issuer: str | None,
    sigstore_config: Path | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Check a certificate: signature, device, coverage, and a random sample of its cases."""
    from .certificate import CertificateError, differences, read, voucher
    from .claim import doubts
    from .command import device_name, need_extra
    from .description import describe
    from .keyless import bundle_of

    need_extra()
    if (identity is None) != (issuer is None):
        fail("--identity and --issuer belong together: give both", UNREADABLE)
    if identity is None and (sigstore_config is not None or offline):
        fail("--sigstore-config and --offline belong to --identity: give it, too", UNREADABLE)
    if identity is not None:
        _need_sigstore()
    trusted = _trusted(trust)
    try:
        content = read(file)
    except CertificateError as error:
        _tell(as_json, str(file), {}, [str(error)])
        raise SystemExit(UNREADABLE) from None
    vouched, doubt = voucher(content, trusted)
    if identity is not None and issuer is not None and not doubt:
        signed_by = f"signed by {identity} ({issuer}), through Sigstore"
        doubt = _doubt_of_bundle(file, content, identity, issuer, sigstore_config, offline)
        vouched = signed_by if trusted is None else f"{vouched}; {signed_by}"
    elif identity is None and bundle_of(file).exists():
        vouched += f"; {bundle_of(file)} is beside it: --identity and --issuer check that"
    if doubt:
        _tell(as_json, str(file), content, [doubt], vouched=vouched)
        raise SystemExit(1)
    name = content["device"] if device is None else device_name(device)
    description = describe(name)
    if not description.usable:
        fail(description.chain, UNUSABLE)
    problems = differences(content, description) or doubts(content, description)
    ran = 0
    if not problems and sample:
        outcomes = _run_again(content, description, sample, quiet=as_json)
        ran = len(outcomes)
        problems += _compare(content, outcomes)
    _tell(as_json, str(file), content, problems, ran, vouched)
    raise SystemExit(1 if problems else 0)


def _need_sigstore() -> None:
    from . import keyless
    from .signing import SigningError

    try:
        keyless.need_extra()
    except SigningError as error:
        fail(str(error), UNREADABLE)


def _doubt_of_bundle(
    file: Path,
    content: dict[str, Any],
    identity: str,
    issuer: str,
    instance: Path | None,
    offline: bool,
) -> str:
    """Return why the bundle beside a certificate does not do; empty if it does."""
    from .keyless import bundle_of, check
    from .plain_json import parse, read_bounded
    from .signing import SigningError

    try:
        data = read_bounded(file)
        if parse(data) != content:
            return f"{file} was changed while it was read"
        check(data, bundle_of(file), identity, issuer, instance, offline=offline)
    except (SigningError, OSError, ValueError) as error:
        return str(error)
    return ""


def _trusted(paths: tuple[Path, ...]) -> dict[str, str] | None:
    """Return the trusted keys, ``None`` if nobody asks; ends the command if they are no keys."""
    if not paths:
        return None
    from .signing import SigningError, read_trusted

    try:
        return read_trusted(paths)
    except SigningError as error:
        fail(str(error), UNREADABLE)


def _run_again(
    content: dict[str, Any], description: Description, sample: int, *, quiet: bool
) -> list[Outcome]:
    """Run a sample of the cases with the certificate's seed; ends the command if not all can."""
    from .progress import Progress
    from .run import INTERRUPTED, run_suite
    from .settings import Level, Settings

    names = sorted(content["cases"])
    chosen = random.SystemRandom().sample(names, min(sample, len(names)))
    settings = Settings(
        description.device,
        Level.BITWISE,
        content["quick"],
        cases=tuple(chosen),
        seed=content["seed"],
    )
    with noise_to_stderr(), Progress(settings, visible=not quiet) as bar:
        results = run_suite(settings, description, workers=1, observe=bar.seen, total=bar.total)
    if results.partial == INTERRUPTED:
        fail("interrupted: not all cases of the sample were run again", STOPPED_BY_USER)
    if results.partial:
        fail(f"not all cases of the sample could be run again: {results.partial}", UNUSABLE)
    return results.outcomes


def _compare(content: dict[str, Any], outcomes: list[Outcome]) -> list[str]:
    from .certificate import finite

    problems = []
    for outcome in outcomes:
        verdict, worst, determinism = content["cases"][outcome.case]
        if outcome.verdict.value != verdict:
            problems.append(
                f"{outcome.case}: {outcome.verdict.value}, and the certificate says {verdict}"
            )
        elif outcome.waiver and outcome.case not in content["waivers_needed"]:
            problems.append(f"{outcome.case}: it needs a waiver, and the certificate names none")
        elif outcome.determinism != determinism:
            problems.append(
                f"{outcome.case}: the kernel's class is {outcome.determinism or 'none'}, and the "
                f"certificate says {determinism or 'none'}"
            )
        elif determinism in _REPEATABLE and finite(outcome.worst) != worst:
            problems.append(
                f"{outcome.case}: the worst error is {outcome.worst!r}, and the certificate says "
                f"{worst!r}, though the kernel's class is {determinism}"
            )
    return problems


def _tell(
    as_json: bool,
    file: str,
    content: dict[str, Any],
    problems: list[str],
    ran: int = 0,
    vouched: str = "",
) -> None:
    if as_json:
        emit(
            {
                "file": file,
                "holds": not problems,
                "problems": problems,
                "headline": content.get("headline", ""),
                "level": content.get("level", ""),
                "profile": content.get("profile", ""),
                "signature": vouched,
                "device": content.get("device", ""),
                "cases_run_again": ran,
            }
        )
        return
    out = console()
    for problem in problems:
        out.print(f"[bold red]no[/] {escape(_visible(problem))}", soft_wrap=True)
    if not problems:
        out.print(
            f"[green]ok[/] {escape(_visible(file))} holds ({len(content['cases'])} cases, {ran} "
            f"run again): {escape(content['headline'])}\n   {escape(_visible(vouched))}",
            soft_wrap=True,
        )


def _visible(text: str) -> str:
    """Return a text that a stranger may have written without what would steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
