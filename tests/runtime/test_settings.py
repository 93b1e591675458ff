"""Settings of the process, and blocks that change them for one thread or task."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import phalanx as px
import pytest
from phalanx.runtime.settings import Setting
from threads.steps import values


@pytest.fixture
def setting() -> Setting[str]:
    return Setting("test_setting", lambda: "first")


def in_a_thread(work: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    if errors:
        raise errors[0]


class TestSetting:
    def test_the_first_value_is_asked_for_once(self) -> None:
        asked: Iterator[str] = iter(["first"])
        setting = Setting("test_first", lambda: next(asked))
        assert [setting.get(), setting.get()] == ["first", "first"]

    def test_a_call_sets_it_for_all_threads(self, setting: Setting[str]) -> None:
        setting.set("other")
        assert setting.get() == "other"
        seen: list[str] = []
        in_a_thread(lambda: seen.append(setting.get()))
        assert seen == ["other"]

    def test_a_block_is_of_its_thread_alone(self, setting: Setting[str]) -> None:
        seen: list[str] = []
        with setting.set("block"):
            assert setting.get() == "block"
            in_a_thread(lambda: seen.append(setting.get()))
        assert seen == ["first"]
        assert setting.get() == "first"

    def test_blocks_that_interleave_leave_nothing(self, setting: Setting[str]) -> None:
        """Whichever of two threads ends its block first."""
        entered, left = threading.Event(), threading.Event()

        def work() -> None:
            with setting.set("theirs"):
                entered.set()
                assert left.wait(60)
                assert setting.get() == "theirs"

        thread = threading.Thread(target=work)
        with setting.set("mine"):
            thread.start()
            assert entered.wait(60)
            assert setting.get() == "mine"
        assert setting.get() == "first"
        left.set()
        thread.join(60)
        assert setting.get() == "first"

    def test_changes_made_together_and_entered_in_any_order(self, setting: Setting[str]) -> None:
        one, two = setting.set("one"), setting.set("two")
        assert setting.get() == "two"
        with one:
            assert setting.get() == "one"
            in_a_thread(lambda: None)
        assert setting.get() == "two"
        with two:
            assert setting.get() == "two"
        assert setting.get() == "first"

    def test_a_call_in_a_block_lasts_to_its_end(self, setting: Setting[str]) -> None:
        with setting.set("outer"):
            setting.set("inner")
            assert setting.get() == "inner"
            with setting.set("innermost"):
                assert setting.get() == "innermost"
            assert setting.get() == "inner"
        assert setting.get() == "inner", "it was set for the process as well"

    def test_what_was_set_does_not_pile_up(self, setting: Setting[str]) -> None:
        for number in range(100):
            setting.set(str(number))
        assert setting.get() == "99"
        assert len(setting._whole) < 4

    def test_a_task_keeps_its_block(self, setting: Setting[str]) -> None:
        async def task(value: str) -> None:
            with setting.set(value):
                for _ in range(3):
                    await asyncio.sleep(0)
                    assert setting.get() == value

        async def both() -> None:
            await asyncio.gather(task("a"), task("b"))

        asyncio.run(both())
        assert setting.get() == "first"

    def test_eight_threads(self, setting: Setting[str]) -> None:
        def work(name: str) -> None:
            for _ in range(2000):
                with setting.set(name):
                    assert setting.get() == name

        errors: list[BaseException] = []

        def guarded(name: str) -> None:
            try:
                work(name)
            except BaseException as error:  # noqa: BLE001 - told below
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(str(n),)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []
        assert setting.get() == "first"


def test_manual_hazards_are_of_their_thread_alone(asynchronous: px.Device) -> None:
    """While one thread orders its streams itself, the work of another stays in order."""
    writer, reader = px.Stream(), px.Stream()
    x = px.zeros(16)
    px.synchronize()
    found: list[px.Array] = []

    def work() -> None:
        with px.device(asynchronous):
            with writer:
                y = x + 1
            with reader:
                found.append(y + 1)

    with asynchronous.driver.paused(writer), px.hazards("manual"):
        in_a_thread(work)
        assert not reader.query()
    assert values(found[0]) == [2.0] * 16


def test_a_policy_is_of_its_thread_alone() -> None:
    seen: list[str] = []
    with px.fallback_policy("allow"):
        in_a_thread(lambda: seen.append(px.fallback_policy()))
    assert seen == ["error"]
