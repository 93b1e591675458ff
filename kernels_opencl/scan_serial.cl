/* Running sums and products where a work-item is a core.
 *
 * A task is p.span blocks of a row, or of up to WIDTH columns, from the left. Where a row is several
 * tasks, the totals of all blocks (only = 1) come first, and `part` then has the carries behind them.
 * A program has the kernel for rows (BY_ROW), or the one for columns.
 */
#define CHAINS 4 /* tasks of rows side by side: one alone waits for every addition */
#define LEVELS 7 /* a row of 2^63 elements has 2^55 blocks, and 256^7 = 2^56 */
#define EACH _Pragma("unroll") for (u32 c = 0; c < CHAINS; c++)

/* Block number b has ended with `total`; carry[0] becomes what comes before block b + 1. Level l of carry
 * and running has what the scan of the totals of level l is up to: what came before its block, and the
 * running total in it. */
PHX_FN void scan_join(U *carry, U *running, U total, u64 b) {
    for (;; b /= BLOCK, total = *running, carry++, running++) {
        *running = b % BLOCK ? OP(*running, total) : total;
        *carry = b < BLOCK ? *running : OP(carry[1], *running);
        if (b % BLOCK != BLOCK - 1) return;
    }
}

#if BY_ROW
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
    U carries[CHAINS][LEVELS], running[CHAINS][LEVELS]; /* of rows that are one task */
    for (u64 first = begin; first < begin + apart; first++) {
        __global const T *x[CHAINS];
        __global T *y[CHAINS];
        __global U *own[CHAINS]; /* the total of the block, or the carry behind it */
        u64 block[CHAINS], left[CHAINS];
        EACH {
            const u64 task = first + c * apart < end ? first + c * apart : begin;
            const u64 row = task / p.spans;
            block[c] = (task - row * p.spans) * p.span;
            const u64 behind = p.n - block[c] * BLOCK;
            i64 in, out;
            row_place(&p, row, &in, &out);
            x[c] = PHX_DATA(x) + in + (i64)(block[c] * BLOCK) * p.sn;
            y[c] = PHX_DATA(y) + out + (i64)(block[c] * BLOCK) * p.yn;
            own[c] = PHX_DATA(part) + row * p.blocks + block[c];
            left[c] = behind < p.span * BLOCK ? behind : p.span * BLOCK;
            if (first + c * apart >= end) left[c] = 0;
        }
        for (;;) {
            u32 n[CHAINS], least = BLOCK, most = 0;
            U a[CHAINS], carry[CHAINS];
            i32 carried[CHAINS];
            EACH {
                n[c] = (u32)(left[c] < BLOCK ? left[c] : BLOCK);
                least = n[c] < least ? n[c] : least;
                most = n[c] > most ? n[c] : most;
                carried[c] = n[c] > 0 && block[c] > 0 && !only;
                carry[c] = FIRST;
                if (carried[c]) carry[c] = p.spans > 1 ? own[c][-1] : carries[c][0];
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
                if (n[c] && only)
                    *own[c] = a[c];
                else if (n[c] && p.spans == 1)
                    scan_join(carries[c], running[c], a[c], block[c]);
                block[c]++;
                own[c]++;
                x[c] += (i64)n[c] * p.sn;
                y[c] += (i64)n[c] * p.yn;
                left[c] -= n[c];
            }
        }
    }
}

#else
/* Blocks from number `block` on of up to WIDTH columns, n rows in all. The totals or the carries of two
 * columns are `blocks` apart; without either there are all blocks, and no other task of the columns. */
PHX_FN void scan_tile(__global const T *x, __global T *y, u64 block, const u64 n, const u32 cols,
                      const i64 sn, const i64 yn, const i64 xc, const i64 yc,
                      __global const U *carries, const u64 blocks, __global U *totals) {
    U a[WIDTH], carry[WIDTH], before[WIDTH][LEVELS], running[WIDTH][LEVELS];
    for (u64 b = 0; b < n; b += BLOCK, block++) {
        const u64 end = n - b < BLOCK ? n : b + BLOCK;
        const i32 carried = block > 0;
        for (u32 t = 0; t < cols; t++) {
            a[t] = carry[t] = FIRST;
            if (carried && !totals)
                carry[t] = carries ? carries[t * blocks + b / BLOCK] : before[t][0];
        }
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
        else if (!carries)
            for (u32 t = 0; t < cols; t++) scan_join(before[t], running[t], a[t], block);
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
        __global const U *carries = p.spans > 1 && !only ? own - 1 : 0;
        if (p.xc == 1 && p.yc == 1)
            scan_tile(x, y, block, n, cols, p.sn, p.yn, 1, 1, carries, p.blocks, totals);
        else
            scan_tile(x, y, block, n, cols, p.sn, p.yn, p.xc, p.yc, carries, p.blocks, totals);
    }
}
#endif
