"""Several arrays in a file of NumPy's format ``.npz``: a zip archive of ``.npy`` files."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from types import TracebackType

from phalanx._warm import Array, Device

from .npy import need_numpy_dtype, read, write
from .whole import Whole
from .writing import File, need_arrays, replacing

_SUFFIX = ".npy"
#: Bytes of a name in a zip archive: its length is a number of 16 bits.
_LONGEST = 0xFFFF


def savez(file: File, /, *arrays: Array, **named: Array) -> None:
    """Save arrays to a file of NumPy's format ``.npz``, by name or as ``arr_0``, ``arr_1``, ...

    As for ``save`` the suffix is appended, and an older file replaced in one step.

    Raises:
        TypeError: what is no array, or is of bfloat16.
        ValueError: an array is named as one without a name would be, or as no zip archive can name
            it.
        OSError: what the system says of the file.

    Examples:
        >>> px.savez("run.npz", px.arange(3), loss=px.asarray([0.5, 0.25]))
        >>> with px.load("run.npz") as found:
        ...     print(found.files, found["loss"])
        ['loss', 'arr_0'] [0.5  0.25]
    """
    _save("savez", file, arrays, named, zipfile.ZIP_STORED)


def savez_compressed(file: File, /, *arrays: Array, **named: Array) -> None:
    """Save arrays as ``savez`` does, compressed by zlib's deflate.

    Raises:
        TypeError, ValueError, OSError: as for ``savez``.

    Examples:
        >>> px.savez_compressed("zeros.npz", zeros=px.zeros((100, 100)))
        >>> px.load("zeros.npz")["zeros"].shape
        (100, 100)
    """
    _save("savez_compressed", file, arrays, named, zipfile.ZIP_DEFLATED)


def _save(
    op: str, file: File, arrays: tuple[Array, ...], named: dict[str, Array], method: int
) -> None:
    whole = dict(named)
    for i, x in enumerate(arrays):
        if f"arr_{i}" in named:
            raise ValueError(f"{op}: arr_{i} is the name of operand {i} without one, too")
        whole[f"arr_{i}"] = x
    need_arrays(whole, op)
    need_numpy_dtype(whole, op)
    for name in whole:
        _need_name(name, op)
    with (
        replacing(file, op, ".npz") as handle,
        zipfile.ZipFile(handle, "w", method) as archive,
    ):
        for name, x in whole.items():
            # sizes are written before they are known
            with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
                write(member, x)


def _need_name(name: str, op: str) -> None:
    """Raise ValueError before anything is written if a zip archive cannot have the name."""
    if "\0" in name:
        raise ValueError(f"{op}: {name!r} has a NUL, at which zip archives end a name")
    try:
        size = len((name + _SUFFIX).encode())
    except UnicodeEncodeError as error:
        raise ValueError(f"{op}: {name!r} is no name for UTF-8: {error.reason}") from error
    if size > _LONGEST:
        raise ValueError(
            f"{op}: the name {name[:20]!r}... is of {size} bytes; zip archives have {_LONGEST} at "
            "most"
        )


class Archive(Mapping[str, Array]):
    """The arrays of an ``.npz`` file by name; each is read when it is asked for.

    ``with`` or ``close`` closes the file. Safe from several threads.
    """

    def __init__(self, file: File, name: str, device: Device) -> None:
        """Open the file. The device is where the arrays come to lie."""
        self._name = name
        self._device = device
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
            raise ValueError(f"load: {name} is no sound .npz file: {error}") from error
        members = self._archive.namelist()
        self._members = {n.removesuffix(_SUFFIX): n for n in members if n.endswith(_SUFFIX)}
        if members and not self._members:
            self.close()
            raise ValueError(
                f"load: {name} is a zip archive without arrays; files of PyTorch are such, and "
                "only it loads them: save what they hold with safetensors"
            )

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def __getitem__(self, name: str) -> Array:
        """Read an array.

        Raises:
            KeyError: no array of that name.
            ValueError: it is cut short or damaged, or the file is closed.
        """
        if name not in self._members:
            raise KeyError(f"{name}; {self._name} has {', '.join(self._members) or 'no arrays'}")
        where = f"{self._name}[{name!r}]"
        if self._archive.fp is None:
            raise ValueError(f"load: {self._name} is closed; read its arrays before")
        try:
            with self._archive.open(self._members[name]) as member:
                found = read(Whole(member), where, self._device)
                if member.read(1):  # at its end the checksum is compared
                    raise ValueError(f"load: {where} is longer than its array")
                return found
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise ValueError(f"load: {where} is damaged: {error}") from error

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return how many arrays there are."""
        return len(self._members)

    def __repr__(self) -> str:
        """Name the file and its arrays."""
        return f"<phalanx archive {self._name} of {', '.join(self._members) or 'no arrays'}>"

    def close(self) -> None:
        """Close the file; arrays that were read stay."""
        self._archive.close()

    def __enter__(self) -> Archive:
        """Return the archive."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()
