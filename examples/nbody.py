"""Let disturbed copies of the solar system run for a year, and see how far they drift apart.

    python examples/nbody.py --device opencl:0

Leapfrog (Verlet 1967) with the Sun and eight planets; where they stand on 1 January 2000 comes from
pyerfa (Simon et al. 1994). All copies are computed at once.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

#: Astronomical units, days, and the Sun's mass times the constant of gravity (Gauss 1809).
GRAVITY = 0.01720209895**2
KILOMETRES = 149597870.7
#: The Sun's mass by the planet's, Mercury to Neptune (IERS Conventions 2010, table 1.1, and
#: IAU 2009); the Earth's is with the Moon's.
RATIOS = (6023600, 408523.71, 328900.56, 3098703.59, 1047.348644, 3497.9018, 22902.98, 19412.26)
STEP = 2.0
EARTH = 3


def load(copies: int = 200) -> Data:
    """Return masses (9,), and places and velocities (copies, 9, 3) around the Sun, float64."""
    import erfa

    found = erfa.plan94(2451545.0, 0.0, np.arange(1, 9))
    still = np.zeros((1, 3))
    places, velocities = (np.concatenate([still, found[field]]) for field in ("p", "v"))
    disturbed = 1.0 + 1e-6 * np.random.default_rng(7).standard_normal((copies, 9, 3))
    return {
        "masses": np.asarray([1.0, *(1.0 / ratio for ratio in RATIOS)]),
        "places": np.broadcast_to(places, disturbed.shape).copy(),
        "velocities": velocities * disturbed,
    }


def pulls(xp: Namespace, places: Array, masses: Array) -> Array:
    """Return the accelerations (copies, 9, 3) by gravity."""
    apart = places[:, None, :, :] - places[:, :, None, :]  # from the second axis to the third
    # A body does not pull itself: its way to itself is 0, by whatever this is divided.
    squares = (apart**2).sum(axis=-1) + xp.eye(masses.shape[0], dtype=xp.float64)
    strengths = GRAVITY * masses * squares**-1.5
    return (strengths[..., None] * apart).sum(axis=2)


def compute(
    xp: Namespace, masses: Array, places: Array, velocities: Array, steps: int = 183
) -> tuple[Array, Array]:
    """Return places and velocities after so many steps of two days."""
    velocities = velocities + 0.5 * STEP * pulls(xp, places, masses)
    for _ in range(steps):
        places = places + STEP * velocities
        velocities = velocities + STEP * pulls(xp, places, masses)
    return places, velocities - 0.5 * STEP * pulls(xp, places, masses)


def tell(data: Data, places: HostArray, _velocities: HostArray) -> str:
    """Say how far the Earths are from each other, and where they stand."""
    earths = (places - places[:, :1])[:, EARTH]
    spread = float(np.sqrt(((earths - earths.mean(axis=0)) ** 2).sum(axis=-1).mean()))
    turned = float(np.linalg.norm(earths.mean(axis=0) - data["places"][0, EARTH]))
    return (
        f"After a year {len(places)} Earths stand {spread * KILOMETRES:,.0f} km from their middle, "
        f"which is {turned:.4f} au from where they began."
    )


PROGRAM = Program("An ensemble of solar systems", load, compute, tell, (1e-9, 1e-9))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
