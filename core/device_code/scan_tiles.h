/* Running sums and products of rows that are longer than a block, in one pass: a group keeps up to TILE
 * blocks in local memory, sums each, and adds what was before them.
 *
 * Without AWAITS, a tile has all blocks of its rows, as many rows as fit. With it, a row has many tiles,
 * and groups wait for each other: scan_totals.h. `words` begins with how many tiles were taken; behind it
 * each row has `stride` totals.
 */
#define PITCH (BLOCK + 1)
#define AT_ONCE 8 /* elements that are in registers while they are summed */

#if AWAITS
#define OWN PHX_OUTPUT(u64, words), const u64 stride
#else
#define OWN const u64 rows
#endif

PHX_KERNEL_OF(GROUP) scan_tiles(PHX_INPUT(T, x), PHX_OUTPUT(T, y), OWN, const row_plan p) {
    PHX_LOCAL_ARRAY(U, tile, TILE * PITCH);
    PHX_LOCAL_ARRAY(U, totals, TILE);
    PHX_LOCAL_ARRAY(U, carries, TILE);
    PHX_LOCAL_ARRAY(i64, ins, TILE);
    PHX_LOCAL_ARRAY(i64, outs, TILE);
    PHX_LOCAL_ARRAY(u32, counts, TILE);
#if AWAITS
    PHX_LOCAL_ARRAY(U, seen, BLOCK);
    PHX_LOCAL_ARRAY(u64, taken, 1);
#endif
    const u32 id = (u32)PHX_LOCAL_ID(0);
    for (u64 turn = 0;; turn++) {
#if AWAITS
        if (id == 0) taken[0] = PHX_ATOMIC_ADD64(PHX_DATA(words), 1);
        PHX_BARRIER();
        const u64 task = taken[0];
#else
        const u64 task = PHX_GROUP_ID(0) + turn * PHX_GROUPS(0);
#endif
        if (task >= p.tasks) break;
#if AWAITS
        const u32 row = (u32)task / (u32)p.tiles; /* no device has 2^32 tiles */
        const u64 first = (u64)((u32)task - row * (u32)p.tiles) * TILE;
#else
        const u32 blocks = (u32)p.blocks;
#endif
        if (id < TILE) {
#if AWAITS
            const u64 block = first + id;
            const i32 there = block < p.blocks;
#else
            const u32 nth = id / blocks, block = id - nth * blocks;
            const u64 row = task * (TILE / blocks) + nth;
            const i32 there = nth < TILE / blocks && row < rows;
#endif
            i64 in = 0, out = 0;
            u32 count = 0;
            if (there) {
                count = row_count(&p, block);
                row_place(&p, row, &in, &out);
            }
            ins[id] = in + (i64)block * BLOCK * p.sn;
            outs[id] = out + (i64)block * BLOCK * p.yn;
            counts[id] = count;
        }
        PHX_BARRIER();
        for (u32 k = id; k < TILE * BLOCK; k += GROUP * AHEAD) {
            U some[AHEAD];
    PHX_UNROLL
            for (u32 j = 0; j < AHEAD; j++) {
                const u32 slot = (k + j * GROUP) / BLOCK, i = (k + j * GROUP) % BLOCK;
                some[j] = FIRST;
                if (i < counts[slot]) some[j] = TAKE(PHX_DATA(x)[ins[slot] + (i64)i * p.sn]);
            }
            PHX_UNROLL
            for (u32 j = 0; j < AHEAD; j++)
                tile[(k + j * GROUP) / BLOCK * PITCH + (k + j * GROUP) % BLOCK] = some[j];
        }
        PHX_BARRIER();
        if (id < TILE) {
            const u32 n = counts[id];
            U a = FIRST;
            u32 i = 0;
            for (; i + AT_ONCE <= n; i += AT_ONCE) { /* one read after another would wait for the write between */
                U some[AT_ONCE];
                PHX_UNROLL
                for (u32 j = 0; j < AT_ONCE; j++) some[j] = tile[id * PITCH + i + j];
                PHX_UNROLL
                for (u32 j = 0; j < AT_ONCE; j++) tile[id * PITCH + i + j] = a = NEXT(a, i + j > 0, some[j]);
            }
            PHX_ORDERED
            for (; i < n; i++) tile[id * PITCH + i] = a = NEXT(a, i > 0, tile[id * PITCH + i]);
            totals[id] = a;
#if AWAITS
            const u64 place = row * stride + first + id;
            if (n > 0) tell_total(PHX_DATA(words) + 1 + place * WORDS, a);
#endif
        }
        PHX_BARRIER();
#if AWAITS
        await_carries(PHX_DATA(words) + 1 + row * stride * WORDS, p.blocks, first, totals, carries, seen, id);
#else
        if (id < TILE) {
            U a = FIRST;
            const u32 start = id - id % blocks;
            PHX_ORDERED
            for (u32 k = start; k < id; k++) a = NEXT(a, k > start, totals[k]);
            carries[id] = a;
        }
#endif
        PHX_BARRIER();
        for (u32 k = id; k < TILE * BLOCK; k += GROUP) {
            const u32 slot = k / BLOCK, i = k % BLOCK;
            if (i < counts[slot]) {
#if AWAITS
                const i32 carried = first + slot > 0;
#else
                const i32 carried = slot % blocks > 0;
#endif
                const U v = tile[slot * PITCH + i];
                PHX_DATA(y)[outs[slot] + (i64)i * p.yn] = STORE(carried ? OP(carries[slot], v) : v);
            }
        }
        PHX_BARRIER();
    }
}
