/* A pass of any other odd prime r: a work-item makes two results of one butterfly, q and r - q, or that of
 * q = 0. The roots exp(-2 pi i t / r) begin at `roots` in w.
 */
PHX_FN C fft_turned(PHX_GLOBAL const C *x, PHX_GLOBAL const C *w, u64 i, u64 j, u64 m, const row_plan *p,
        u64 given, u64 flags) {
    C z = fft_load(x, i, p, given, flags);
    if (m > 1 && j > 0) {
        const C t = w[(j - 1) * m];
        F re = z.re, im = z.im;
        TWIDDLE(&re, &im, t.re, t.im);
        z.re = re;
        z.im = im;
    }
    return z;
}

PHX_KERNEL(GROUP) fft_prime(PHX_INPUT(C, x), PHX_INPUT(C, w), PHX_OUTPUT(C, y), const row_plan p, const u64 given,
        const u64 r, const u64 m, const u64 first, const u64 roots, const u64 flags, const F scale) {
    const u64 pairs = r / 2;
    const place own = (place)(p.n / r), each = own * (place)(pairs + 1), inner = own / (place)m;
    const place rows = (place)p.tasks / each, stretch = inner * (place)m;
    for (place id = (place)PHX_GLOBAL_ID(0); id < (place)p.tasks; id += (place)PHX_GLOBAL_SIZE(0)) {
        const place row = flags & ROWS_FIRST ? id % rows : id / each;
        const place turn = flags & ROWS_FIRST ? id / rows : id - row * each;
        const place q = turn / stretch, kb = turn - q * stretch, k = kb / inner, b = kb - k * inner;
        i64 in, out;
        row_place(&p, row, &in, &out);
        PHX_GLOBAL const C *from = PHX_DATA(x) + in;
        PHX_GLOBAL const C *turns = PHX_DATA(w) + first + k;
        const u64 begin = b + inner * r * k;
        const C z = fft_turned(from, turns, begin, 0, m, &p, given, flags);
        F mr = z.re, mi = z.im, nr = (F)0, ni = (F)0;
        u64 at = 0;
        for (u64 block = 1; block <= pairs; block += PRIME_BLOCK) {
            const u64 end = PHX_MIN(block + PRIME_BLOCK, pairs + 1);
            F cr = (F)0, ci = (F)0, sr = (F)0, si = (F)0;
            for (u64 j = block; j < end; j++) {
                const C a = fft_turned(from, turns, begin + inner * j, j, m, &p, given, flags);
                const C b = fft_turned(from, turns, begin + inner * (r - j), r - j, m, &p, given, flags);
                at += q;
                at -= at >= r ? r : 0;
                const C root = PHX_DATA(w)[roots + at];
                const F er = a.re + b.re, ei = a.im + b.im, dr = a.re - b.re, di = a.im - b.im;
                const i32 first_one = j == block;
                cr = first_one ? root.re * er : FMA(root.re, er, cr);
                ci = first_one ? root.re * ei : FMA(root.re, ei, ci);
                sr = first_one ? root.im * dr : FMA(root.im, dr, sr);
                si = first_one ? root.im * di : FMA(root.im, di, si);
            }
            mr = mr + cr;
            mi = mi + ci;
            nr = block == 1 ? sr : nr + sr;
            ni = block == 1 ? si : ni + si;
        }
        PHX_GLOBAL C *to = PHX_DATA(y) + out + (i64)(b + inner * (k + q * m)) * p.yn;
        fft_store(to, q ? mr - ni : mr, q ? mi + nr : mi, scale, flags);
        if (q) {
            to = PHX_DATA(y) + out + (i64)(b + inner * (k + (r - q) * m)) * p.yn;
            fft_store(to, mr + ni, mi - nr, scale, flags);
        }
    }
}
