/* Transforms side by side, one per lane, for numbers of type T (f32 or f64); T_LEN lanes make a cell.
 *
 * NAME(f) names what is defined here. Included for each type by fft.c, which has fft_lanes and fft_pass.
 */
#define CELL FFT_CAT(T, cell)
#define VEC FFT_CAT(T, v)
#define LEN FFT_CAT(T, LEN)
#define CALL(f) FFT_CAT(T, f)

/* ---- memory to cells and back --------------------------------------------------------------------- */

FFT_INLINE CELL NAME(swapped)(CELL z, int swap) { return swap ? (CELL){z.im, z.re} : z; }

/* The first lane of a group. The last group begins early rather than with lanes of nobody: those that are in two
 * groups are computed twice, with the same result. */
FFT_INLINE int64_t NAME(first_lane)(int64_t lanes, int64_t g) {
    const int64_t last = lanes > LEN ? lanes - LEN : 0;
    return g * LEN < last ? g * LEN : last;
}

/* Number i of the lanes of group g into cell (i, g); zeros behind the numbers that are given. */
static void NAME(load)(const fft_lanes *f, CELL *to) {
    const int64_t groups = (f->lanes + LEN - 1) / LEN, given = f->given < f->n ? f->given : f->n;
    const int64_t count = f->lanes;
    const int apart = f->xl != 1;
    for (int64_t g = 0; g < groups; g++) {
        const T *x = (const T *)f->x + 2 * NAME(first_lane)(f->lanes, g) * f->xl;
        CELL *cell = to + g;
        for (int64_t i = 0; i < given; i++, x += 2 * f->xe, cell += groups)
            *cell = NAME(swapped)(count < LEN ? CALL(take_some)(x, f->xl, count)
                                  : apart     ? CALL(take_apart)(x, f->xl)
                                              : CALL(take_next)(x),
                                  f->swap_in);
        for (int64_t i = given; i < f->n; i++, cell += groups) *cell = (CELL){CALL(zero)(), CALL(zero)()};
    }
}

static void NAME(store)(const fft_lanes *f, const CELL *from) {
    const int64_t groups = (f->lanes + LEN - 1) / LEN;
    const int apart = f->yl != 1;
    const VEC scale = CALL(set1)((T)f->scale);
    const int64_t count = f->lanes;
    for (int64_t g = 0; g < groups; g++) {
        T *y = (T *)f->y + 2 * NAME(first_lane)(f->lanes, g) * f->yl;
        const CELL *cell = from + g;
        for (int64_t i = 0; i < f->n; i++, y += 2 * f->ye, cell += groups) {
            CELL z = NAME(swapped)(*cell, f->swap_out);
            z.re = z.re * scale;
            z.im = z.im * scale;
            if (count < LEN)
                CALL(give_some)(y, f->yl, count, z);
            else if (apart)
                CALL(give_apart)(y, f->yl, z);
            else
                CALL(give_next)(y, z);
        }
    }
}

/* ---- a pass --------------------------------------------------------------------------------------- */

/* The twiddles of the transforms 1 .. r-1 at number k, for all lanes or for those of a group. */
FFT_INLINE CELL NAME(twiddle)(const fft_pass *p, int mode, int64_t j, int64_t k, int64_t g) {
    const T *w = (const T *)p->twiddles + 2 * (j - 1) * p->size;
    if (mode == FFT_ALIKE) return (CELL){CALL(set1)(w[2 * k]), CALL(set1)(w[2 * k + 1])};
    w += 2 * (p->lanes_apart * k + p->lane + NAME(first_lane)(p->lanes, g));
    return p->lanes < LEN ? CALL(take_some)(w, 1, p->lanes) : CALL(take_next)(w);
}

#define BUTTERFLY(R)                                                                                       \
    FFT_INLINE void NAME(butterflies_##R)(const fft_pass *p, const int mode, const CELL *from, CELL *to) { \
        const int64_t run = p->inner * p->groups, step = mode == FFT_BY_LANE ? p->groups : 1;              \
        const int64_t turns = mode == FFT_BY_LANE ? p->groups : 1, count = run / turns;                    \
        for (int64_t k = 0; k < p->m; k++)                                                                 \
            for (int64_t g = 0; g < turns; g++) {                                                          \
                CELL w[R];                                                                                 \
                const CELL *x = from + R * k * run + g;                                                    \
                CELL *y = to + k * run + g;                                                                \
                if (mode)                                                                                  \
                    _Pragma("GCC unroll 8") for (int j = 1; j < R; j++) w[j] =                             \
                        NAME(twiddle)(p, mode, j, k, g);                                                   \
                for (int64_t i = 0; i < count; i++, x += step, y += step) {                                \
                    VEC re[R], im[R];                                                                      \
                    _Pragma("GCC unroll 8") for (int j = 0; j < R; j++) {                                  \
                        re[j] = x[j * run].re;                                                             \
                        im[j] = x[j * run].im;                                                             \
                        if (mode && j) FFT_CAT(phx_fft_twiddle, VEC)(re + j, im + j, w[j].re, w[j].im);    \
                    }                                                                                      \
                    FFT_CAT(phx_fft##R, VEC)(re, im);                                                      \
                    _Pragma("GCC unroll 8") for (int q = 0; q < R; q++) {                                  \
                        y[q * p->m * run].re = re[q];                                                      \
                        y[q * p->m * run].im = im[q];                                                      \
                    }                                                                                      \
                }                                                                                          \
            }                                                                                              \
    }                                                                                                      \
    static void NAME(pass_##R)(const fft_pass *p, const CELL *from, CELL *to) {                            \
        if (p->mode == FFT_BY_LANE)                                                                        \
            NAME(butterflies_##R)(p, FFT_BY_LANE, from, to);                                               \
        else if (p->mode == FFT_ALIKE)                                                                     \
            NAME(butterflies_##R)(p, FFT_ALIKE, from, to);                                                 \
        else                                                                                               \
            NAME(butterflies_##R)(p, FFT_NONE, from, to);                                                  \
    }
BUTTERFLY(2)
BUTTERFLY(3)
BUTTERFLY(4)
BUTTERFLY(5)
BUTTERFLY(7)
BUTTERFLY(8)
#undef BUTTERFLY

/* The next place, q behind `at`, and its root. */
FFT_INLINE int64_t NAME(turn)(const T *roots, int64_t r, int64_t q, int64_t at, VEC *c, VEC *e) {
    at += q;
    at -= at >= r ? r : 0;
    *c = CALL(set1)(roots[2 * at]);
    *e = CALL(set1)(roots[2 * at + 1]);
    return at;
}

/* The sums of `count` products of roots with s, and with d, for the multiple q of their places from `at` on. */
FFT_INLINE int64_t NAME(block)(const T *roots, int64_t r, int64_t q, int64_t at, int64_t count, const CELL *s,
                               const CELL *d, CELL *m, CELL *n) {
    VEC c, e;
    at = NAME(turn)(roots, r, q, at, &c, &e);
    *m = (CELL){c * s[0].re, c * s[0].im};
    *n = (CELL){e * d[0].re, e * d[0].im};
    for (int64_t j = 1; j < count; j++) {
        at = NAME(turn)(roots, r, q, at, &c, &e);
        m->re = CALL(fma)(c, s[j].re, m->re);
        m->im = CALL(fma)(c, s[j].im, m->im);
        n->re = CALL(fma)(e, d[j].re, n->re);
        n->im = CALL(fma)(e, d[j].im, n->im);
    }
    return at;
}

FFT_INLINE CELL NAME(added)(CELL a, CELL b) { return (CELL){a.re + b.re, a.im + b.im}; }

/* Results q and r - q of a prime, whose numbers lie `apart`. */
FFT_INLINE void NAME(give_pair)(CELL *y, int64_t apart, int64_t r, int64_t q, CELL m, CELL n) {
    y[q * apart] = (CELL){m.re - n.im, m.im + n.re};
    y[(r - q) * apart] = (CELL){m.re + n.im, m.im - n.re};
}

/* One butterfly of an odd prime r: numbers `run` cells apart; sums and differences first, then results q and
 * r - q, two q at a time. */
static void NAME(prime)(const fft_pass *p, int64_t k, int64_t g, const CELL *x, CELL *y) {
    const int64_t r = p->r, half = r / 2, run = p->inner * p->groups, apart = p->m * run;
    const T *roots = (const T *)p->roots;
    CELL s[FFT_LARGEST / 2], d[FFT_LARGEST / 2], all = x[0], part = x[0];
    for (int64_t j = 0; j < half; j++) {
        CELL a = x[(j + 1) * run], b = x[(r - j - 1) * run];
        if (p->mode) {
            const CELL u = NAME(twiddle)(p, p->mode, j + 1, k, g), v = NAME(twiddle)(p, p->mode, r - j - 1, k, g);
            FFT_CAT(phx_fft_twiddle, VEC)(&a.re, &a.im, u.re, u.im);
            FFT_CAT(phx_fft_twiddle, VEC)(&b.re, &b.im, v.re, v.im);
        }
        s[j] = NAME(added)(a, b);
        d[j] = (CELL){a.re - b.re, a.im - b.im};
        part = j % FFT_BLOCK ? NAME(added)(part, s[j]) : s[j];
        if ((j + 1) % FFT_BLOCK == 0 || j + 1 == half) all = NAME(added)(all, part);
    }
    y[0] = all;
    for (int64_t q = 1; q <= half; q += 2) {
        const int64_t two = q < half ? q + 1 : q;
        int64_t at = 0, at2 = 0;
        CELL m = x[0], m2 = x[0], n = m, n2 = m;
        for (int64_t j = 0; j < half; j += FFT_BLOCK) {
            const int64_t count = half - j < FFT_BLOCK ? half - j : FFT_BLOCK;
            CELL bm, bn, bm2, bn2;
            if (count == FFT_BLOCK) {
                at = NAME(block)(roots, r, q, at, FFT_BLOCK, s + j, d + j, &bm, &bn);
                at2 = NAME(block)(roots, r, two, at2, FFT_BLOCK, s + j, d + j, &bm2, &bn2);
            } else {
                at = NAME(block)(roots, r, q, at, count, s + j, d + j, &bm, &bn);
                at2 = NAME(block)(roots, r, two, at2, count, s + j, d + j, &bm2, &bn2);
            }
            m = NAME(added)(m, bm);
            m2 = NAME(added)(m2, bm2);
            n = j ? NAME(added)(n, bn) : bn;
            n2 = j ? NAME(added)(n2, bn2) : bn2;
        }
        NAME(give_pair)(y, apart, r, q, m, n);
        NAME(give_pair)(y, apart, r, two, m2, n2);
    }
}

static void NAME(pass_prime)(const fft_pass *p, const CELL *from, CELL *to) {
    const int64_t run = p->inner * p->groups;
    for (int64_t k = 0; k < p->m; k++)
        for (int64_t i = 0; i < run; i++)
            NAME(prime)(p, k, i % p->groups, from + p->r * k * run + i, to + k * run + i);
}

/* ---- all passes ------------------------------------------------------------------------------------ */

/* Transform the lanes of f; room has space for two times f->n cells of each group. */
static void NAME(transform)(const fft_lanes *f, void *room) {
    const int64_t groups = (f->lanes + LEN - 1) / LEN;
    CELL *from = room, *to = from + f->n * groups;
    const char *w = f->twiddles;
    NAME(load)(f, from);
    fft_pass p = {.groups = groups, .m = 1, .lanes_apart = f->before, .lane = f->lane, .lanes = f->lanes};
    for (int i = 0; i < f->passes; i++) {
        const int r = f->radices[i];
        p.r = r;
        p.inner = f->n / (r * p.m);
        p.size = p.m * f->before;
        p.mode = f->before > 1 ? FFT_BY_LANE : p.m > 1 ? FFT_ALIKE
                                                       : FFT_NONE;
        p.twiddles = w;
        w += p.size > 1 ? 2 * (int64_t)sizeof(T) * (r - 1) * p.size : 0;
        p.roots = w;
        if (!fft_is_own(r)) w += 2 * (int64_t)sizeof(T) * r;
        switch (r) {
        case 1: continue;
        case 2: NAME(pass_2)(&p, from, to); break;
        case 3: NAME(pass_3)(&p, from, to); break;
        case 4: NAME(pass_4)(&p, from, to); break;
        case 5: NAME(pass_5)(&p, from, to); break;
        case 7: NAME(pass_7)(&p, from, to); break;
        case 8: NAME(pass_8)(&p, from, to); break;
        default: NAME(pass_prime)(&p, from, to);
        }
        CELL *const was = from;
        from = to;
        to = was;
        p.m *= r;
    }
    NAME(store)(f, from);
}

#undef CELL
#undef VEC
#undef LEN
#undef CALL
#undef NAME
#undef T
