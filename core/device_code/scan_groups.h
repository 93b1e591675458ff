/* Running sums and products where a group has many work-items: each takes one block of one row.
 *
 * BY_ROW: elements pass through local memory, so that neighbours read neighbouring ones; else
 * neighbouring work-items have neighbouring columns. Where rows have more than one block, their totals
 * (only = 1) come first, and `part` then has the carries behind them.
 */
#define CHUNK 16 /* elements of each block that are in local memory at once */
#define PITCH (CHUNK + 1)

/* The block of a task, and where it lies; an empty one if there is none. */
typedef struct {
    u64 row, block;
    i64 in, out;
    u32 n;
} scan_slot;

PHX_FN scan_slot scan_slot_of(const row_plan *p, u64 task) {
    scan_slot s;
    const u64 above = BY_ROW ? task : task / p->cols;
    const u64 col = BY_ROW ? 0 : task - above * p->cols;
    const u64 outer = above / p->blocks;
    s.block = above - outer * p->blocks;
    s.row = outer * p->cols + col;
    s.n = 0;
    s.in = s.out = 0;
    if (task < p->tasks) {
        const i64 first = (i64)(s.block * BLOCK);
        s.n = row_count(p, s.block);
        row_place(p, outer, &s.in, &s.out);
        s.in += (i64)col * p->xc + first * p->sn;
        s.out += (i64)col * p->yc + first * p->yn;
    }
    return s;
}

PHX_KERNEL_OF(GROUP) scan_any(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_OUTPUT(U, part), const row_plan p, const u64 only) {
    const u32 id = (u32)PHX_LOCAL_ID(0);
    PHX_GLOBAL U *part = PHX_DATA(part);
#if BY_ROW
    PHX_LOCAL_ARRAY(U, tile, GROUP * PITCH);
    PHX_LOCAL_ARRAY(i64, ins, GROUP);
    PHX_LOCAL_ARRAY(i64, outs, GROUP);
    PHX_LOCAL_ARRAY(u32, counts, GROUP);
    PHX_LOCAL_ARRAY(u64, carries, GROUP);
#endif
    for (u64 turn = 0; turn < p.per; turn++) {
        const scan_slot s = scan_slot_of(&p, (PHX_GROUP_ID(0) * p.per + turn) * GROUP + id);
        const i32 carried = s.block > 0 && !only && s.n > 0;
        const u64 behind = s.row * p.blocks + s.block; /* its carry is just before */
        U a = FIRST;
#if BY_ROW
        carries[id] = carried ? behind : 0;
        ins[id] = s.in;
        outs[id] = s.out;
        counts[id] = s.n;
        for (u32 g = 0; g < BLOCK; g += CHUNK) {
            PHX_BARRIER();
            for (u32 k = id; k < GROUP * CHUNK; k += GROUP) {
                const u32 slot = k / CHUNK, i = k % CHUNK;
                if (g + i < counts[slot])
                    tile[slot * PITCH + i] = TAKE(PHX_DATA(x)[ins[slot] + (i64)(g + i) * p.sn]);
            }
            PHX_BARRIER();
    PHX_ORDERED
            for (u32 i = 0; i < CHUNK && g + i < s.n; i++)
                tile[id * PITCH + i] = a = NEXT(a, g + i > 0, tile[id * PITCH + i]);
            PHX_BARRIER();
            if (!only)
                for (u32 k = id; k < GROUP * CHUNK; k += GROUP) {
                    const u32 slot = k / CHUNK, i = k % CHUNK;
                    if (g + i < counts[slot]) {
                        const U v = tile[slot * PITCH + i];
                        const u64 carry = carries[slot];
                        PHX_DATA(y)[outs[slot] + (i64)(g + i) * p.yn] = STORE(carry ? OP(part[carry - 1], v) : v);
                    }
                }
        }
        PHX_BARRIER();
#else
        U carry = FIRST;
        if (carried) carry = part[behind - 1];
        PHX_ORDERED
        for (u32 i = 0; i < s.n; i++) {
            a = NEXT(a, i > 0, TAKE(PHX_DATA(x)[s.in + i * p.sn]));
            if (!only) PHX_DATA(y)[s.out + i * p.yn] = STORE(NEXT(carry, carried, a));
        }
#endif
        if (only && s.n > 0) part[behind] = a;
    }
}
