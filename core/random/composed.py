"""Distributions that need several numbers for one: the other half of the generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phalanx._warm import Array, Device, DType
from phalanx.namespace.elementwise import sqrt, where

from . import draws
from .arguments import (
    Parameter,
    Size,
    converted,
    count,
    device_for,
    float_dtype,
    mean_count,
    not_negative,
    positive,
    probability,
    shape_for,
)
from .covariance import factor, vector

if TYPE_CHECKING:
    from .source import Source


class Composed:
    """The distributions of `Generator` that are tried for, or made of others."""

    __slots__ = ("_source",)
    _source: Source

    def gamma(
        self,
        shape: Parameter,
        scale: Parameter = 1.0,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return gamma numbers with the mean ``shape * scale``.

        Marsaglia and Tsang's method (2000) with tries of each element's own. A shape of 0 gives 0;
        in arrays a negative one gives NaN.

        Raises:
            TypeError: a parameter that is no real number or array, a dtype that is not floating.
            ValueError: a negative parameter, or arrays that do not broadcast to the size.

        Examples:
            >>> x = px.random.Generator(7).gamma(3.0, 2.0, size=100_000)
            >>> print(round(float(px.mean(x)), 1), round(float(px.var(x)), 1))
            6.0 12.0
        """
        a, factor = not_negative(shape, "shape", "gamma"), not_negative(scale, "scale", "gamma")
        extents, where_to = (
            shape_for(size, "gamma", a, factor),
            device_for(device, "gamma", a, factor),
        )
        kind = float_dtype(dtype, "gamma", where_to, a, factor)
        made = draws.tried(self._source, "random_gamma", ((a, kind),), extents, kind, where_to)
        if factor != 1.0 if isinstance(factor, float) else True:
            made *= converted(factor, kind)
        return made

    def beta(
        self,
        a: Parameter,
        b: Parameter,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return beta numbers from 0 to 1 with the mean ``a / (a + b)``.

        They are x / (x + y) of two gamma numbers.

        Where both are too small for the dtype, which parameters far below 1 bring about, the number
        is 1 with the probability a / (a + b), else 0.

        Raises:
            TypeError: a parameter that is no real number or array, a dtype that is not floating.
            ValueError: a number that is not above 0, or arrays that do not broadcast to the size.

        Examples:
            >>> x = px.random.Generator(7).beta(2, 3, size=100_000)
            >>> print(round(float(px.mean(x)), 2), round(float(px.var(x)), 2))
            0.4 0.04
        """
        first, second = positive(a, "a", "beta"), positive(b, "b", "beta")
        shape, where_to = (
            shape_for(size, "beta", first, second),
            device_for(device, "beta", first, second),
        )
        kind = float_dtype(dtype, "beta", where_to, first, second)
        of_x, of_y, of_u = self._source.abreast(3, draws.tries(shape))
        x = draws.tried(of_x, "random_gamma", ((first, kind),), shape, kind, where_to)
        y = draws.tried(of_y, "random_gamma", ((second, kind),), shape, kind, where_to)
        u = draws.uniform(of_u, shape, kind, where_to)
        ones = u * (converted(first, kind) + converted(second, kind))
        limit = where(ones < converted(first, kind), draws.number(1.0, kind, where_to), 0.0)
        total = x + y
        return where(total == 0, limit, x / total)

    def standard_t(
        self,
        df: Parameter,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return numbers of Student's t distribution with ``df`` degrees of freedom.

        A normal number over the root of a gamma number of the shape df / 2 over df / 2.

        Raises:
            TypeError: a parameter that is no real number or array, a dtype that is not floating.
            ValueError: a number that is not above 0, or an array that does not broadcast.

        Examples:
            >>> x = px.random.Generator(7).standard_t(10, size=100_000)
            >>> print(round(float(px.var(x)), 2))  # df / (df - 2)
            1.25
        """
        freedom = positive(df, "df", "standard_t")
        shape, where_to = (
            shape_for(size, "standard_t", freedom),
            device_for(device, "standard_t", freedom),
        )
        kind = float_dtype(dtype, "standard_t", where_to, freedom)
        half = converted(freedom, kind) * 0.5
        of_numbers, of_roots = self._source.abreast(2, draws.tries(shape))
        made = draws.scaled(of_numbers, "random_normal", 0.0, 1.0, shape, kind, where_to)
        over = draws.tried(of_roots, "random_gamma", ((half, kind),), shape, kind, where_to)
        made *= sqrt(half / over)
        return made

    def poisson(
        self,
        lam: Parameter = 1.0,
        size: Size = None,
        *,
        device: str | Device | None = None,
    ) -> Array:
        """Return Poisson numbers with the mean ``lam``, as int64.

        Means from 10 on by transformed rejection (Hoermann 1993), with tries of each element's own;
        below by a sum of chances. In arrays, a mean that is not in [0, 2^53] gives -1. Computed in
        float64.

        Raises:
            TypeError: ``lam`` is no real number or array.
            ValueError: a number that is not in [0, 2^53], or an array that does not broadcast.

        Examples:
            >>> print(px.random.Generator(7).poisson(4.5, size=8))
            [ 6  3  2  7  2 10  5  8]
        """
        mean = mean_count(lam, "lam", "poisson")
        shape, where_to = shape_for(size, "poisson", mean), device_for(device, "poisson", mean)
        return draws.counted(self._source, "random_poisson", (mean,), shape, where_to)

    def binomial(
        self,
        n: int | Array,
        p: Parameter,
        size: Size = None,
        *,
        device: str | Device | None = None,
    ) -> Array:
        """Return how many of ``n`` trials succeed, each with probability ``p``, as int64.

        Where the rarer outcome has a mean from 10 on by transformed rejection (Hoermann 1993), with
        tries of each element's own; below by a sum of chances. In arrays, an n that is not in [0,
        2^53] or a p that is not in [0, 1] gives -1. Computed in float64.

        Raises:
            TypeError: ``n`` is no int or array of them, ``p`` no real number or array.
            ValueError: numbers out of those ranges, or arrays that do not broadcast to the size.

        Examples:
            >>> print(px.random.Generator(7).binomial(10, 0.5, size=8))
            [6 4 3 7 3 9 5 7]
        """
        trials, chance = count(n, "n", "binomial"), probability(p, "p", "binomial")
        shape = shape_for(size, "binomial", trials, chance)
        where_to = device_for(device, "binomial", trials, chance)
        return draws.counted(self._source, "random_binomial", (trials, chance), shape, where_to)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return vectors (size..., d) of normal numbers with mean (d,) and covariance (d, d).

        Arrays or nested sequences. The covariance is brought to the host and factored there by
        Cholesky's method in float64, in an order of its own, so that the numbers are the same on
        every device; this waits. It may be semidefinite. The vectors are products of a matrix on
        the device.

        Raises:
            TypeError: parameters that are not real, or a dtype that is not floating.
            ValueError: other shapes, or a covariance that is not symmetric or has a
                negative direction.

        Examples:
            >>> g = px.random.Generator(7)
            >>> x = g.multivariate_normal([1, 2], [[2, 1], [1, 2]], size=100_000)
            >>> print(px.round(px.mean(x, axis=0)))
            [1. 2.]
        """
        given = [v for v in (mean, cov) if isinstance(v, Array)]
        where_to = device_for(device, "multivariate_normal", *given)
        kind = float_dtype(dtype, "multivariate_normal", where_to, *given)
        center, lower = vector(mean), factor(cov)
        if lower.shape != (center.size, center.size):
            raise ValueError(
                "multivariate_normal: cov is (d, d) for a mean of shape (d,), got "
                f"{lower.shape} and {center.shape}"
            )
        shape = (*shape_for(size, "multivariate_normal"), center.size)
        made = draws.scaled(self._source, "random_normal", 0.0, 1.0, shape, kind, where_to)
        return draws.turned(made, lower, center)
