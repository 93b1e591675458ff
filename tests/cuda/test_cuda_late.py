"""An index out of range: the host learns of it at a wait, not at the call."""

from __future__ import annotations

import threading

import numpy as np
import phalanx as px
import pytest
from fake_cuda.kit import Card
from phalanx.device_plugins.cuda import staging

pytestmark = pytest.mark.needs_cpu


def waits(card: Card) -> int:
    """How often the host has waited so far."""
    calls = card.library.calls
    return calls["cuStreamSynchronize"] + calls["cuEventSynchronize"]


def indices(card: Card, *numbers: int) -> px.Array:
    return px.asarray(np.array(numbers), device=card.device, copy=True)


def test_good_indices_never_make_the_host_wait(card: Card) -> None:
    x, i = px.arange(10, device=card.device), indices(card, 3, -1)
    px.asnumpy(x[i])
    before = waits(card)
    results = [x[i] for _ in range(20)]
    assert waits(card) == before
    assert [px.asnumpy(each).tolist() for each in results] == [[3, 9]] * 20


def test_a_bad_one_is_told_at_the_wait_and_at_each_read(card: Card) -> None:
    x, bad = px.arange(10, device=card.device), indices(card, 1, 99)
    before = waits(card)
    taken = x[bad]
    assert waits(card) == before
    with pytest.raises(IndexError, match=r"index 99 at place 1 .* extent 10"):
        px.asnumpy(taken)
    px.synchronize(card.device)
    with pytest.raises(IndexError, match="index 99"):
        px.asnumpy(taken)


def test_a_refused_write_changes_nothing(card: Card) -> None:
    x, bad = px.zeros(10, device=card.device), indices(card, 1, 99)
    x[bad] = 7.0
    x[bad, None] = px.ones((2, 1), device=card.device)
    with pytest.raises(IndexError, match="index 99"):
        px.synchronize(card.device)
    assert px.asnumpy(x).tolist() == [0.0] * 10


def test_all_bad_ones_are_told(card: Card) -> None:
    x = px.arange(10, device=card.device)
    places = [indices(card, n) for n in (77, 88, 5)]
    kept = [x[i] for i in places]
    with pytest.raises(IndexError, match="index 77") as raised:
        px.synchronize(card.device)
    (note,) = raised.value.__notes__
    assert "index 88" in note
    assert int(kept[2][0]) == 5


def test_an_event_tells_what_was_before_it(card: Card) -> None:
    x = px.arange(10, device=card.device)
    good, bad = indices(card, 1), indices(card, 10)
    stream = px.Stream(card.device)
    px.synchronize(card.device)
    with stream:
        kept = [x[good]]
        before = stream.record()
        kept.append(x[bad])
        behind = stream.record()
    before.synchronize()
    with pytest.raises(IndexError, match="index 10"):
        behind.synchronize()
    stream.synchronize()


def test_a_question_leaves_it_to_the_next_wait(card: Card) -> None:
    x = px.arange(10, device=card.device)
    bad = indices(card, -11)
    px.synchronize(card.device)
    opened = card.opened
    kept = x[bad]
    event = opened.event_create(timed=False)
    opened.event_record(event, None)
    assert any(opened.stream_query(None) for _ in range(1000))
    assert opened.event_query(event)
    with pytest.raises(IndexError, match="index -11"):
        opened.event_synchronize(event)
    assert px.asnumpy(kept).tolist() == [0]


def test_each_stream_has_its_own(card: Card) -> None:
    x, bad = px.arange(10, device=card.device), indices(card, 20)
    streams = [px.Stream(card.device) for _ in range(2)]
    px.synchronize(card.device)
    with streams[0]:
        kept = x[bad]
    streams[1].synchronize()
    with pytest.raises(IndexError, match="index 20"):
        streams[0].synchronize()
    del kept


def test_a_stream_of_somebody_elses_is_waited_for(card: Card) -> None:
    x, bad = px.arange(10, device=card.device), indices(card, 20)
    px.synchronize(card.device)
    raw = card.opened.context.get("cuStreamCreateWithPriority", "CUstream", 1, 0)
    number = int(card.opened.api.ffi.cast("uintptr_t", raw))
    with px.Stream.from_handle(card.device, number), pytest.raises(IndexError, match="index 20"):
        x[bad]


def test_without_room_the_host_waits(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_ROOMS", 3)
    x, bad, good = px.arange(10, device=card.device), indices(card, 20), indices(card, 2)
    px.synchronize(card.device)
    kept = [x[good] for _ in range(3)]
    before = waits(card)
    with pytest.raises(IndexError, match="index 20"):
        x[bad]
    assert waits(card) > before
    px.synchronize(card.device)
    kept.append(x[bad])  # there is room again
    with pytest.raises(IndexError, match="index 20"):
        px.synchronize(card.device)


def test_without_pinned_memory_the_host_waits(card: Card) -> None:
    x, bad = px.arange(10, device=card.device), indices(card, 20)
    card.library.faults["cuMemHostAlloc"] = 2
    with pytest.raises(IndexError, match="index 20"):
        x[bad]


def test_a_copy_that_fails_gives_its_room_back(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_ROOMS", 1)
    x, good = px.arange(10, device=card.device), indices(card, 2)
    px.asnumpy(x[good])
    for _ in range(3):
        card.library.faults["cuMemcpyDtoHAsync_v2"] = [400]
        with pytest.raises(px.DriverCallError, match="a check of indices"):
            x[good]
    before = waits(card)
    kept = x[good]
    assert waits(card) == before
    assert px.asnumpy(kept).tolist() == [2]


def test_closing_gives_the_memory_back(card: Card) -> None:
    x, good = px.arange(10, device=card.device), indices(card, 2)
    assert px.asnumpy(x[good]).tolist() == [2]
    assert card.library.pinned > 0
    del x, good
    card.device.close()
    assert card.library.pinned == 0


def test_threads_are_told_each_bad_index_once(card: Card) -> None:
    x = px.arange(10, device=card.device)
    told: list[str] = []

    def work(number: int) -> None:
        with px.Stream(card.device) as stream:
            for turn in range(10):
                kept = x[indices(card, 1, 100 + 10 * number + turn)]
                try:
                    stream.synchronize()
                except IndexError as error:
                    told.append(str(error).split()[1])
                del kept

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [str(n) for n in range(100, 140)]
