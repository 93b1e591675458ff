/* Products with more steps of k than a chain has: each block of GEMM_CHAIN steps is a product of its own, and
 * the sums of the blocks are joined by the tree of a reduction: for half = P/2, P/4, ... 1, where P is the
 * smallest power of two that is not below the number of blocks, block i < half takes in block i + half if
 * there is one.
 *
 * The tree is walked from its root, so that the sums of few blocks are in memory. Where the sums of a whole
 * branch fit, each thread takes blocks of its own, which never wait for each other; else all threads work on one
 * block at a time.
 */
#ifndef PHX_GEMM_JOIN_H
#define PHX_GEMM_JOIN_H

#include "gemm/gemm_blocks.h"

#define GEMM_TOGETHER (1 << 20) /* sums of a branch whose blocks the threads share */
#define GEMM_DOTS_ASIDE 4 /* blocks of two vectors at a time */
#define GEMM_TALL (GEMM_BLOCK_SUMS * (int64_t)GEMM_BLOCK_SUMS) /* elements of C whose sums are kept at a time */

typedef struct {
    const gemm_problem *q;
    char *sums; /* (blocks, m, n), or what the tree needs of it */
    int64_t area, blocks;
    int64_t together; /* blocks of a branch that the threads share; 1: they share each block */
    atomic_bool no_memory;
} gemm_join;

/* The sums of one block of k, into m x n numbers without gaps. */
static int gemm_block(gemm_join *join, int64_t block, char *sums) {
    gemm_problem part = *join->q;
    const int64_t p = block * GEMM_CHAIN, size = part.type->size;
    part.k = gemm_min(GEMM_CHAIN, part.k - p);
    part.a.data += p * part.a.cs * size;
    part.b.data += p * part.b.rs * size;
    part.c = sums;
    part.c_rs = part.n;
    part.c_cs = 1;
    part.wide = true;
    return gemm_chain(&part);
}

static char *gemm_sums(const gemm_join *join, int64_t place) {
    return join->sums + place * join->area * join->q->type->packed;
}

/* Some blocks of the tree, `count` of them from `first`, `step` apart, with sums from `place`. */
typedef struct {
    gemm_join *join;
    int64_t first, step, place;
} gemm_branch;

static void gemm_blocks_task(void *ctx, int64_t begin, int64_t end) {
    const gemm_branch *branch = ctx;
    gemm_join *join = branch->join;
    const gemm_problem *q = join->q;
    if (join->area == 1) {
        const int64_t first = begin * GEMM_DOTS_ASIDE, p = first * GEMM_CHAIN, size = q->type->size;
        q->type->dots(gemm_sums(join, first), gemm_min(end * GEMM_DOTS_ASIDE * GEMM_CHAIN, q->k) - p,
                      q->a.data + p * q->a.cs * size, q->a.cs, q->b.data + p * q->b.rs * size, q->b.rs);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        if (gemm_block(join, branch->first + i * branch->step, gemm_sums(join, branch->place + i)) != 0)
            atomic_store(&join->no_memory, true);
}

/* A branch of `count` blocks at once, each by one thread; the result is in its first place. */
static int gemm_join_flat(const gemm_branch *branch, int64_t count) {
    gemm_join *join = branch->join;
    int64_t half = 1;
    if (join->area == 1) /* all blocks are one branch */
        phx_parallel_for(gemm_ceil(count, GEMM_DOTS_ASIDE), 2, gemm_blocks_task, (void *)branch);
    else
        phx_parallel_for(count, 1 + 64 / join->area, gemm_blocks_task, (void *)branch);
    if (atomic_load(&join->no_memory)) return -1;
    while (half < count) half *= 2;
    while (half /= 2)
        join->q->type->add(gemm_sums(join, branch->place), gemm_sums(join, branch->place + half),
                           gemm_min(half, count - half) * join->area);
    return 0;
}

typedef struct {
    const gemm_type *type;
    char *to;
    const char *from;
} gemm_addition;

static void gemm_add_task(void *ctx, int64_t begin, int64_t end) {
    const gemm_addition *a = ctx;
    const int64_t at = begin * a->type->packed;
    a->type->add(a->to + at, a->from + at, end - begin);
}

/* The blocks first, first + step, first + 2 step, ... joined, into sums at `place`; what is behind them is free. */
static int gemm_join_deep(gemm_join *join, int64_t first, int64_t step, int64_t place) {
    const int64_t count = gemm_ceil(join->blocks - first, step);
    if (count == 1) return gemm_block(join, first, gemm_sums(join, place));
    if (count <= join->together) return gemm_join_flat(&(gemm_branch){join, first, step, place}, count);
    if (gemm_join_deep(join, first, 2 * step, place) != 0) return -1;
    if (gemm_join_deep(join, first + step, 2 * step, place + 1) != 0) return -1;
    gemm_addition add = {join->q->type, gemm_sums(join, place), gemm_sums(join, place + 1)};
    phx_parallel_for(join->area, GEMM_COPY, gemm_add_task, &add);
    return 0;
}

static void gemm_store_task(void *ctx, int64_t begin, int64_t end) {
    const gemm_join *join = ctx;
    const gemm_problem *q = join->q;
    for (int64_t i = begin; i < end; i++)
        q->type->store(q->c + i * q->c_rs * q->type->size, q->c_cs,
                       join->sums + i * q->n * q->type->packed, q->n);
}

static int64_t gemm_together(const gemm_join *join) {
    const int64_t fit = gemm_min(GEMM_TOGETHER / join->area, join->blocks);
    if (join->area * GEMM_CHAIN < GEMM_SERIAL) return join->blocks; /* one does not pay to be shared */
    return fit < 4 * (int64_t)phx_num_threads() ? 1 : fit;
}

/* C of at most GEMM_TALL elements. */
static int gemm_joined(const gemm_problem *q) {
    gemm_join join = {.q = q, .area = q->m * q->n, .blocks = gemm_ceil(q->k, GEMM_CHAIN)};
    join.together = gemm_together(&join);
    int64_t places = join.together, failed;
    for (int64_t rest = join.blocks; rest > join.together; rest = gemm_ceil(rest, 2)) places++;
    join.sums = malloc((size_t)(places * join.area * q->type->packed));
    if (!join.sums) return -1;
    failed = gemm_join_deep(&join, 0, 1, 0);
    if (!failed) phx_parallel_for(q->m, 1 + GEMM_COPY / q->n, gemm_store_task, &join);
    free(join.sums);
    return failed ? -1 : 0;
}

/* Any product with k > GEMM_CHAIN. */
static int gemm_long(const gemm_problem *q) {
    const int64_t size = q->type->size, rows = gemm_min(q->m, GEMM_BLOCK_SUMS);
    const int64_t columns = gemm_min(q->n, GEMM_TALL / rows);
    for (int64_t j = 0; j < q->n; j += columns)
        for (int64_t i = 0; i < q->m; i += rows) {
            gemm_problem part = *q;
            part.m = gemm_min(rows, q->m - i);
            part.n = gemm_min(columns, q->n - j);
            part.a.data += i * q->a.rs * size;
            part.b.data += j * q->b.cs * size;
            part.c += (i * q->c_rs + j * q->c_cs) * size;
            if (gemm_joined(&part) != 0) return -1;
        }
    return 0;
}

static void gemm_zero(const gemm_type *t, int64_t m, int64_t n, char *c, int64_t rs, int64_t cs) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            memset(c + (i * rs + j * cs) * t->size, 0, (size_t)t->size);
}

/* Inner products of rows that are an, bn apart. */
static void gemm_rows(const gemm_type *t, int64_t count, int64_t k, const char *a, int64_t an,
                      int64_t a_cs, const char *b, int64_t bn, int64_t b_rs, char *c, int64_t cn) {
    for (int64_t i = 0; i < count; i += 4) {
        double sums[8]; /* four of the widest */
        const int64_t rows = gemm_min(4, count - i);
        t->rows(sums, (int)rows - 1, k, a + i * an * t->size, an, a_cs, b + i * bn * t->size, bn,
                b_rs);
        t->store(c + i * cn * t->size, cn, sums, rows);
    }
}

static int gemm_run(const gemm_type *t, int64_t m, int64_t n, int64_t k, const void *a,
                    int64_t a_rs, int64_t a_cs, const void *b, int64_t b_rs, int64_t b_cs, void *c,
                    int64_t c_rs, int64_t c_cs) {
    if (m <= 0 || n <= 0)
        return 0;
    if (k <= 0) {
        gemm_zero(t, m, n, c, c_rs, c_cs);
        return 0;
    }
    if (m == 1 && n == 1 && k <= GEMM_CHAIN) {
        gemm_rows(t, 1, k, a, 0, a_cs, b, 0, b_rs, c, 0);
        return 0;
    }
    gemm_problem q = {t, m, n, k, {a, a_rs, a_cs}, {b, b_rs, b_cs}, c, c_rs, c_cs, false};
    /* The stride of a dimension of one element means nothing; 1 opens the fast ways. */
    if (n == 1)
        q.b.cs = q.c_cs = 1;
    if (k == 1)
        q.a.cs = 1;
    if (t->commutes && m != 1 && (n == 1 || (c_cs != 1 && c_rs == 1))) {
        q = (gemm_problem){t, n, m, k, {b, q.b.cs, b_rs}, {a, a_cs, a_rs}, c, q.c_cs, c_rs, false};
    }
    return k <= GEMM_CHAIN ? gemm_chain(&q) : gemm_long(&q);
}

#endif
