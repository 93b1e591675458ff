/* Running sums and products where a work-item is a core.
 *
 * A task is p.span blocks of a row, or of up to WIDTH columns, from the left. Where a row is several
 * tasks, the totals of all blocks (only = 1) and scan_carries come first.
 */
#define CHAINS 4 /* tasks of rows side by side: one alone waits for every addition */
#define EACH _Pragma("unroll") for (u32 c = 0; c < CHAINS; c++)

/* A block of each chain, their totals in a; `even`: all have n[0] = most elements, one beside the other. */
PHX_FN void scan_block(__global const T *const *x, __global T *const *y, const u32 *n, const u32 most,
                       const i32 even, const i32 only, const i64 sn, const i64 yn, const U *carry,
                       const i32 *carried, U *a) {
    EACH a[c] = FIRST;
    PHX_ORDERED
    for (u32 i = 0; i < most; i++) {
        EACH {
            if (!even && i >= n[c]) continue;
            a[c] = NEXT(a[c], i > 0, TAKE(x[c][i * sn]));
            if (!only) y[c][i * yn] = STORE(NEXT(carry[c], carried[c], a[c]));
        }
    }
}

SERIAL scan_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_OUTPUT(U, part), const row_plan p, const u64 only) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    const u64 apart = (end - begin + CHAINS - 1) / CHAINS;
    for (u64 first = begin; first < begin + apart; first++) {
        __global const T *x[CHAINS];
        __global T *y[CHAINS];
        __global U *total[CHAINS];
        u64 left[CHAINS];
        U carry[CHAINS];
        i32 carried[CHAINS];
        EACH {
            const u64 task = first + c * apart < end ? first + c * apart : begin;
            const u64 row = task / p.spans, block = (task - row * p.spans) * p.span;
            const u64 behind = p.n - block * BLOCK;
            i64 in, out;
            row_place(&p, row, &in, &out);
            x[c] = PHX_DATA(x) + in + (i64)(block * BLOCK) * p.sn;
            y[c] = PHX_DATA(y) + out + (i64)(block * BLOCK) * p.yn;
            total[c] = PHX_DATA(part) + row * p.blocks + block;
            left[c] = behind < p.span * BLOCK ? behind : p.span * BLOCK;
            if (first + c * apart >= end) left[c] = 0;
            carried[c] = block > 0 && !only;
            carry[c] = FIRST;
            if (carried[c]) carry[c] = total[c][-1];
        }
        for (;;) {
            u32 n[CHAINS], least = BLOCK, most = 0;
            U a[CHAINS];
            EACH {
                n[c] = (u32)(left[c] < BLOCK ? left[c] : BLOCK);
                least = n[c] < least ? n[c] : least;
                most = n[c] > most ? n[c] : most;
            }
            if (most == 0) break;
            const i32 even = least == most && p.sn == 1 && p.yn == 1;
            if (even && only)
                scan_block(x, y, n, most, 1, 1, 1, 1, carry, carried, a);
            else if (even)
                scan_block(x, y, n, most, 1, 0, 1, 1, carry, carried, a);
            else if (only)
                scan_block(x, y, n, most, 0, 1, p.sn, p.yn, carry, carried, a);
            else
                scan_block(x, y, n, most, 0, 0, p.sn, p.yn, carry, carried, a);
            EACH {
                if (only && n[c]) *total[c]++ = a[c];
                carry[c] = NEXT(carry[c], carried[c], a[c]);
                carried[c] = 1;
                x[c] += (i64)n[c] * p.sn;
                y[c] += (i64)n[c] * p.yn;
                left[c] -= n[c];
            }
        }
    }
}

/* Up to WIDTH columns; the carries and totals of two of them are `blocks` apart. */
PHX_FN void scan_tile(__global const T *x, __global T *y, const u64 n, const u32 cols, const i64 sn,
                      const i64 yn, const i64 xc, const i64 yc, __global const U *carries, const u64 blocks,
                      __global U *totals) {
    U a[WIDTH], carry[WIDTH];
    i32 carried = carries != 0;
    for (u32 t = 0; t < cols; t++) {
        carry[t] = FIRST;
        if (carried) carry[t] = carries[t * blocks];
    }
    for (u64 b = 0; b < n; b += BLOCK) {
        const u64 end = n - b < BLOCK ? n : b + BLOCK;
        for (u32 t = 0; t < cols; t++) a[t] = FIRST;
        for (u64 i = b; i < end; i++) {
            __global const T *from = x + (i64)i * sn;
            __global T *to = y + (i64)i * yn;
            if (totals)
                for (u32 t = 0; t < cols; t++) a[t] = NEXT(a[t], i > b, TAKE(from[t * xc]));
            else
                for (u32 t = 0; t < cols; t++) {
                    a[t] = NEXT(a[t], i > b, TAKE(from[t * xc]));
                    to[t * yc] = STORE(NEXT(carry[t], carried, a[t]));
                }
        }
        if (totals)
            for (u32 t = 0; t < cols; t++) totals[t * blocks + b / BLOCK] = a[t];
        else
            for (u32 t = 0; t < cols; t++) carry[t] = NEXT(carry[t], carried, a[t]);
        carried = 1;
    }
}

SERIAL scan_columns(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_OUTPUT(U, part), const row_plan p,
                    const u64 only) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    __global U *part = PHX_DATA(part);
    for (u64 task = begin; task < end; task++) {
        const u64 above = task / p.tiles, col = (task - above * p.tiles) * WIDTH;
        const u64 outer = above / p.spans, block = (above - outer * p.spans) * p.span;
        const u64 first = block * BLOCK;
        const u64 left = p.n - first, n = left < p.span * BLOCK ? left : p.span * BLOCK;
        const u32 cols = (u32)(p.cols - col < WIDTH ? p.cols - col : WIDTH);
        __global U *own = part + (outer * p.cols + col) * p.blocks + block;
        i64 in, out;
        row_place(&p, outer, &in, &out);
        __global const T *x = PHX_DATA(x) + in + (i64)col * p.xc + (i64)first * p.sn;
        __global T *y = PHX_DATA(y) + out + (i64)col * p.yc + (i64)first * p.yn;
        __global U *totals = only ? own : 0;
        __global const U *carries = block > 0 && !only ? own - 1 : 0;
        if (p.xc == 1 && p.yc == 1)
            scan_tile(x, y, n, cols, p.sn, p.yn, 1, 1, carries, p.blocks, totals);
        else
            scan_tile(x, y, n, cols, p.sn, p.yn, p.xc, p.yc, carries, p.blocks, totals);
    }
}

/* The totals of the blocks of a row become the carries behind them. */
SERIAL scan_carries(PHX_OUTPUT(U, part), const row_plan p) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    for (u64 row = begin; row < end; row++) {
        __global U *total = PHX_DATA(part) + row * p.blocks;
        U a = total[0];
        PHX_ORDERED
        for (u64 b = 1; b < p.blocks; b++) total[b] = a = OP(a, total[b]);
    }
}
