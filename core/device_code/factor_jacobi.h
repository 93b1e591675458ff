/* Pairs of columns are turned until all are orthogonal: of a group, each team takes a pair at a time. */
#define TEAM PHX_MIN(LANES, GROUP)
#define TEAMS (GROUP / TEAM)

PHX_KERNEL_OF(GROUP) jacobi(MATRICES) {
    PHX_LOCAL_ARRAY(F, first, TEAMS * LANES);
    PHX_LOCAL_ARRAY(F, second, TEAMS * LANES);
    PHX_LOCAL_ARRAY(T, inner, TEAMS * LANES);
    PHX_LOCAL_ARRAY(u32, turned, GROUP);
    const i64 team = ME / TEAM, item = ME % TEAM, at = team * LANES;
    const i64 rounds = (n + 1) / 2 * 2 - 1, pairs = (n + 1) / 2;
    const F limit = (ROOT(TO_F(m)) + (F)4) * EPSILON, least = DIVIDE(POWER_BELOW((F)0), EPSILON);
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        for (i64 k = ME; k < (m + n + 1) * n; k += GROUP) {
            const i64 i = k / n, j = k - i * n;
            AT(i, j) = i < m ? FROM(i, j) : i - m == j ? ONE
                                                       : ZERO;
        }
        PHX_BARRIER_GLOBAL();
        i64 sweeps = 0;
        u32 some = 1;
        while (some && sweeps < SWEEPS) {
            u32 mine = 0;
            for (i64 round = 0; round < rounds; round++) {
                for (i64 p = 0; p < pairs; p += TEAMS) {
                    const i64 q = p + team;
                    const i64 one = q == 0 ? rounds : (round + q) % rounds, other = (round - q + rounds) % rounds;
                    const i64 i = PHX_MIN(one, other), j = one + other - i;
                    const i32 real = q < pairs && j < n;
                    for (i64 l = item; real && l < LANES; l += TEAM) {
                        F s = (F)0, t = (F)0;
                        T g = ZERO;
        PHX_ORDERED
                        for (i64 r = l; r < m; r += LANES) {
                            s = PLUS_SQUARE(s, AT(r, i));
                            t = PLUS_SQUARE(t, AT(r, j));
                            g = PLUS_INNER(g, AT(r, i), AT(r, j));
                        }
                        first[at + l] = s;
                        second[at + l] = t;
                        inner[at + l] = g;
                    }
                    PHX_BARRIER();
                    if (real) {
                        const F s = real_tree_of(first + at), t = real_tree_of(second + at);
                        const T g = tree_of(inner + at, 1);
                        const F power = POWER_BELOW(LARGEST_PART(g));
                        const F size = power * ROOT(PLUS_SQUARE((F)0, OVER(g, power)));
                        if (s > least && t > least && size > limit * ROOT(s) * ROOT(t)) {
                            const F zeta = DIVIDE(t - s, (F)2 * size), far = FABS(zeta);
                            const F tangent = COPYSIGN(
                                    far > FAR ? DIVIDE((F)0.5, far)
                                              : DIVIDE((F)1, far + ROOT(PLUS_SQUARE_REAL((F)1, zeta))), zeta);
                            const F cosine = DIVIDE((F)1, ROOT(PLUS_SQUARE_REAL((F)1, tangent)));
                            const F sine = cosine * tangent;
                            const T phase = OVER(CONJUGATE(g), size);
                            mine = 1;
                            for (i64 l = item; l < LANES; l += TEAM)
                                for (i64 r = l; r < m + n; r += LANES) {
                                    const T u = AT(r, i), v = PLUS_PRODUCT(ZERO, phase, AT(r, j));
                                    AT(r, i) = TURNED(u, cosine, v, -sine);
                                    AT(r, j) = TURNED(v, cosine, u, sine);
                                }
                        }
                    }
                    PHX_BARRIER_GLOBAL();
                }
            }
            turned[ME] = mine;
            for (i64 gap = GROUP / 2; gap > 0; gap /= 2) {
                PHX_BARRIER();
                if (ME < gap) turned[ME] = turned[ME] | turned[ME + gap];
            }
            PHX_BARRIER();
            some = turned[0];
            sweeps++;
        }
        for (i64 j = ME; j < n; j += GROUP) AT(m + n, j) = OF_PARTS(some ? (F)-1 : TO_F(sweeps), (F)0);
    }
}
