"""``phalanx conformance``."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from phalanx.cli.options import NamedPath, Seconds
from phalanx.cli.output import fail, noise_to_stderr

from .settings import DEFAULT_SEED, GROUPS, VENDOR, Level, Settings, unknown

if TYPE_CHECKING:
    from .results import Results
    from .signing import Signer

USAGE, UNUSABLE, INTERRUPTED = 2, 3, 130
#: How many mutants are tried if nobody says.
_SAMPLE = "40"
_WRITABLE = NamedPath(dir_okay=False, path_type=Path)
_STDOUT = Path("-")

_EPILOG = """\b
Examples:
  phalanx conformance --device cpu:0 --quick         a minute; other devices compile first
  phalanx conformance -d acme:0 --html report.html --certificate acme.json
  phalanx conformance -d acme:0 --op exp --dtype float32
  phalanx conformance -d acme:0 --group runtime --group programs
  phalanx conformance --self-test --quick            does the suite catch faulty devices
  phalanx conformance --self-test --mutants 20 -d opencl:0       and kernels with a wrong line

\b
Levels: runtime, core (every kernel that the device has is right), array-api (it has all that the
standard needs), bitwise (the same bits as cpu:0). A device is certified for the highest level that
it passes whole; what a level requires cannot be declared as unsupported.

\b
Exit code: 0 all cases passed, 1 some failed, 2 wrong usage, 3 the device is not usable,
130 interrupted (the reports are written, and say that they are partial).
"""


def _level(_context: click.Context, _option: click.Parameter, value: str) -> Level:
    try:
        return Level.named(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog=_EPILOG)
@click.option("--device", "-d", metavar="NAME", help="Default: PHALANX_DEVICE, else cpu:0.")
@click.option(
    "--level",
    default="array-api",
    show_default=True,
    callback=_level,
    metavar="LEVEL",
    help="Run the cases up to this level.",
)
@click.option("--quick", is_flag=True, help="Fewer values and layouts, but every op.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help=f"Only this group; repeatable: {', '.join((*GROUPS, VENDOR))}.",
)
@click.option("--op", "ops", multiple=True, metavar="NAME", help="Only this op; repeatable.")
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="NAME", help="Only this dtype; repeatable."
)
@click.option("--case", "cases", multiple=True, metavar="NAME", help="Only this case; repeatable.")
@click.option(
    "--seed", type=int, default=DEFAULT_SEED, show_default=True, metavar="N", help="From 0 up."
)
@click.option(
    "--workers",
    "-n",
    type=click.IntRange(min=0),
    metavar="N",
    help="Worker processes. Default: 2 on a CPU with more than one core, else 1. 0: no workers, "
    "so that a crash or a hang ends the run.",
)
@click.option(
    "--timeout",
    type=Seconds(),
    metavar="SECONDS",
    help="Time limit of each case. Default: 300, or 60 with --quick.",
)
@click.option("--fail-fast", "-x", is_flag=True, help="Stop after the first failure.")
@click.option(
    "--json",
    "json_file",
    type=_WRITABLE,
    is_flag=False,
    flag_value=_STDOUT,
    help="Write all outcomes as JSON; alone or with '-', to stdout.",
)
@click.option("--junit-xml", type=_WRITABLE, help="Write a JUnit report.")
@click.option("--html", type=_WRITABLE, help="Write a report to look at: one page, no network.")
@click.option("--certificate", type=_WRITABLE, help="Write what the device is certified for.")
@click.option(
    "--sign",
    type=NamedPath(path_type=Path),
    metavar="KEYFILE",
    help="Sign the certificate with a key of `phalanx keygen`.",
)
@click.option(
    "--sigstore",
    is_flag=True,
    help="Sign the certificate as this CI job, through Sigstore: CERTIFICATE.sigstore.json.",
)
@click.option(
    "--sigstore-config",
    type=NamedPath(path_type=Path),
    metavar="FILE",
    help="With --sigstore: the client trust configuration of an instance of one's own.",
)
@click.option(
    "--self-test", is_flag=True, help="Run the suite against devices that lie: it must catch all."
)
@click.option(
    "--mutants",
    is_flag=False,
    flag_value=_SAMPLE,
    metavar="[N]",
    help="With --self-test: against kernels with one small change each, compiled by --device, or "
    f"for cpu:0: N of them ({_SAMPLE} if not said), 'all', 'survived' or 'tried' of the folder, or "
    "their names.",
)
@click.option(
    "--mutants-folder",
    type=NamedPath(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="With --mutants: keep the trials there; a further run goes on from them.",
)
@click.option(
    "--mutants-time",
    type=Seconds(),
    default=60.0,
    metavar="SECONDS",
    help="With --mutants: how long cases of a mutant are begun in each form of the suite (60).",
)
@click.option(
    "--mutants-of",
    multiple=True,
    metavar="PATTERN",
    help="With --mutants: only of these files, such as 'core/scalar/*'; repeatable.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="Run on the lying device of this name; with --self-test, only on these: repeatable.",
)
def conformance(
    device: str | None,
    level: Level,
    quick: bool,
    groups: tuple[str, ...],
    ops: tuple[str, ...],
    dtypes: tuple[str, ...],
    cases: tuple[str, ...],
    seed: int,
    workers: int | None,
    timeout: float | None,
    fail_fast: bool,
    json_file: Path | None,
    junit_xml: Path | None,
    html: Path | None,
    certificate: Path | None,
    sign: Path | None,
    sigstore: bool,
    sigstore_config: Path | None,
    self_test: bool,
    mutants: str | None,
    mutants_folder: Path | None,
    mutants_time: float,
    mutants_of: tuple[str, ...],
    faults: tuple[str, ...],
) -> None:
    """Prove that a device computes the right thing, or show where it does not."""
    need_extra()
    signer = _signer(sign, certificate)
    _check_sigstore(sigstore, sigstore_config, certificate)
    writers = _writers(json_file, junit_xml, html, certificate, signer)
    _check_writable([path for path, _ in writers])
    if (mutants_folder is not None or mutants_of) and mutants is None:
        fail("--mutants-folder and --mutants-of belong to --mutants: give it, too", USAGE)
    if mutants is not None and not self_test:
        fail("--mutants is a form of --self-test: give both", USAGE)
    if self_test:
        other = junit_xml or html or certificate
        if mutants is not None:
            if faults:
                fail("--mutants and --fault are two self-tests: give one of them", USAGE)
            if other:
                fail("--self-test writes no other report than --json", USAGE)
            from .mutants.report import run_and_show

            raise SystemExit(
                run_and_show(
                    mutants,
                    device,
                    quick=quick,
                    seed=seed,
                    json_file=json_file,
                    folder=mutants_folder,
                    of=mutants_of,
                    run_limit=mutants_time,
                )
            )
        _self_test(quick, seed, faults, json_file, other)
    if len(faults) > 1:
        fail("several --fault need --self-test: a run is on one device", USAGE)
    try:
        name = device_name(device, faults)
        settings = Settings(name, level, quick, groups, ops, dtypes, cases, seed, "".join(faults))
        if certificate and settings.narrowed:
            raise ValueError(
                "a certificate needs a whole run; drop --certificate, or --group, --op, --dtype "
                "and --case"
            )
        results = _run(settings, workers, timeout or 0.0, fail_fast, quiet=json_file == _STDOUT)
    except ValueError as error:
        fail(str(error), USAGE)
    except KeyboardInterrupt:
        fail("interrupted before the first case", INTERRUPTED)
    written = _write(results, writers)
    is_complete = len(written) == len(writers)
    if sigstore and certificate in written:
        bundle = _sign_with_sigstore(certificate, sigstore_config)
        written += bundle
        is_complete = is_complete and bool(bundle)
    if json_file != _STDOUT:
        from .report_text import show

        show(results, written)
    raise SystemExit(_exit_code(results, complete=is_complete))


def _signer(key: Path | None, certificate: Path | None) -> Signer | None:
    """Return who signs the certificate; found out before the run, as a key may be missing."""
    if key is None:
        return None
    if certificate is None:
        fail("--sign signs a certificate: give --certificate FILE, too", USAGE)
    from .signing import SigningError, read_key

    try:
        return read_key(key)
    except SigningError as error:
        fail(str(error), USAGE)


def _check_sigstore(wanted: bool, instance: Path | None, certificate: Path | None) -> None:
    """Find out before the run whether this job can sign."""
    if not wanted:
        if instance is not None:
            fail("--sigstore-config belongs to --sigstore: give it, too", USAGE)
        return
    if certificate is None:
        fail("--sigstore signs a certificate: give --certificate FILE, too", USAGE)
    from .keyless import token
    from .signing import SigningError

    try:
        token()
    except SigningError as error:
        fail(str(error), USAGE)


def _sign_with_sigstore(certificate: Path, instance: Path | None) -> list[Path]:
    """Sign what was written and return where the bundle is; none if that failed, which is told."""
    from .keyless import sign
    from .signing import SigningError

    try:
        return [sign(certificate, instance)]
    except SigningError as error:
        click.echo(f"Error: {error}", err=True)
    except OSError as error:
        click.echo(f"Error: the bundle was not written: {error.strerror or error}", err=True)
    return []


def _self_test(
    quick: bool, seed: int, names: tuple[str, ...], json_file: Path | None, other: object
) -> None:
    """Test the suite; exits."""
    if other:
        fail("--self-test writes no other report than --json", USAGE)
    from .selftest_report import run_and_show

    raise SystemExit(run_and_show(quick=quick, seed=seed, names=names, json_file=json_file))


def _exit_code(results: Results, *, complete: bool) -> int:
    from .run import INTERRUPTED as BY_USER

    if results.partial == BY_USER:
        return INTERRUPTED
    return 1 if results.failures or results.partial or not complete else 0


def need_extra() -> None:
    """Say what to install where the suite's own libraries are missing."""
    from importlib.util import find_spec

    names = ("pytest", "xdist", "hypothesis", "mpmath", "ml_dtypes", "jinja2")
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        fail(f"the suite needs {', '.join(missing)}; pip install 'phalanx[conformance]'", USAGE)


def device_name(device: str | None, faults: tuple[str, ...] = ()) -> str:
    """Return the device that a command is about; ends it if that is no name of one."""
    from phalanx.discovery import aliases
    from phalanx.errors import PhalanxError

    if faults:
        from .faults import FAULTS, NONE, UNUSUAL

        names = (NONE, *FAULTS, *UNUSUAL)
        if faults[0] not in names:
            raise ValueError(unknown("fault", faults[0], names))
        return "faulty:0"
    variable = os.environ.get("PHALANX_DEVICE", "cpu:0").strip()
    name = variable if device is None else device
    try:
        aliases.parse(name)
    except PhalanxError as error:
        fail(f"PHALANX_DEVICE={name!r}: {error}" if device is None else str(error), USAGE)
    return name


def _run(
    settings: Settings, workers: int | None, limit: float, fail_fast: bool, *, quiet: bool
) -> Results:
    from dataclasses import replace

    from .description import describe
    from .progress import Progress
    from .run import run_suite

    description = describe(settings.device, fault=settings.fault)
    if not description.usable:
        click.echo(description.chain, err=True)
        raise SystemExit(UNUSABLE)
    settings = replace(settings, device=description.device)
    if workers is None:
        workers = min(2, os.cpu_count() or 1) if description.identity["kind"] == "cpu" else 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what CI sends when time is up
    with noise_to_stderr(), Progress(settings, visible=not quiet) as bar:
        return run_suite(
            settings,
            description,
            workers=workers,
            limit=limit,
            fail_fast=fail_fast,
            observe=bar.seen,
            total=bar.total,
        )


_Writer = Callable[["Results", Path], None]


def _writers(
    json_file: Path | None,
    junit_xml: Path | None,
    html: Path | None,
    certificate: Path | None,
    signer: Signer | None = None,
) -> list[tuple[Path, _Writer]]:
    """Return the reports that were asked for; each is imported when it is written."""
    found: list[tuple[Path, _Writer]] = []
    for path, module in (
        (json_file, "report_json"),
        (junit_xml, "report_junit"),
        (html, "report_html"),
    ):
        if path is not None:
            found.append((path, _later(module)))
    if certificate is not None:
        found.append((certificate, _later("certificate", signer)))
    return found


def _later(module: str, *more: object) -> _Writer:
    def write(results: Results, path: Path) -> None:
        from importlib import import_module

        import_module(f"{__package__}.{module}").write(results, path, *more)

    return write


def _check_writable(paths: list[Path]) -> None:
    """Find out before the run whether its reports can be written, and that the disk has room."""
    taken: set[Path] = set()
    for path in paths:
        if path == _STDOUT:
            continue
        if path.resolve() in taken and not path.is_char_device():
            fail(f"{path} is asked for twice; two reports need two places", USAGE)
        taken.add(path.resolve())
        try:
            _probe(path)
        except OSError as error:
            fail(
                f"{path} cannot be written ({error.strerror or error}); choose another place",
                USAGE,
            )


#: Bytes that a report may need.
_ROOM = 8 << 20


def _probe(path: Path) -> None:
    """Raise ``OSError`` if a report has no place at a path; an older one there stays as it is."""
    if path.is_char_device():
        with path.open("wb", buffering=0) as file:
            file.write(b"\n")
    if path.exists() and not path.is_file():
        return
    if path.exists():
        path.open("ab").close()
    probe = path.with_name(f".{path.name}.probe")
    try:
        with probe.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _ROOM)
    finally:
        probe.unlink(missing_ok=True)


def _write(results: Results, writers: list[tuple[Path, _Writer]]) -> list[Path]:
    """Write the reports and return where; one that fails keeps no other from being written."""
    from .certificate import CertificateError

    written = []
    for path, write in writers:
        try:
            write(results, path)
            written.append(path)
        except CertificateError as error:
            click.echo(f"no certificate written: {error}", err=True)
        except OSError as error:
            click.echo(f"Error: {path} was not written: {error.strerror or error}", err=True)
    return written
