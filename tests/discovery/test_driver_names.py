"""Names of drivers: which are refused, and who has one that two claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from phalanx.discovery.devices import find_device
from phalanx.errors import PluginConflictError
from plugin_kit import by_name, fresh_host, make_distribution, plugin_source


def test_two_drivers_of_one_name_are_both_out_of_use(site: Path) -> None:
    entries = (
        *make_distribution(
            site, "first", "1.0", plugins={"a": "acme_a"}, modules={"acme_a": plugin_source("acme")}
        ),
        *make_distribution(
            site,
            "second",
            "2.0",
            plugins={"b": "acme_b"},
            modules={"acme_b": plugin_source("acme")},
        ),
        *make_distribution(
            site, "third", plugins={"c": "acme_c"}, modules={"acme_c": plugin_source("other")}
        ),
    )
    with fresh_host(entries=entries) as host:
        assert list(host.drivers()) == ["other"]
        with pytest.raises(PluginConflictError, match=r"first 1\.0.*second 2\.0"):
            find_device("acme:0")
        assert "two drivers" in by_name(host)["a"].reason
        assert "two drivers" in by_name(host)["b"].reason
        assert by_name(host)["c"].reason == ""


def test_no_other_package_takes_a_name_of_ours(site: Path) -> None:
    entries = (
        *make_distribution(
            site, "acme", plugins={"cpu": "acme_cpu"}, modules={"acme_cpu": plugin_source("cpu")}
        ),
        *make_distribution(
            site, "phalanx", plugins={"cpu": "our_cpu"}, modules={"our_cpu": plugin_source("cpu")}
        ),
    )
    for order in (entries, entries[::-1]):
        with fresh_host(entries=order) as host:
            assert host.owner("cpu") == "phalanx 1.0"
            assert host.conflicts() == {}
            refused = next(p for p in host.plugins() if p.distribution == "acme")
            assert "named 'cpu', as Phalanx's own is" in refused.reason
            assert refused.remedies == ("give the driver another name",)
            assert refused.drivers == ()


@pytest.mark.parametrize(
    ("offer", "reason"),
    [
        ("(FakeDriver('Acme 1', []),)", "its name is 'Acme 1'"),
        ("(FakeDriver('gpu', []),)", "alias"),
        ("(FakeDriver('', []),)", "lower-case"),
        ("(FakeDriver(3, []),)", "its name is 3"),
        ("(object(),)", "not a phalanx.Driver"),
        ("(FakeDriver,)", "return an instance"),
    ],
)
def test_a_bad_offer_is_refused_and_the_good_one_kept(site: Path, offer: str, reason: str) -> None:
    source = plugin_source("acme", drivers=f"(*{offer}, FakeDriver('acme', [info()]))")
    entries = make_distribution(
        site, "mixed", plugins={"mixed": "acme_mixed"}, modules={"acme_mixed": source}
    )
    with fresh_host(entries=entries) as host:
        assert list(host.drivers()) == ["acme"]
        assert reason in by_name(host)["mixed"].reason
