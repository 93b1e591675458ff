/* Template: the factorizations of one dtype (docs/ops.md has their order; core/device_code/factor_*.h is
 * the same for groups of work-items). Include with these macros set; they are undefined at the end:
 *   T, F        the element and its real part
 *   C           the complex element with parts F
 *   REAL(f)     the name of a function of real numbers: phx_<f>, with f at the end for f32
 *   TINY, FAR   the unit in the last place of 1, and a number whose square does not overflow
 *   NAME(f)     the name of the function f of this instance
 * Matrices are worked on in scratch memory, where the rows that loops go along are dense.
 */
#define STEP_(f, t) phx_##f##_##t
#define STEP_OF(f, t) STEP_(f, t)
#define STEP(f) STEP_OF(f, T)
#define ZERO STEP(of_parts)((F)0, (F)0)
#define ONE STEP(of_parts)((F)1, (F)0)
#define AT(i, j) a[(i) * n + (j)]

/* Copy (m, n) between any strides and dense rows. */
static void NAME(move)(T *to, int64_t ti, int64_t tj, const T *from, int64_t fi, int64_t fj, int64_t m, int64_t n) {
    if (tj == 1 && fj == 1) {
        for (int64_t i = 0; i < m; i++) memcpy(to + i * ti, from + i * fi, (size_t)n * sizeof(T));
        return;
    }
    for (int64_t i0 = 0; i0 < m; i0 += 16) /* squares, so that neither side loses its cache lines */
        for (int64_t j0 = 0; j0 < n; j0 += 16)
            for (int64_t i = i0; i < m && i < i0 + 16; i++)
                for (int64_t j = j0; j < n && j < j0 + 16; j++) to[i * ti + j * tj] = from[i * fi + j * fj];
}

/* The tree of 16 lanes' sums: by steps of a known length, as what is stored on the way is waited for. */
static inline F NAME(real_tree)(const F *s) {
    F eight[8], four[4];
    for (int l = 0; l < 8; l++) eight[l] = s[l] + s[l + 8];
    for (int l = 0; l < 4; l++) four[l] = eight[l] + eight[l + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* The tree of rows of n lanes' sums, column by column. */
static inline void NAME(tree)(T *s, int64_t n) {
    for (int half = FACTOR_LANES / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half * n; l++) s[l] = STEP(sum)(s[l], s[l + half * n]);
}

static inline T NAME(lane_tree)(const T *s) {
    T eight[8], four[4];
    for (int l = 0; l < 8; l++) eight[l] = STEP(sum)(s[l], s[l + 8]);
    for (int l = 0; l < 4; l++) four[l] = STEP(sum)(eight[l], eight[l + 4]);
    return STEP(sum)(STEP(sum)(four[0], four[2]), STEP(sum)(four[1], four[3]));
}

/* to - l[0] f[0] - l[1] f[1] ... for n elements, `count` rows f that lie `step` apart: four at once, in order. */
static inline void NAME(minus_rows)(T *restrict to, const T *l, int64_t ls, const T *restrict f, int64_t step,
                                    int64_t count, int64_t n) {
    int64_t q = 0;
    for (; q + 4 <= count; q += 4, f += 4 * step) {
        const T l0 = l[q * ls], l1 = l[(q + 1) * ls], l2 = l[(q + 2) * ls], l3 = l[(q + 3) * ls];
        const T *restrict f1 = f + step, *restrict f2 = f1 + step, *restrict f3 = f2 + step;
        for (int64_t k = 0; k < n; k++) {
            T s = STEP(minus_product)(to[k], l0, f[k]);
            s = STEP(minus_product)(s, l1, f1[k]);
            s = STEP(minus_product)(s, l2, f2[k]);
            to[k] = STEP(minus_product)(s, l3, f3[k]);
        }
    }
    for (; q < count; q++, f += step)
        for (int64_t k = 0; k < n; k++) to[k] = STEP(minus_product)(to[k], l[q * ls], f[k]);
}

static void NAME(cholesky)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t n = job->n;
    T *restrict a = room; /* L transposed */
    NAME(move)(a, n, 1, (const T *)in, job->x[1], job->x[0], n, n);
    for (int64_t j = 0; j < n; j++) {
        const F pivot = STEP(re)(AT(j, j)), d = pivot > (F)0 ? REAL(sqrt)(pivot) : (F)PHX_NAN;
        for (int64_t i = 0; i < j; i++) AT(j, i) = ZERO;
        AT(j, j) = STEP(of_parts)(d, (F)0);
        for (int64_t i = j + 1; i < n; i++) AT(j, i) = STEP(over)(AT(j, i), d);
        for (int64_t c = j + 1; c < n; c++) {
            const T other = STEP(conjugate)(AT(j, c));
            const T *restrict l = &AT(j, 0);
            T *restrict to = &AT(c, 0);
            for (int64_t i = c; i < n; i++) to[i] = STEP(minus_product)(to[i], l[i], other);
        }
    }
    NAME(move)((T *)out, job->y[1], job->y[0], a, n, 1, n, n);
}

/* Columns of LU that are finished before the others take them in. */
#define FEW 8

static void NAME(lu)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t m = job->m, width = job->n, n = width + 1;
    T *restrict a = room;
    NAME(move)(a, n, 1, (const T *)in, job->x[0], job->x[1], m, width);
    for (int64_t i = 0; i < m; i++) AT(i, width) = STEP(of_parts)((F)i, (F)0);
    const int64_t steps = width < m ? width : m;
    for (int64_t j = 0; j < steps; j++) {
        const int64_t first = j / FEW * FEW, last = first + FEW < width ? first + FEW : width;
        F most = (F)-1;
        int64_t row = j;
        for (int64_t i = j; i < m; i++) {
            const F size = STEP(size)(AT(i, j));
            row = size > most ? i : row;
            most = size > most ? size : most;
        }
        for (int64_t k = 0; k < n && row != j; k++) {
            const T v = AT(j, k);
            AT(j, k) = AT(row, k);
            AT(row, k) = v;
        }
        const T pivot = AT(j, j);
        const int divides = STEP(size)(pivot) != (F)0;
        for (int64_t i = j + 1; i < m; i++) {
            const T l = divides ? STEP(quotient)(AT(i, j), pivot) : AT(i, j);
            AT(i, j) = l;
            for (int64_t k = j + 1; k < last; k++) AT(i, k) = STEP(minus_product)(AT(i, k), l, AT(j, k));
        }
        if (j + 1 < last && j + 1 < steps) continue;
        /* the columns behind these few take in all of them at once */
        for (int64_t i = first + 1; i < m; i++) {
            const int64_t count = i - first < j + 1 - first ? i - first : j + 1 - first;
            NAME(minus_rows)(&AT(i, last), &AT(i, first), 1, &AT(first, last), n, count, width - last);
        }
    }
    NAME(move)((T *)out, job->y[0], job->y[1], a, n, 1, m, n);
}

/* Columns of a right side that are solved together: they stay in the nearest cache. */
#define STRIP 32

static void NAME(solve)(const factor_job *job, const char *lower, const char *in, char *out, int64_t begin,
                        int64_t end, void *room) {
    const int64_t n = job->n;
    T *restrict l = room;
    T *restrict a = l + n * n;
    NAME(move)(l, n, 1, (const T *)lower, job->l[0], job->l[1], n, n);
    for (int64_t c = begin; c < end; c += STRIP) {
        const int64_t wide = end - c < STRIP ? end - c : STRIP;
        NAME(move)(a, STRIP, 1, (const T *)in + c * job->x[1], job->x[0], job->x[1], n, wide);
        for (int64_t i = 0; i < n; i++) {
            T *restrict to = a + i * STRIP;
            NAME(minus_rows)(to, l + i * n, 1, a, STRIP, i, wide);
            if (!job->unit)
                for (int64_t k = 0; k < wide; k++) to[k] = STEP(quotient)(to[k], l[i * n + i]);
        }
        NAME(move)((T *)out + c * job->y[1], job->y[0], job->y[1], a, STRIP, 1, n, wide);
    }
}

/* The sums of lane l of conj(v) a[:, k] for all k, v being column j below the diagonal: four rows at once. */
static void NAME(lane)(T *restrict s, const T *restrict a, int64_t j, int64_t l, int64_t m, int64_t n) {
    const int64_t step = FACTOR_LANES * n;
    int64_t i = j + 1 + ((l - j - 1) & (FACTOR_LANES - 1));
    for (int64_t k = 0; k < n; k++) s[k] = ZERO;
    for (; i + 3 * FACTOR_LANES < m; i += 4 * FACTOR_LANES) {
        const T *restrict r = &AT(i, 0), *restrict r1 = r + step, *restrict r2 = r1 + step, *restrict r3 = r2 + step;
        const T v = r[j], v1 = r1[j], v2 = r2[j], v3 = r3[j];
        for (int64_t k = 0; k < n; k++) {
            const T t = STEP(plus_inner)(STEP(plus_inner)(s[k], v, r[k]), v1, r1[k]);
            s[k] = STEP(plus_inner)(STEP(plus_inner)(t, v2, r2[k]), v3, r3[k]);
        }
    }
    for (; i < m; i += FACTOR_LANES)
        for (int64_t k = 0; k < n; k++) s[k] = STEP(plus_inner)(s[k], AT(i, j), AT(i, k));
}

static void NAME(householder)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t m = job->m, n = job->n;
    T *restrict a = room;
    T *restrict sums = a + (m + n) * n;
    NAME(move)(a, n, 1, (const T *)in, job->x[0], job->x[1], m, n);
    for (int64_t i = 0; i < n * n; i++) a[m * n + i] = ZERO;
    for (int64_t j = 0; j < n && j < m; j++) {
        F most = (F)0, squares[FACTOR_LANES] = {0};
        for (int64_t i = j; i < m; i++) {
            const F part = STEP(largest_part)(AT(i, j));
            most = part > most ? part : most;
        }
        const F power = STEP_OF(power_below, F)(most);
        for (int64_t i = j + 1; i < m; i++) {
            F *s = &squares[i % FACTOR_LANES];
            *s = STEP(plus_square)(*s, STEP(over)(AT(i, j), power));
        }
        const F below = NAME(real_tree)(squares);
        const T alpha = AT(j, j), small = STEP(over)(alpha, power);
        const int turns = !(below == (F)0 && STEP(im)(alpha) == (F)0);
        const F length = -REAL(copysign)(REAL(sqrt)(STEP(plus_square)(below, small)), STEP(re)(alpha));
        const T tau =
            turns ? STEP(of_parts)((length - STEP(re)(small)) / length, -STEP(im)(small) / length) : ZERO;
        const T head = STEP(of_parts)(STEP(re)(small) - length, STEP(im)(small));
        AT(j, j) = STEP(of_parts)(turns ? power * length : STEP(re)(alpha), (F)0);
        for (int64_t i = j + 1; i < m; i++)
            AT(i, j) = turns ? STEP(quotient)(STEP(over)(AT(i, j), power), head) : ZERO;
        for (int64_t l = 0; l < FACTOR_LANES; l++) NAME(lane)(sums + l * n, a, j, l, m, n);
        NAME(tree)(sums, n);
        for (int64_t k = 0; k < n; k++) {
            const T s = STEP(sum)(sums[k], AT(j, k));
            sums[k] = STEP(plus_product)(ZERO, STEP(conjugate)(tau), s);
            if (k < j) AT(m + k, j) = STEP(conjugate)(s);
            if (k > j) AT(j, k) = STEP(minus_product)(AT(j, k), ONE, sums[k]);
        }
        for (int64_t i = j + 1; i < m; i++) {
            T *restrict row = &AT(i, 0);
            const T v = row[j];
            for (int64_t k = j + 1; k < n; k++) row[k] = STEP(minus_product)(row[k], v, sums[k]);
        }
        for (int64_t r = 0; r < j; r++) {
            T s = ZERO;
            for (int64_t q = r; q < j; q++) s = STEP(plus_product)(s, AT(m + r, q), AT(m + q, j));
            AT(m + r, j) = STEP(minus_product)(ZERO, tau, s);
        }
        AT(m + j, j) = tau;
    }
    NAME(move)((T *)out, job->y[0], job->y[1], a, n, 1, m + n, n);
}

/* How far the columns of jacobi, m elements and the n of V, lie apart: the last lanes may read behind one. */
static inline int64_t NAME(apart)(int64_t m, int64_t n) { return m + n + FACTOR_LANES; }

/* x^H x of a column. */
static F NAME(square)(const T *restrict x, int64_t m) {
    F s[FACTOR_LANES] = {0};
    int64_t r = 0;
    for (; r + FACTOR_LANES <= m; r += FACTOR_LANES)
        BY_LANES(FACTOR_LANES) {
            s[l] = STEP(plus_square)(s[l], x[r + l]);
        }
    BY_LANES(FACTOR_LANES) {
        s[l] = l < m - r ? STEP(plus_square)(s[l], x[r + l]) : s[l];
    }
    return NAME(real_tree)(s);
}

/* x^H y of two columns. */
static T NAME(inner)(const T *restrict x, const T *restrict y, int64_t m) {
    T g[FACTOR_LANES];
    for (int l = 0; l < FACTOR_LANES; l++) g[l] = ZERO;
    int64_t r = 0;
    for (; r + FACTOR_LANES <= m; r += FACTOR_LANES)
        BY_LANES(FACTOR_LANES) {
            g[l] = STEP(plus_inner)(g[l], x[r + l], y[r + l]);
        }
    BY_LANES(FACTOR_LANES) {
        const T more = STEP(plus_inner)(g[l], x[r + l], y[r + l]);
        g[l] = l < m - r ? more : g[l];
    }
    return NAME(lane_tree)(g);
}

typedef struct {
    T *a;
    F *squares; /* of the columns; -1 where a column was turned since */
    int64_t m, n, round;
    F limit;
    atomic_int turned;
} NAME(round);

/* The rotations of some pairs of a round: those of one do not touch the columns of another. */
typedef struct {
    T *x[ROTATIONS], *y[ROTATIONS], inner[ROTATIONS], phase[ROTATIONS];
    F ss[ROTATIONS], tt[ROTATIONS], cosine[ROTATIONS], sine[ROTATIONS];
    int turns[ROTATIONS];
} NAME(rotations);

/* Which pairs turn, and by how much: in vectors of pairs, as each has a long chain of roots and quotients. */
static __attribute__((noinline)) void NAME(angles)(NAME(rotations) *restrict r, F limit) {
    const F least = STEP_OF(power_below, F)((F)0) / (F)TINY;
    F size[ROTATIONS], bound[ROTATIONS], zeta[ROTATIONS], root[ROTATIONS];
    BY_LANES(ROTATIONS) {
        const T g = r->inner[l];
        const F power = STEP_OF(power_below, F)(STEP(largest_part)(g));
        size[l] = power * REAL(sqrt)(STEP(plus_square)((F)0, STEP(over)(g, power)));
        zeta[l] = (r->tt[l] - r->ss[l]) / ((F)2 * size[l]);
        root[l] = REAL(sqrt)(REAL(fma)(zeta[l], zeta[l], (F)1));
        r->phase[l] = STEP(over)(STEP(conjugate)(g), size[l]);
        bound[l] = limit * REAL(sqrt)(r->ss[l]) * REAL(sqrt)(r->tt[l]);
    }
    BY_LANES(ROTATIONS) { /* apart, or the compiler makes a root conditional */
        const F far = REAL(fabs)(zeta[l]), near = (F)1 / (far + root[l]), beyond = (F)0.5 / far;
        const F tangent = REAL(copysign)(far > (F)FAR ? beyond : near, zeta[l]);
        r->cosine[l] = (F)1 / REAL(sqrt)(REAL(fma)(tangent, tangent, (F)1));
        r->sine[l] = r->cosine[l] * tangent;
        r->turns[l] = (r->ss[l] > least) & (r->tt[l] > least) & (size[l] > bound[l]);
    }
}

/* Turn pairs [begin, end) of a round, which are ROTATIONS or fewer; whether there was one to turn. */
static bool NAME(turn_some)(NAME(round) * d, int64_t begin, int64_t end) {
    const int64_t m = d->m, n = d->n, length = m + n, apart = NAME(apart)(m, n), rounds = (n + 1) / 2 * 2 - 1;
    NAME(rotations)
    r;
    BY_LANES(ROTATIONS) {
        r.ss[l] = r.tt[l] = (F)0;
        r.inner[l] = ZERO;
    }
    int64_t columns[2 * ROTATIONS];
    int count = 0;
    for (int64_t q = begin; q < end; q++) {
        const int64_t one = q == 0 ? rounds : (d->round + q) % rounds, other = (d->round - q + rounds) % rounds;
        const int64_t i = one < other ? one : other, j = one + other - i;
        if (j >= n) continue;
        T *x = d->a + i * apart, *y = d->a + j * apart;
        if (!(d->squares[i] >= (F)0)) d->squares[i] = NAME(square)(x, m);
        if (!(d->squares[j] >= (F)0)) d->squares[j] = NAME(square)(y, m);
        r.x[count] = x, r.y[count] = y;
        r.ss[count] = d->squares[i], r.tt[count] = d->squares[j];
        r.inner[count] = NAME(inner)(x, y, m);
        columns[2 * count] = i, columns[2 * count + 1] = j;
        count++;
    }
    NAME(angles)(&r, d->limit);
    bool turned = false;
    for (int p = 0; p < count; p++) {
        if (!r.turns[p]) continue;
        T *restrict x = r.x[p];
        T *restrict y = r.y[p];
        const T phase = r.phase[p];
        const F cosine = r.cosine[p], sine = r.sine[p];
        turned = true;
        d->squares[columns[2 * p]] = d->squares[columns[2 * p + 1]] = (F)-1;
        for (int64_t k = 0; k < length; k++) {
            const T u = x[k], v = STEP(plus_product)(ZERO, phase, y[k]);
            x[k] = STEP(turned)(u, cosine, v, -sine);
            y[k] = STEP(turned)(v, cosine, u, sine);
        }
    }
    return turned;
}

static void NAME(pairs)(void *ctx, int64_t begin, int64_t end) {
    NAME(round) *d = ctx;
    bool turned = false;
    for (int64_t q = begin; q < end; q += ROTATIONS)
        turned |= NAME(turn_some)(d, q, end - q < ROTATIONS ? end : q + ROTATIONS);
    if (turned) atomic_store(&d->turned, 1);
}

static void NAME(jacobi)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t m = job->m, n = job->n, pairs = (n + 1) / 2, apart = NAME(apart)(m, n);
    T *a = room; /* columns dense */
    NAME(move)(a, apart, 1, (const T *)in, job->x[1], job->x[0], n, m);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) a[j * apart + m + i] = i == j ? ONE : ZERO;
    F *squares = (F *)(a + apart * n);
    for (int64_t j = 0; j < n; j++) squares[j] = (F)-1;
    NAME(round)
    d = {.a = a, .squares = squares, .m = m, .n = n, .limit = (REAL(sqrt)((F)m) + (F)4) * (F)TINY};
    const int64_t grain = 1 + 20000 / (m + n + 1);
    int64_t sweeps = 0;
    for (atomic_store(&d.turned, 1); atomic_load(&d.turned) && sweeps < FACTOR_SWEEPS; sweeps++) {
        atomic_store(&d.turned, 0);
        for (d.round = 0; d.round < 2 * pairs - 1; d.round++) phx_parallel_for(pairs, grain, NAME(pairs), &d);
    }
    NAME(move)((T *)out, job->y[1], job->y[0], a, apart, 1, n, m + n);
    const T count = STEP(of_parts)(atomic_load(&d.turned) ? (F)-1 : (F)sweeps, (F)0);
    for (int64_t j = 0; j < n; j++) ((T *)out)[(m + n) * job->y[0] + j * job->y[1]] = count;
}

#include "factor/eigh_type.h"
#include "factor/hessenberg_type.h"
#ifdef COMPLEX
#include "factor/schur_type.h"
#else
#include "factor/schur_real_type.h"
#endif

static void NAME(schur)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t n = job->n;
    T *restrict a = room;
    NAME(move)(a, n, 1, (const T *)in, job->x[0], job->x[1], n, n);
    for (int64_t i = n * n; i < 3 * n * n; i++) a[i] = ZERO;
    for (int64_t i = 0; i < n; i++) AT(n + i, i) = ONE;
    NAME(hessenberg)(a, n);
    const int64_t sweeps = NAME(triangle)(a, n);
    NAME(vectors)(a, n);
    NAME(move)((T *)out, job->y[0], job->y[1], a, n, 1, 2 * n, n);
    T *const made = (T *)out + 2 * n * job->y[0];
    NAME(move)(made, job->y[1], job->y[0], a + 2 * n * n, n, 1, n, n);
    const T count = STEP(of_parts)((F)sweeps, (F)0);
    for (int64_t j = 0; j < n; j++) made[n * job->y[0] + j * job->y[1]] = count;
}

static const factor_type NAME(type) = {
    .cholesky = NAME(cholesky),
    .lu = NAME(lu),
    .householder = NAME(householder),
    .jacobi = NAME(jacobi),
    .eigh = NAME(eigh),
    .schur = NAME(schur),
    .solve = NAME(solve),
    .itemsize = sizeof(T),
};

#undef T
#undef F
#undef REAL
#undef TINY
#undef FAR
#undef NAME
#undef STEP_
#undef STEP_OF
#undef STEP
#undef ZERO
#undef ONE
#undef AT
#undef STRIP
#undef FEW
#undef NORMAL
#undef C
