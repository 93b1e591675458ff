/* Where the rows of an operand lie in memory; written by rows.py. */
typedef struct {
    u64 n, blocks;   /* elements and blocks of a row */
    u64 cols;        /* rows side by side, xc and yc elements apart; 1 if they are taken one by one */
    u64 tiles;       /* of columns */
    u64 tasks, per;  /* all, and of one work-item or group */
    u64 span, spans; /* a row's blocks that are one task, and how many such tasks it has */
    i64 sn, yn, xc, yc;
    u64 ndim; /* the other kept axes */
    u64 extent[AXES];
    i64 xs[AXES], ys[AXES];
} row_plan;

/* The places of row `outer` of the kept axes in the input and in the output. */
PHX_FN void row_place(const row_plan *p, u64 outer, i64 *x, i64 *y) {
    i64 in = 0, out = 0;
    for (i32 d = (i32)p->ndim - 1; d >= 0; d--) {
        const u64 rest = d ? outer / p->extent[d] : 0;
        const i64 i = (i64)(outer - rest * p->extent[d]);
        in += i * p->xs[d];
        out += i * p->ys[d];
        outer = rest;
    }
    *x = in;
    *y = out;
}

/* How many elements a block has. */
PHX_FN u32 row_count(const row_plan *p, u64 block) {
    const u64 left = p->n - block * BLOCK;
    return (u32)(left < BLOCK ? left : BLOCK);
}

/* The task behind the last one of a work-item. */
PHX_FN u64 row_end(const row_plan *p, u64 begin) {
    return begin + p->per < p->tasks ? begin + p->per : p->tasks;
}
