"""All programs of a bounded length over a small set of operations, each without races of its own.

Each thread has a buffer of its own, which comes from a stream and is written first. Both read
buffer S and borrowed memory X, and share the streams.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations_with_replacement, product

from .programs import (
    Program,
    adopt,
    allocate,
    close,
    drop,
    launch,
    poll,
    read,
    synchronize,
    trim,
    write,
)
from .world import Frame


def operations(own: str) -> list[Frame]:
    """Return what a thread may do, given the name of its own buffer."""
    return [
        launch("s1", writes=own),
        launch("s2", writes=own),
        launch("s2", reads=own),
        launch("s1", reads="SX", writes=own),
        launch("s2", reads="SX", writes=own),
        read(own),
        write(own),
        drop(own),
        allocate(own, "s1"),
        allocate(own, "s2"),
        drop("S"),
        drop("X"),
        synchronize("s1"),
        close("s1"),
        close("s2"),
        poll(),
        trim(),
        adopt("s2"),
    ]


def program(first: tuple[int, ...], second: tuple[int, ...]) -> Program:
    """Return the program of two threads that do the operations with these numbers."""
    threads = tuple(
        (launch("s1", writes=own), *(operations(own)[number] for number in numbers))
        for own, numbers in (("A", first), ("B", second))
    )
    buffers = {"A": "s1", "B": "s1", "S": "s1", "X": ""}
    return Program(f"{first} {second}", threads, buffers)


def all_programs(length: int) -> Iterator[Program]:
    """Yield all programs in which both threads do so many operations after the first launch."""
    sequences = product(range(len(operations("A"))), repeat=length)
    for first, second in combinations_with_replacement(sequences, 2):
        yield program(first, second)


def some_programs(length: int, count: int, seed: int) -> Iterator[Program]:
    """Yield programs at random."""
    draw = random.Random(seed)
    numbers = range(len(operations("A")))
    for _ in range(count):
        yield program(
            tuple(draw.choices(numbers, k=length)),
            tuple(draw.choices(numbers, k=length)),
        )
