"""The group of commands: our own, imported when called, and those of other packages."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module, metadata
from typing import Any

import click
from phalanx.discovery.guard import describe, guard
from phalanx.discovery.plugins import entry_points

from .output import plain_errors

GROUP = "phalanx.commands"
_OWN = {
    "abi-check": ("abi_check", "abi_check", "Check a plugin's shared library against the C ABI."),
    "devices": ("devices", "devices", "List the devices of all plugins."),
    "docs": ("docs", "docs", "List and show the pages of the documentation."),
    "doctor": ("doctor", "doctor", "Check the installation and every device."),
    "kernels": ("kernels", "kernels", "List a device's kernels, or show their text."),
    "new-plugin": ("new_plugin", "new_plugin", "Write the package of a new driver."),
    "ops": ("ops", "ops", "Show how a device serves each op."),
    "warm": ("warm", "warm", "Compile a device's kernels ahead of their first use."),
    "why": ("why", "why", "Explain why a device is usable or not."),
}

_EPILOG = """\b
Examples:
  phalanx devices                 what is there
  phalanx why gpu:0               why a device is usable or not
  phalanx doctor --level short    compute on every device
  phalanx warm --device gpu:0     compile kernels before they are needed
  phalanx kernels --op exp        class and bound; --source shows the text
  phalanx ops --device cpu:0      native, decomposed, fallback, unsupported
  phalanx new-plugin acme --c     a package for a new device, in C
  phalanx docs a-vendors-day      the pages, without a network
  phalanx devices --json          for programs; every command has it
"""


class Commands(click.Group):
    """A group that also knows the commands of entry-point group ``phalanx.commands``.

    A command of another package that does not import is shown with the reason and harms no other.
    """

    @plain_errors
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; errors of ours outside of it are those of environment variables."""
        return super().main(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return sorted({*_OWN, *(entry.name for entry in entry_points(GROUP))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        del ctx
        if cmd_name in _OWN:
            module, attribute, _ = _OWN[cmd_name]
            found = getattr(import_module(f".{module}", __package__), attribute)
            assert isinstance(found, click.Command)
            return found
        for entry in entry_points(GROUP):
            if entry.name == cmd_name:
                outcome = guard(entry.load, f"the import of command {cmd_name!r} ({entry.value})")
                if isinstance(outcome.value, click.Command):
                    return outcome.value
                origin = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
                reason = (
                    describe(outcome.error)
                    if outcome.error
                    else f"{entry.value} is no click command"
                )
                return _broken(cmd_name, origin, reason)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the arguments; an unknown one is answered with the nearest name."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing ours."""
        rows = []
        for name in self.list_commands(ctx):
            if name in _OWN:
                rows.append((name, _OWN[name][2]))
            elif (command := self.get_command(ctx, name)) is not None:
                rows.append((name, command.get_short_help_str(limit=60)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _broken(name: str, origin: str, reason: str) -> click.Command:
    message = f"command {name!r} of {origin} does not work: {reason}"

    def run(**_arguments: Any) -> None:
        raise click.ClickException(message)

    arguments = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name,
        callback=run,
        params=[arguments],
        help=f"(broken) {message}",
        short_help=f"(broken) {reason}",
        context_settings={"ignore_unknown_options": True},
    )


def version() -> str:
    """Return the installed version."""
    try:
        return metadata.version("phalanx")
    except metadata.PackageNotFoundError:
        return "unknown (not installed)"


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from phalanx.abi.structs import ABI_MAJOR, ABI_MINOR

        click.echo(f"phalanx {version()} (plugin ABI {ABI_MAJOR}.{ABI_MINOR})")
        ctx.exit()


@click.group(cls=Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version of phalanx and of its plugin ABI.",
)
def cli() -> None:
    """One array program, every device.

    Phalanx finds devices through plugins. These commands tell what was found, what works, and why
    something does not.
    """
