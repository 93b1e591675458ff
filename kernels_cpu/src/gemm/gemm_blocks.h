/* The blocked matrix product for every element type: what to pack, in which blocks, on which
 * thread.
 *
 * A gemm_type says how; gemm_chain walks C in blocks of at most GEMM_BLOCK x GEMM_BLOCK, and in each
 * block k in steps of at most kc. A step has two phases: strips of A and B are packed, then groups
 * of tiles are computed. C itself holds the unfinished sums (exactly), or a block of the
 * accumulation type does where C's own type is narrower or its columns are not neighbours; a last
 * phase then stores that block.
 */
#ifndef PHX_GEMM_BLOCKS_H
#define PHX_GEMM_BLOCKS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/parallel.h"

#define GEMM_STRIP_SLACK 64        /* bytes behind a packed strip that packing may overwrite */
#define GEMM_STAGE 64        /* steps of k converted at a time while packing */
#define GEMM_CHAIN PHX_GEMM_CHAIN /* steps of k of one chain: of core/optable/structured.py */
#define GEMM_BLOCK 4096      /* rows and columns of C per block: bounds the packed memory */
#define GEMM_BLOCK_SUMS 2048      /* the same where C cannot hold the sums */
#define GEMM_SERIAL (1 << 22) /* multiply-adds below which threads cost more than they bring */
#define GEMM_FEW_ROWS 28        /* rows of A for which packing B does not pay */
#define GEMM_FEW_STRIPS 4       /* strips of B for which packing the rows of a tall A does not pay */
#define GEMM_GROUP_MIN (1 << 19) /* multiply-adds per item, at least */
#define GEMM_GROUP_MAX (1 << 24) /* and at most */
#define GEMM_GROUP_ROWS 112   /* rows of A that share a strip of B: their strips fill a part of the second cache */
#define GEMM_COPY (1 << 15) /* elements copied per item of packing or storing */
#define GEMM_SEGMENT 2048 /* bytes of the rows of B that a share of a vector's product reads, if there are enough */
#define GEMM_UNPACKED (1 << 20) /* multiply-adds below which packing costs more than it brings */

static inline void gemm_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* One tile: C[mr, nr] = A @ B, or C + A @ B with accumulate; strides in elements. */
typedef struct {
    int mr, nr;
    int64_t k;
    const void *a;
    int64_t a_rs, a_cs;
    const void *b;
    int64_t b_rs;
    void *c;
    int64_t c_rs;
    bool accumulate;
} gemm_tile;

/* How one element type is multiplied. */
typedef struct {
    int mr, nr, kc; /* tile, and steps of k per pass */
    int64_t size;   /* bytes of a stored element */
    int64_t packed; /* bytes of a packed element and of a sum */
    bool direct;    /* tiles can read A and B where they are */
    bool commutes;  /* (A B)^T = B^T A^T holds bit by bit */
    void (*pack)(void *dst, int width, const void *src, int count, int64_t ws, int64_t k,
                 int64_t ks);
    void (*tile)(const gemm_tile *t);
    /* dst[j cs] = src[j], in the stored type. */
    void (*store)(void *dst, int64_t cs, const void *src, int64_t n);
    /* y = x @ B with contiguous x and y, one stride of B being 1; may be NULL. */
    void (*vector)(void *y, int64_t n, int64_t k, const void *x, const void *b, int64_t rs,
                   int64_t cs);
    void (*add)(void *to, const void *from, int64_t n); /* sums onto sums */
    /* The inner product of each block of GEMM_CHAIN of k steps. */
    void (*dots)(void *sums, int64_t k, const void *a, int64_t as, const void *b, int64_t bs);
    /* Those of last + 1 rows, four at most, which are an and bn apart; k is at most GEMM_CHAIN. */
    void (*rows)(void *sums, int last, int64_t k, const void *a, int64_t an, int64_t as, const void *b, int64_t bn,
                 int64_t bs);
} gemm_type;

typedef struct {
    const char *data;
    int64_t rs, cs;
} gemm_operand;

/* The whole problem, after gemm_run (gemm_join.h) has put it into its simplest form. */
typedef struct {
    const gemm_type *type;
    int64_t m, n, k;
    gemm_operand a, b;
    char *c;
    int64_t c_rs, c_cs;
    bool wide; /* C has sums, not stored elements; its columns are neighbours */
} gemm_problem;

/* How a problem is cut up; the same for every thread. */
typedef struct {
    gemm_problem q;
    int64_t block_m, block_n, kc;
    int mr, nr;                /* rows and columns per strip, at most the tile's */
    int64_t strip_a, strip_b;  /* bytes of a packed strip */
    char *packed_a, *packed_b; /* NULL: read in place */
    char *sums;                /* NULL: C holds the sums */
    int64_t steps, phases;
    int threads;
    atomic_int_fast64_t taken, done; /* items of all phases, in order */
} gemm_plan;

/* One step of k in one block of C. */
typedef struct {
    int64_t i, j, p; /* where the block and the step begin */
    int64_t m, n, k;
    gemm_operand a, b; /* the step's part of A and B */
    char *c;
    int64_t c_rs;
    int64_t strips_m, strips_n;
    int64_t group_m, group_n; /* strips per item of the compute phase */
    int64_t per_item;         /* strips or rows per item of the other phases */
    int64_t items;
} gemm_step;

enum { GEMM_PACK,
       GEMM_COMPUTE,
       GEMM_STORE };

static inline int64_t gemm_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gemm_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Parts of n of nearly equal size, none above most. */
static inline int64_t gemm_even(int64_t n, int64_t most) {
    return gemm_ceil(n, gemm_ceil(n, most));
}

/* Strips of the block, A's then B's: numbers from begin to end. */
static void gemm_pack(const gemm_plan *plan, const gemm_step *s, int64_t begin, int64_t end) {
    const gemm_type *t = plan->q.type;
    const int64_t strips_a = plan->packed_a ? s->strips_m : 0;
    for (int64_t i = begin; i < end; i++) {
        if (i < strips_a) {
            const int64_t row = i * plan->mr;
            t->pack(plan->packed_a + i * plan->strip_a, t->mr, s->a.data + row * s->a.rs * t->size,
                    (int)gemm_min(plan->mr, s->m - row), s->a.rs, s->k, s->a.cs);
        } else {
            const int64_t column = (i - strips_a) * plan->nr;
            t->pack(plan->packed_b + (i - strips_a) * plan->strip_b, t->nr,
                    s->b.data + column * s->b.cs * t->size, (int)gemm_min(plan->nr, s->n - column),
                    s->b.cs, s->k, s->b.rs);
        }
    }
}

/* One group of tiles. A strip of B stays in the nearest caches while A's strips pass by. */
static void gemm_compute(const gemm_plan *plan, const gemm_step *s, int64_t group) {
    const gemm_type *t = plan->q.type;
    const int64_t groups_m = gemm_ceil(s->strips_m, s->group_m);
    const int64_t i0 = group % groups_m * s->group_m, i1 = gemm_min(i0 + s->group_m, s->strips_m);
    const int64_t j0 = group / groups_m * s->group_n, j1 = gemm_min(j0 + s->group_n, s->strips_n);
    gemm_tile tile = {.k = s->k, .c_rs = s->c_rs, .accumulate = s->p > 0};
    tile.a_rs = plan->packed_a ? 1 : s->a.rs;
    tile.a_cs = plan->packed_a ? t->mr : s->a.cs;
    tile.b_rs = plan->packed_b ? t->nr : s->b.rs;
    for (int64_t j = j0; j < j1; j++) {
        const int64_t column = j * plan->nr;
        tile.nr = (int)gemm_min(plan->nr, s->n - column);
        tile.b = plan->packed_b ? plan->packed_b + j * plan->strip_b : s->b.data + column * t->size;
        for (int64_t i = i0; i < i1; i++) {
            const int64_t row = i * plan->mr;
            tile.mr = (int)gemm_min(plan->mr, s->m - row);
            tile.a = plan->packed_a ? plan->packed_a + i * plan->strip_a
                                    : s->a.data + row * s->a.rs * t->size;
            tile.c = s->c + (row * s->c_rs + column) * t->packed;
            t->tile(&tile);
        }
    }
}

/* Rows of the block of sums into C, rounded to its type. */
static void gemm_store(const gemm_plan *plan, const gemm_step *s, int64_t begin, int64_t end) {
    const gemm_problem *q = &plan->q;
    for (int64_t i = begin; i < end; i++)
        q->type->store(q->c + ((s->i + i) * q->c_rs + s->j * q->c_cs) * q->type->size, q->c_cs,
                       plan->sums + i * s->n * q->type->packed, s->n);
}

/* Groups of tiles: a few for each thread, but not so small that fetching them costs, nor too large
 * for their strips of A to stay in the second cache. */
static void gemm_choose_groups(const gemm_plan *plan, gemm_step *s) {
    const int64_t tile = (int64_t)plan->mr * plan->nr * s->k;
    const int64_t share = s->strips_m * s->strips_n * tile / (6 * plan->threads);
    const int64_t work = share < GEMM_GROUP_MIN ? GEMM_GROUP_MIN : gemm_min(share, GEMM_GROUP_MAX);
    s->group_m = gemm_even(s->strips_m, GEMM_GROUP_ROWS / plan->mr);
    s->group_n = gemm_even(s->strips_n, 1 + work / (tile * s->group_m));
}

/* What phase number `phase` works on; returns its kind. Items is 0 where there is nothing to do. */
static int gemm_describe(const gemm_plan *plan, int64_t phase, gemm_step *s) {
    const gemm_problem *q = &plan->q;
    const int64_t size = q->type->size;
    const int64_t per_block = 2 * plan->steps + 1, block = phase / per_block,
                  rest = phase % per_block;
    const int64_t blocks_m = gemm_ceil(q->m, plan->block_m);
    s->i = block % blocks_m * plan->block_m;
    s->j = block / blocks_m * plan->block_n;
    s->p = rest / 2 * plan->kc;
    s->m = gemm_min(plan->block_m, q->m - s->i);
    s->n = gemm_min(plan->block_n, q->n - s->j);
    s->k = gemm_min(plan->kc, q->k - s->p);
    if (rest == 2 * plan->steps) {
        s->per_item = 1 + GEMM_COPY / s->n;
        s->items = plan->sums ? gemm_ceil(s->m, s->per_item) : 0;
        return GEMM_STORE;
    }
    s->a = (gemm_operand){q->a.data + (s->i * q->a.rs + s->p * q->a.cs) * size, q->a.rs, q->a.cs};
    s->b = (gemm_operand){q->b.data + (s->p * q->b.rs + s->j * q->b.cs) * size, q->b.rs, q->b.cs};
    s->c = plan->sums ? plan->sums : q->c + (s->i * q->c_rs + s->j) * q->type->packed;
    s->c_rs = plan->sums ? s->n : q->c_rs;
    s->strips_m = gemm_ceil(s->m, plan->mr);
    s->strips_n = gemm_ceil(s->n, plan->nr);
    if (rest % 2 == 0) {
        const int64_t strips =
            (plan->packed_a ? s->strips_m : 0) + (plan->packed_b ? s->strips_n : 0);
        s->per_item = 1 + GEMM_COPY / (s->k * plan->nr);
        s->items = gemm_ceil(strips, s->per_item);
        return GEMM_PACK;
    }
    gemm_choose_groups(plan, s);
    s->items = gemm_ceil(s->strips_m, s->group_m) * gemm_ceil(s->strips_n, s->group_n);
    return GEMM_COMPUTE;
}

static void gemm_do_item(const gemm_plan *plan, const gemm_step *s, int kind, int64_t item) {
    const int64_t begin = item * s->per_item;
    if (kind == GEMM_COMPUTE) {
        gemm_compute(plan, s, item);
    } else if (kind == GEMM_PACK) {
        const int64_t strips =
            (plan->packed_a ? s->strips_m : 0) + (plan->packed_b ? s->strips_n : 0);
        gemm_pack(plan, s, begin, gemm_min(begin + s->per_item, strips));
    } else {
        gemm_store(plan, s, begin, gemm_min(begin + s->per_item, s->m));
    }
}

static void gemm_serial(const gemm_plan *plan) {
    gemm_step step;
    for (int64_t phase = 0; phase < plan->phases; phase++) {
        const int kind = gemm_describe(plan, phase, &step);
        for (int64_t item = 0; item < step.items; item++)
            gemm_do_item(plan, &step, kind, item);
    }
}

/* Wait until `count` items are done. Their owners are running, so this is short; yield for the case
 * that one of them has lost its core. */
static void gemm_wait(gemm_plan *plan, int64_t count) {
    for (int spins = 0; atomic_load_explicit(&plan->done, memory_order_acquire) < count; spins++) {
        if (spins < 1000)
            gemm_pause();
        else
            sched_yield();
    }
}

/* A thread's share: takes items in order until none is left. An item may begin when all items of
 * earlier phases are done. However many threads join, and however late, every item is done once. */
static void gemm_share(void *ctx, int64_t begin, int64_t end) {
    (void)begin;
    (void)end;
    gemm_plan *plan = ctx;
    gemm_step step;
    int64_t phase = 0, start = 0; /* the number of the phase's first item */
    int kind = gemm_describe(plan, 0, &step);
    for (;;) {
        const int64_t ticket = atomic_fetch_add(&plan->taken, 1);
        while (ticket >= start + step.items) {
            start += step.items;
            if (++phase == plan->phases)
                return;
            kind = gemm_describe(plan, phase, &step);
        }
        gemm_wait(plan, start);
        gemm_do_item(plan, &step, kind, ticket - start);
        atomic_fetch_add_explicit(&plan->done, 1, memory_order_release);
    }
}

/* Memory of one call: packed A, packed B, sums of a block; one allocation. */
typedef struct {
    char *base;
    char *a, *b, *sums;
} gemm_memory;

static int gemm_allocate(gemm_memory *memory, int64_t bytes_a, int64_t bytes_b,
                         int64_t bytes_sums) {
    const int64_t a = (bytes_a + 63) & -64, b = (bytes_b + 63) & -64, c = (bytes_sums + 63) & -64;
    *memory = (gemm_memory){NULL, NULL, NULL, NULL};
    if (a + b + c == 0)
        return 0;
    memory->base = aligned_alloc(64, (size_t)(a + b + c));
    if (!memory->base)
        return -1;
    memory->a = a ? memory->base : NULL;
    memory->b = b ? memory->base + a : NULL;
    memory->sums = c ? memory->base + a + b : NULL;
    return 0;
}

/* Cut the problem up and get the memory for it. */
static int gemm_make_plan(gemm_plan *plan, gemm_memory *memory, const gemm_problem *q) {
    const gemm_type *t = q->type;
    const int64_t area = q->m * q->n, work = area < GEMM_SERIAL ? area * q->k : area;
    const bool small = work < GEMM_UNPACKED;
    /* Strips of B whose rows of A, where they are, stay in the first cache: packing would cost more. */
    const int64_t narrow = q->a.cs == 1 && q->m >= q->k ? GEMM_FEW_STRIPS * t->nr : t->nr;
    const bool pack_a = !t->direct || !(small || q->n <= narrow);
    const bool pack_b = !t->direct || q->b.cs != 1 || !(small || q->m <= GEMM_FEW_ROWS);
    const bool in_place = q->wide || (t->size == t->packed && q->c_cs == 1);
    const int64_t block = in_place ? GEMM_BLOCK : GEMM_BLOCK_SUMS;
    *plan = (gemm_plan){.q = *q, .nr = t->nr};
    plan->block_m = in_place && !pack_a ? q->m : gemm_min(q->m, block / t->mr * t->mr);
    plan->block_n = gemm_min(q->n, block / t->nr * t->nr);
    plan->mr = (int)gemm_even(plan->block_m, t->mr);
    plan->kc = gemm_even(q->k, t->kc);
    plan->steps = gemm_ceil(q->k, plan->kc);
    plan->phases =
        gemm_ceil(q->m, plan->block_m) * gemm_ceil(q->n, plan->block_n) * (2 * plan->steps + 1);
    plan->threads = work < GEMM_SERIAL ? 1 : phx_num_threads();
    plan->strip_a = (t->mr * plan->kc * t->packed + GEMM_STRIP_SLACK + 63) & -64;
    plan->strip_b = (t->nr * plan->kc * t->packed + GEMM_STRIP_SLACK + 63) & -64;
    if (gemm_allocate(memory, pack_a ? gemm_ceil(plan->block_m, plan->mr) * plan->strip_a : 0,
                      pack_b ? gemm_ceil(plan->block_n, plan->nr) * plan->strip_b : 0,
                      in_place ? 0 : plan->block_m * plan->block_n * t->packed) != 0)
        return -1;
    plan->packed_a = memory->a;
    plan->packed_b = memory->b;
    plan->sums = memory->sums;
    return 0;
}

static int gemm_blocked(const gemm_problem *q) {
    gemm_plan plan;
    gemm_memory memory;
    if (gemm_make_plan(&plan, &memory, q) != 0)
        return -1;
    if (plan.threads == 1)
        gemm_serial(&plan);
    else
        phx_parallel_for(plan.threads, 1, gemm_share, &plan);
    free(memory.base);
    return 0;
}

typedef struct {
    const gemm_problem *problem;
    const char *x;
    char *y;
} gemm_vector_ctx;

static void gemm_vector_task(void *ctx, int64_t begin, int64_t end) {
    const gemm_vector_ctx *v = ctx;
    const gemm_problem *q = v->problem;
    const int64_t unit = q->type->nr;
    const int64_t j = begin * unit, n = gemm_min(end * unit, q->n) - j;
    q->type->vector(v->y + j * q->type->size, n, q->k, v->x,
                    q->b.data + j * q->b.cs * q->type->size, q->b.rs, q->b.cs);
}

/* m == 1: each task gives some elements of the row y. */
static int gemm_vector_product(const gemm_problem *q) {
    const gemm_type *t = q->type;
    gemm_memory memory;
    if (gemm_allocate(&memory, q->a.cs == 1 ? 0 : q->k * t->size, 0,
                      q->c_cs == 1 ? 0 : q->n * t->size) != 0)
        return -1;
    gemm_vector_ctx v = {q, q->a.data, q->c};
    if (memory.a) {
        for (int64_t p = 0; p < q->k; p++)
            memcpy(memory.a + p * t->size, q->a.data + p * q->a.cs * t->size, (size_t)t->size);
        v.x = memory.a;
    }
    if (memory.sums)
        v.y = memory.sums;
    const int64_t units = gemm_ceil(q->n, t->nr);
    const int64_t segment = gemm_min(2 * GEMM_SEGMENT / (t->nr * t->size), units / phx_num_threads());
    if (q->n * q->k < GEMM_SERIAL / 64)
        gemm_vector_task(&v, 0, units);
    else
        phx_parallel_for(units, 1 + (q->b.cs == 1 ? segment : 0) + GEMM_COPY / (t->nr * q->k), gemm_vector_task, &v);
    if (memory.sums)
        t->store(q->c, q->c_cs, memory.sums, q->n);
    free(memory.base);
    return 0;
}

/* A product whose elements are one chain each. */
static int gemm_chain(const gemm_problem *q) {
    if (q->type->vector && q->m == 1 && (q->b.rs == 1 || q->b.cs == 1))
        return gemm_vector_product(q);
    return gemm_blocked(q);
}

#endif
