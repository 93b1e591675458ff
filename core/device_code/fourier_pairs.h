/* What is before and behind a transform of pairs of real numbers: a work-item makes one number of it.
 *
 * Rows have p.n numbers, m or m + 1 of them, of which x has `given`; zeros follow.
 */
PHX_KERNEL(GROUP) fft_from_pairs(PHX_INPUT(C, x), PHX_INPUT(C, w), PHX_OUTPUT(C, y), const row_plan p,
        const u64 given, const F scale) {
    const u64 m = p.n - 1;
    for (place id = (place)PHX_GLOBAL_ID(0); id < (place)p.tasks; id += (place)PHX_GLOBAL_SIZE(0)) {
        const place row = id / (place)p.n, k = id - row * (place)p.n;
        i64 in, out;
        row_place(&p, row, &in, &out);
        const C a = fft_load(PHX_DATA(x) + in, k < m ? k : 0, &p, given, 0);
        const C b = fft_load(PHX_DATA(x) + in, k ? m - k : 0, &p, given, 0), t = PHX_DATA(w)[k];
        F re = a.re, im = a.im;
        FROM_PAIRS(&re, &im, b.re, b.im, t.re, t.im);
        fft_store(PHX_DATA(y) + out + (i64)k * p.yn, re, im, scale, 0);
    }
}

/* The first and the last number of a Hermitian row count as real. */
PHX_KERNEL(GROUP) fft_to_pairs(PHX_INPUT(C, x), PHX_INPUT(C, w), PHX_OUTPUT(C, y), const row_plan p,
        const u64 given, const F scale) {
    for (place id = (place)PHX_GLOBAL_ID(0); id < (place)p.tasks; id += (place)PHX_GLOBAL_SIZE(0)) {
        const place row = id / (place)p.n, k = id - row * (place)p.n;
        i64 in, out;
        row_place(&p, row, &in, &out);
        const C a = fft_load(PHX_DATA(x) + in, k, &p, given, 0);
        const C b = fft_load(PHX_DATA(x) + in, p.n - k, &p, given, 0), t = PHX_DATA(w)[k];
        F re = a.re, im = k ? a.im : (F)0;
        TO_PAIRS(&re, &im, b.re, k ? b.im : (F)0, t.re, t.im);
        fft_store(PHX_DATA(y) + out + (i64)k * p.yn, re, im, scale, 0);
    }
}
