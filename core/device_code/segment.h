/* Sums of rows by target. The rows of a target are those whose places stand between two bounds of `order`; V
 * is an element in memory, S in arithmetic; RUN rows are added from the left. */

/* Where the rows of each target begin, by binary search; bound n is where those of the last one end. */
PHX_KERNEL(GROUP) bounds(PHX_INPUT(i64, ids), PHX_INPUT(i64, order), PHX_OUTPUT(i64, starts),
        const u64 m, const u64 n, const i64 id_step) {
    for (u64 t = PHX_GLOBAL_ID(0); t <= n; t += PHX_GLOBAL_SIZE(0)) {
        u64 at = 0, rest = m;
        while (rest > 0) {
            const u64 half_ = rest / 2;
            const i64 id = PHX_DATA(ids)[PHX_DATA(order)[at + half_] * id_step];
            const int before = id < (i64)t;
            at = before ? at + half_ + 1 : at;
            rest = before ? rest - half_ - 1 : half_;
        }
        PHX_DATA(starts)[t] = (i64)at;
    }
}

/* The total of each run, of `width` numbers of a row from `first` on: run r of a target stands r behind
 * where its rows begin. */
PHX_KERNEL(GROUP) runs(PHX_INPUT(V, x), PHX_INPUT(i64, ids), PHX_INPUT(i64, order), PHX_INPUT(i64, starts),
        PHX_OUTPUT(S, totals), const u64 m, const u64 n, const u64 width, const u64 first,
        const i64 id_step, const i64 row_step) {
    for (u64 i = PHX_GLOBAL_ID(0); i < m * width; i += PHX_GLOBAL_SIZE(0)) {
        const u64 p = i / width, c = i % width;
        const i64 t = PHX_DATA(ids)[PHX_DATA(order)[p] * id_step];
        if (t < 0 || t >= (i64)n) continue;
        const u64 begin = (u64)PHX_DATA(starts)[t], place = p - begin;
        if (place % RUN) continue;
        const u64 end = PHX_MIN(p + RUN, (u64)PHX_DATA(starts)[t + 1]);
        S sum = TAKE(PHX_DATA(x)[PHX_DATA(order)[p] * row_step + (i64)(first + c)]);
    PHX_ORDERED
        for (u64 j = p + 1; j < end; j++)
            sum = ADD(sum, TAKE(PHX_DATA(x)[PHX_DATA(order)[j] * row_step + (i64)(first + c)]));
        PHX_DATA(totals)[(begin + place / RUN) * width + c] = sum;
    }
}

/* Totals are added in runs, too, until there is one. They are overwritten from the front. */
PHX_KERNEL(GROUP) join(PHX_INPUT(i64, starts), PHX_OUTPUT(S, totals), PHX_OUTPUT(V, y), const u64 n,
        const u64 width, const u64 first, const u64 whole) {
    for (u64 i = PHX_GLOBAL_ID(0); i < n * width; i += PHX_GLOBAL_SIZE(0)) {
        const u64 t = i / width, c = i % width;
        const u64 begin = (u64)PHX_DATA(starts)[t];
        u64 count = ((u64)PHX_DATA(starts)[t + 1] - begin + RUN - 1) / RUN;
        PHX_GLOBAL S *own = PHX_DATA(totals) + begin * width + c;
        S sum = ZERO;
        if (count > 0) sum = own[0];
        while (count > 1) {
            const u64 groups = (count + RUN - 1) / RUN;
            for (u64 g = 0; g < groups; g++) {
                const u64 end = PHX_MIN((g + 1) * RUN, count);
                sum = own[g * RUN * width];
                PHX_ORDERED
                for (u64 j = g * RUN + 1; j < end; j++) sum = ADD(sum, own[j * width]);
                own[g * width] = sum;
            }
            sum = own[0];
            count = groups;
        }
        PHX_DATA(y)[t * whole + first + c] = STORE(sum);
    }
}
