"""Poisson and binomial counts, from the papers that docs/ops.md names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .chances import log_binomial, log_poisson, slack
from .random_numbers import TRIES, Words, unit_interval
from .ulp import WIDE
from .values import HostArray

#: What a sum of chances may be off.
_SUM_SLACK = 1e-13
#: The greatest mean, and number of trials.
_MOST = 2.0**53
#: The logarithms of the chances of counts, relative to a hat, for those at some indices.
_LogChance: TypeAlias = Callable[[HostArray, HostArray], HostArray]


@dataclass(frozen=True, slots=True)
class _Hat:
    """The curves above chances: Hoermann, "The transformed rejection method" (PTRS), and BTRS."""

    a: HostArray
    b: HostArray
    middle: HostArray
    height: HostArray
    squeeze: HostArray
    narrow: float
    mean: HostArray
    most: HostArray

    def candidates(self, u: HostArray, at: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        """Return counts, distances from the end, and whether the floors are certain."""
        u = u - 0.5
        us = 0.5 - np.abs(u)
        a, middle = self.a[at], self.middle[at]
        place = (2 * a / us + self.b[at]) * u + middle
        doubt = 1e-13 * (np.abs(place) + np.abs(middle) + 2 * a / us**2 * 1e-3)
        at_the_end = us < 1e-12
        certain = ~at_the_end & (np.abs(place - np.round(place)) > doubt)
        return np.where(at_the_end, -1.0, np.floor(place)), us, certain


class Counts:
    """Counts of an array of elements, and which are certain; -1 where parameters allow none."""

    def __init__(self, words: Words, count: int) -> None:
        self._words = words
        self.values = np.full(count, -1, np.int64)
        self.certain = np.ones(count, bool)

    def poisson(self, m: HostArray) -> None:
        """Find counts of these means."""
        valid = (m >= 0) & (m <= _MOST)
        few, many = np.flatnonzero(valid & (m < 10)), np.flatnonzero(valid & (m >= 10))
        mean = m[few]
        self._sum(few, np.exp(-mean), mean, np.full(few.shape, np.inf), mean)
        mean = m[many]
        b = 0.931 + 2.53 * np.sqrt(mean)
        hat = _Hat(
            a=-0.059 + 0.02483 * b,
            b=b,
            middle=mean + 0.43,
            height=1.1239 + 1.1328 / (b - 3.4),
            squeeze=0.9277 - 3.6224 / (b - 2),
            narrow=0.013,
            mean=mean,
            most=np.full(many.shape, np.inf),
        )
        self._try(many, hat, lambda k, at: log_poisson(k, mean[at]))

    def binomial(self, count: HostArray, p: HostArray) -> None:
        """Find counts of these trials and chances."""
        valid = (count >= 0) & (count <= _MOST) & (p >= 0) & (p <= 1)
        n, q = np.floor(count), np.where(p > 0.5, 1 - p, p)
        few, many = np.flatnonzero(valid & (n * q < 10)), np.flatnonzero(valid & (n * q >= 10))
        trials, chance = n[few], q[few]
        first = np.exp((trials * np.log1p(-chance.astype(WIDE))).astype(np.float64))
        self._sum(few, first, chance / (1 - chance), trials, trials * chance)
        trials, chance = n[many], q[many]
        mean = trials * chance
        s = np.sqrt(mean * (1 - chance))
        b = 1.15 + 2.53 * s
        hat = _Hat(
            a=-0.0873 + 0.0248 * b + 0.01 * chance,
            b=b,
            middle=mean + 0.5,
            height=(2.83 + 5.1 / b) * s,
            squeeze=0.92 - 4.2 / b,
            narrow=0.0,
            mean=mean,
            most=trials,
        )
        mode = np.floor((trials + 1) * chance)
        best = log_binomial(mode, trials, chance)

        def log_chance(k: HostArray, at: HostArray) -> HostArray:
            return log_binomial(k, trials[at], chance[at]) - best[at]

        self._try(many, hat, log_chance)
        turned = valid & (p > 0.5)
        self.values[turned] = (n - self.values)[turned]

    def _set(self, elements: HostArray, k: HostArray, certain: HostArray) -> None:
        self.values[elements] = np.clip(k, -1.0, 2.0**62)
        self.certain[elements] = certain

    def _sum(
        self,
        elements: HostArray,
        first: HostArray,
        ratio: HostArray,
        n: HostArray,
        mean: HostArray,
    ) -> None:
        """The first sum of chances above a uniform number; chances by k m / (k + 1) or of n."""
        u = np.ldexp((self._words.long(elements, 0)[0] >> np.uint64(11)).astype(np.float64), -53)
        chance, total = first.copy(), first.copy()
        sought = np.arange(elements.size)
        k = 0
        while sought.size:
            over = u[sought] - total[sought]
            goes = (over >= 0) & (k < n[sought]) & ((k < mean[sought]) | (chance[sought] > 1e-19))
            is_open = goes & (over < _SUM_SLACK)
            ended = sought[~goes | is_open]
            certain = ~is_open & (-over > _SUM_SLACK)
            self._set(elements[ended], np.full(ended.shape, float(k)), certain[~goes | is_open])
            sought = sought[goes & ~is_open]
            left = n[sought] - k
            chance[sought] *= ratio[sought] / (k + 1) * np.where(np.isinf(left), 1, left)
            total[sought] += chance[sought]
            k += 1

    def _try(self, elements: HostArray, hat: _Hat, log_chance: _LogChance) -> None:
        """Take the first candidates that are accepted; without one, the mean, which is open."""
        self._set(elements, np.trunc(hat.mean), np.zeros(elements.shape, bool))
        sought = np.arange(elements.size)
        for i in range(TRIES):
            if not sought.size:
                break
            u, v = (unit_interval(r, "float64") for r in self._words.long(elements[sought], i))
            u, v = u.astype(np.float64), v.astype(np.float64)
            k, us, certain = hat.candidates(u, sought)
            inside = us >= 0.07
            certain &= (np.abs(us - 0.07) > 1e-12) & (np.abs(v - hat.squeeze[sought]) > 1e-12)
            if hat.narrow:
                certain &= np.abs(us - hat.narrow) > 1e-12
            ended = ~certain | (inside & (v <= hat.squeeze[sought]))
            refused = (k < 0) | (k > hat.most[sought]) | ((us < hat.narrow) & (v > us))
            asked = np.flatnonzero(~ended & ~refused)
            at = sought[asked]
            hats = hat.a[at] / us[asked] ** 2 + hat.b[at]
            level = np.log((v[asked] * hat.height[at] / hats).astype(WIDE))
            over = (level - log_chance(k[asked], at)).astype(np.float64)
            doubt = slack(k[asked], hat.mean[at])
            accepted = np.zeros(sought.shape, bool)
            accepted[asked] = over <= doubt
            certain[asked] = np.abs(over) > doubt
            ended |= accepted
            self._set(elements[sought[ended]], k[ended], certain[ended])
            sought = sought[~ended]
