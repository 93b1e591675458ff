/* A pass of one of the radices with a butterfly of their own: a work-item does one of them, in registers. */
PHX_KERNEL(GROUP) fft_pass(PHX_INPUT(C, x), PHX_INPUT(C, w), PHX_OUTPUT(C, y), const row_plan p, const u64 given,
        const u64 m, const u64 first, const u64 flags, const F scale) {
    const place each = (place)p.n / RADIX, inner = each / (place)m, rows = (place)p.tasks / each;
    for (place id = (place)PHX_GLOBAL_ID(0); id < (place)p.tasks; id += (place)PHX_GLOBAL_SIZE(0)) {
        const place row = flags & ROWS_FIRST ? id % rows : id / each;
        const place turn = flags & ROWS_FIRST ? id / rows : id - row * each;
        const place k = turn / inner, b = turn - k * inner;
        i64 in, out;
        row_place(&p, row, &in, &out);
        F re[RADIX], im[RADIX];
    PHX_UNROLL
        for (u32 j = 0; j < RADIX; j++) {
            const C z = fft_load(PHX_DATA(x) + in, b + inner * (j + RADIX * k), &p, given, flags);
            re[j] = z.re;
            im[j] = z.im;
        }
        if (m > 1) {
            PHX_UNROLL
            for (u32 j = 1; j < RADIX; j++) {
                const C t = PHX_DATA(w)[first + (j - 1) * m + k];
                TWIDDLE(re + j, im + j, t.re, t.im);
            }
        }
        BUTTERFLY(re, im);
        PHX_UNROLL
        for (u32 q = 0; q < RADIX; q++)
            fft_store(PHX_DATA(y) + out + (i64)(b + inner * (k + q * m)) * p.yn, re[q], im[q], scale, flags);
    }
}
