/* Template: eigenvalues and eigenvectors of Hermitian matrices of one dtype, by the steps of
 * core/device_code/factor_eigh.h. Included by factor_type.h, whose macros it takes. Columns of Q and of the
 * vectors need nothing of each other: panels of them stay in a near cache, and threads share them.
 */
#define PANEL 32
#define SWEEPS_AT_ONCE 64

typedef struct {
    T *a, *q;                      /* v of step k in row k of a, from its diagonal on; Q, later the vectors in rows */
    T *w, *p, *taus;
    F *d, *e, *turns;              /* diagonal, what is beside it, and (cosine, sine) of sweeps that wait */
    const T *before, *now;         /* v of the step before and of this one, or NULL */
    int64_t n, first, count, used; /* columns from `first` on; sweeps and turns that wait */
    int64_t from[SWEEPS_AT_ONCE], to[SWEEPS_AT_ONCE];
} NAME(hermitian);

/* row - v[j] conj(w) - w[j] conj(v) for columns [begin, end). */
static inline void NAME(less_outer)(T *restrict row, const T *restrict v, const T *restrict w, int64_t j,
                                    int64_t begin, int64_t end) {
    const T x = v[j], y = w[j];
    for (int64_t i = begin; i < end; i++) {
        const T less = STEP(minus_product)(row[i], x, STEP(conjugate)(w[i]));
        row[i] = STEP(minus_product)(less, y, STEP(conjugate)(v[i]));
    }
}

/* Finish the step before and begin p = A v of this one, for columns [begin, end) behind `first`. */
static void NAME(reduce)(void *ctx, int64_t begin, int64_t end) {
    const NAME(hermitian) *h = ctx;
    T *restrict p = h->p;
    begin += h->first;
    end += h->first;
    for (int64_t i = begin; i < end; i++) p[i] = ZERO;
    for (int64_t j = h->first; j < h->n; j++) {
        T *restrict row = h->a + j * h->n;
        if (h->before != NULL) NAME(less_outer)(row, h->before, h->w, j, begin, end);
        if (h->now == NULL) continue;
        const T v = h->now[j];
        for (int64_t i = begin; i < end; i++) p[i] = STEP(plus_inner)(p[i], row[i], v);
    }
}

/* Reflect the conjugates of row[0 .. m), whose lane is `lane`: row becomes v, *tau its factor; returns beta. */
static F NAME(reflect)(T *row, int64_t m, int64_t lane, T *tau) {
    F most = (F)0, squares[FACTOR_LANES] = {0};
    for (int64_t i = 0; i < m; i++) {
        const F part = STEP(largest_part)(row[i]);
        most = part > most ? part : most;
    }
    const F power = STEP_OF(power_below, F)(most);
    for (int64_t i = 1; i < m; i++) {
        F *s = &squares[(lane + i) % FACTOR_LANES];
        *s = STEP(plus_square)(*s, STEP(over)(row[i], power));
    }
    const F below = NAME(real_tree)(squares);
    const T alpha = STEP(conjugate)(row[0]);
    *tau = ZERO;
    row[0] = ONE;
    if (below == (F)0 && STEP(im)(alpha) == (F)0) {
        for (int64_t i = 1; i < m; i++) row[i] = ZERO;
        return STEP(re)(alpha);
    }
    const T small = STEP(over)(alpha, power);
    const F length = -REAL(copysign)(REAL(sqrt)(STEP(plus_square)(below, small)), STEP(re)(alpha));
    *tau = STEP(of_parts)((length - STEP(re)(small)) / length, -STEP(im)(small) / length);
    const T head = STEP(of_parts)(STEP(re)(small) - length, STEP(im)(small));
    for (int64_t i = 1; i < m; i++)
        row[i] = STEP(quotient)(STEP(over)(STEP(conjugate)(row[i]), power), head);
    return power * length;
}

/* The tridiagonal form; each pass over A ends one step and begins the next. */
static void NAME(tridiagonal)(NAME(hermitian) * h) {
    const int64_t n = h->n;
    T *a = h->a;
    h->before = NULL;
    for (int64_t k = 0; k + 1 < n; k++) {
        T *v = &AT(k, 0);
        h->d[k] = STEP(re)(AT(k, k));
        h->e[k] = NAME(reflect)(v + k + 1, n - k - 1, k + 1, &h->taus[k]);
        const T tau = h->taus[k];
        h->now = STEP(size)(tau) == (F)0 ? NULL : v;
        h->first = k + 1;
        phx_parallel_for(n - k - 1, 1 + 20000 / (n - k), NAME(reduce), h);
        h->before = h->now;
        if (h->now == NULL) continue;
        T g[FACTOR_LANES];
        for (int l = 0; l < FACTOR_LANES; l++) g[l] = ZERO;
        for (int64_t i = k + 1; i < n; i++) {
            T *s = &g[i % FACTOR_LANES];
            *s = STEP(plus_inner)(*s, v[i], h->p[i]);
        }
        const F sum = STEP(re)(NAME(lane_tree)(g));
        const T half = STEP(of_parts)((F)0.5 * STEP(plus_square)((F)0, tau) * sum, (F)0);
        for (int64_t i = k + 1; i < n; i++)
            h->w[i] = STEP(minus_product)(STEP(plus_product)(ZERO, tau, h->p[i]), half, v[i]);
        NAME(less_outer)(&AT(k + 1, 0), v, h->w, k + 1, k + 1, n);
    }
    h->d[n - 1] = STEP(re)(AT(n - 1, n - 1));
}

/* Columns of Q, a panel each. */
static void NAME(reflectors)(void *ctx, int64_t begin, int64_t end) {
    const NAME(hermitian) *h = ctx;
    const int64_t n = h->n;
    for (int64_t panel = begin; panel < end; panel++) {
        const int64_t c0 = panel * PANEL, c1 = c0 + PANEL < n ? c0 + PANEL : n;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = c0; c < c1; c++) h->q[i * n + c] = i == c ? ONE : ZERO;
        for (int64_t k = c1 - 2; k >= 0; k--) {
            const int64_t from = c0 > k + 1 ? c0 : k + 1, wide = c1 - from;
            const T *restrict v = h->a + k * n;
            T s[PANEL];
            if (STEP(size)(h->taus[k]) == (F)0) continue;
            for (int64_t c = 0; c < wide; c++) s[c] = ZERO;
            for (int64_t i = k + 1; i < n; i++) {
                const T *restrict row = h->q + i * n + from;
                for (int64_t c = 0; c < wide; c++) s[c] = STEP(plus_inner)(s[c], v[i], row[c]);
            }
            for (int64_t c = 0; c < wide; c++) s[c] = STEP(plus_product)(ZERO, h->taus[k], s[c]);
            for (int64_t i = k + 1; i < n; i++) {
                T *restrict row = h->q + i * n + from;
                for (int64_t c = 0; c < wide; c++) row[c] = STEP(minus_product)(row[c], v[i], s[c]);
            }
        }
    }
}

/* Turn rows from, from + 1, ... to of `wide` columns, pair after pair. */
static inline void NAME(turn)(T *restrict rows, int64_t n, int64_t count, const F *restrict turns, int64_t wide) {
    T u[PANEL];
    for (int64_t c = 0; c < wide; c++) u[c] = rows[c];
    for (int64_t k = 0; k < count; k++, rows += n) {
        const F cosine = turns[2 * k], sine = turns[2 * k + 1];
        for (int64_t c = 0; c < wide; c++) {
            const T v = rows[n + c];
            rows[c] = STEP(turned)(u[c], cosine, v, sine);
            u[c] = STEP(turned)(v, cosine, u[c], -sine);
        }
    }
    for (int64_t c = 0; c < wide; c++) rows[c] = u[c];
}

/* All sweeps that wait, for panels of columns of the vectors. */
static void NAME(turn_panels)(void *ctx, int64_t begin, int64_t end) {
    const NAME(hermitian) *h = ctx;
    const int64_t n = h->n;
    for (int64_t panel = begin; panel < end; panel++) {
        const int64_t wide = n - panel * PANEL;
        const F *turns = h->turns;
        for (int64_t s = 0; s < h->count; s++) {
            const int64_t count = h->to[s] - h->from[s];
            T *rows = h->q + h->from[s] * n + panel * PANEL;
            if (wide >= PANEL)
                NAME(turn)(rows, n, count, turns, PANEL);
            else
                NAME(turn)(rows, n, count, turns, wide);
            turns += 2 * count;
        }
    }
}

static void NAME(turn_all)(NAME(hermitian) * h) {
    const int64_t panels = (h->n + PANEL - 1) / PANEL;
    phx_parallel_for(panels, 1 + 2000 / (h->used + 1), NAME(turn_panels), h);
    h->count = h->used = 0;
}

/* One sweep of QR from row `first` to row `last`; its turns wait. */
static void NAME(chase)(NAME(hermitian) * h, int64_t first, int64_t last) {
    F *d = h->d, *e = h->e, *turns = h->turns + 2 * h->used;
    const F x = (d[last - 1] - d[last]) / ((F)2 * e[last - 1]);
    const F root = REAL(copysign)(REAL(sqrt)(REAL(fma)(x, x, (F)1)), x);
    F g = d[first] - d[last] + e[last - 1] / (x + root), c = (F)1, s = (F)1, p = (F)0;
    for (int64_t i = first; i < last; i++) {
        const F f = s * e[i], b = c * e[i], big = REAL(fabs)(f), other = REAL(fabs)(g);
        F r = g;
        c = (F)1;
        s = (F)0;
        if (f != (F)0) {
            const F power = STEP_OF(power_below, F)(big > other ? big : other), y = g / power, z = f / power;
            const F length = REAL(sqrt)(REAL(fma)(z, z, y * y));
            c = y / length;
            s = z / length;
            r = power * length;
        }
        if (i > first) e[i - 1] = r;
        const F here = d[i] - p, t = REAL(fma)(d[i + 1] - here, s, (F)2 * c * b);
        p = s * t;
        d[i] = here + p;
        g = REAL(fma)(c, t, -b);
        *turns++ = c;
        *turns++ = s;
    }
    d[last] = d[last] - p;
    e[last - 1] = g;
    h->from[h->count] = first;
    h->to[h->count++] = last;
    h->used += last - first;
}

/* QR until nothing is beside the diagonal; returns the sweeps, or -1. */
static F NAME(diagonal)(NAME(hermitian) * h) {
    const int64_t n = h->n, most = FACTOR_SWEEPS_A_ROW * (n > 10 ? n : 10);
    const F normal = STEP_OF(power_below, F)((F)0);
    int64_t sweeps = 0, last = n - 1;
    while (last > 0 && sweeps < most) {
        int64_t first = last;
        for (; first > 0; first--) {
            const F beside = REAL(fabs)(h->e[first - 1]);
            const F near = REAL(fabs)(h->d[first - 1]) + REAL(fabs)(h->d[first]);
            if (!(beside > (F)TINY * near && beside > normal)) break;
        }
        if (first > 0) h->e[first - 1] = (F)0;
        if (first == last) {
            last--;
            continue;
        }
        if (h->count == SWEEPS_AT_ONCE || h->used + last - first > 8 * n) NAME(turn_all)(h);
        NAME(chase)(h, first, last);
        sweeps++;
    }
    if (h->count) NAME(turn_all)(h);
    return last > 0 ? (F)-1 : (F)sweeps;
}

static void NAME(eigh)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t n = job->n;
    T *a = room;
    NAME(hermitian)
    h = {.a = a, .q = a + n * n, .n = n};
    h.w = h.q + n * n;
    h.p = h.w + n;
    h.taus = h.p + n;
    h.d = (F *)(h.taus + n);
    h.e = h.d + n;
    h.turns = h.e + n;
    NAME(move)(a, n, 1, (const T *)in, job->x[0], job->x[1], n, n);
    for (int64_t i = 0; i < n; i++) {
        AT(i, i) = STEP(of_parts)(STEP(re)(AT(i, i)), (F)0);
        for (int64_t j = i + 1; j < n; j++) AT(i, j) = STEP(conjugate)(AT(j, i));
    }
    NAME(tridiagonal)(&h);
    phx_parallel_for((n + PANEL - 1) / PANEL, 1 + 20000 / (n * n + 1), NAME(reflectors), &h);
    NAME(move)(a, n, 1, h.q, 1, n, n, n);
    h.q = a;
    const F count = NAME(diagonal)(&h);
    NAME(move)((T *)out, job->y[0], job->y[1], a, n, 1, n, n);
    T *made = (T *)out + n * job->y[0];
    for (int64_t j = 0; j < n; j++) {
        made[j * job->y[1]] = STEP(of_parts)(h.d[j], (F)0);
        made[job->y[0] + j * job->y[1]] = STEP(of_parts)(count, (F)0);
    }
}

#undef PANEL
#undef SWEEPS_AT_ONCE
