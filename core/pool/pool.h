/* Stream-ordered caching pool of device memory.
 *
 * The pool divides segments, raw memory that the caller got from a driver, into blocks. It never
 * touches that memory and never calls a driver: memory is named by (segment handle, byte offset),
 * and all bookkeeping lies in host memory of its own. Allocation and release take constant time
 * (two-level segregated fit: Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator
 * for real-time systems", ECRTS 2004); an allocation that fails may walk one list before it says
 * so.
 *
 * Streams. A free block belongs to the stream that used it last and is handed out on that stream
 * only: work that still reads it was enqueued before the work that will write it. Blocks move to
 * another stream by phx_pool_take_free (take first, then wait for all streams), or by
 * phx_pool_adopt_stream once a stream has ended. A block that other streams use as well is given back
 * with phx_pool_free_pending.
 *
 * The caller's loop:
 *
 *     while (!(block = phx_pool_alloc(pool, size, stream, &status))) {
 *         if (status != PHX_POOL_NEEDS_SEGMENT)
 *             break; // over the limit: trim, adopt, or report
 *         bytes = phx_pool_segment_size(pool, size, stream);
 *         // the driver allocates bytes, or if it cannot, phx_pool_round_size(pool, size)
 *         phx_pool_add_segment(pool, handle, bytes, stream, size);
 *     }
 *
 * Ranges. A driver that can put memory behind addresses page by page gives ranges instead of segments
 * (phx_pool_add_range, then phx_pool_begin_map, phx_pool_end_map). They grow in place, and pages that nobody
 * uses go back from anywhere in them, so that memory never lies idle only because it is in small pieces.
 *
 * Threads. Every function may be called from any thread (with PHX_SERIAL by one at a time, see lock.h). phx_pool_free and phx_pool_free_pending
 * never block, never allocate and take constant time, so they are fit for finalisers and garbage
 * collectors; the others take a lock that is held for a short time, never during a call to a
 * driver.
 *
 * Fork. The child gets every pool unlocked and consistent; blocks in use stay so.
 */
#ifndef PHALANX_POOL_H_
#define PHALANX_POOL_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PHX_POOL_MAX_STREAMS 65536u
#define PHX_POOL_ALL_STREAMS UINT32_MAX
#define PHX_POOL_MAX_SIZE (UINT64_C(1) << 47) /* of a block and of a segment */
#define PHX_POOL_WAITS 4                   /* streams that a pending block names one by one */

typedef enum {
    PHX_POOL_OK = 0,
    PHX_POOL_NEEDS_SEGMENT,  /* no free block of this stream fits; a segment is allowed */
    PHX_POOL_OVER_LIMIT,     /* no free block of this stream fits; the limit forbids a segment */
    PHX_POOL_TOO_LARGE,      /* above PHX_POOL_MAX_SIZE */
    PHX_POOL_NO_HOST_MEMORY, /* the host could not give memory for the bookkeeping */
    PHX_POOL_CLOSED,         /* phx_pool_close was called */
    PHX_POOL_BAD_ARGUMENT,   /* stream number too large, segment below one block, null block */
    PHX_POOL_NOT_ALLOCATED,  /* the block was given back before */
} phx_pool_status;

typedef enum {
    PHX_BLOCK_SPARE = 0, /* not part of a segment */
    PHX_BLOCK_FREE,
    PHX_BLOCK_USED,
    PHX_BLOCK_QUEUED,  /* given back while the pool was locked; a later call processes it */
    PHX_BLOCK_PENDING, /* given back, other streams may still use it */
    PHX_BLOCK_HOLE,    /* addresses of a range without memory */
    PHX_BLOCK_MOVING,  /* addresses whose memory comes or goes just now */
} phx_block_state;

typedef struct phx_pool phx_pool;
typedef struct phx_segment phx_segment;

/* A piece of a segment. From phx_pool_alloc until it is given back the caller may read size,
 * offset, handle, requested and stream; the other fields are the pool's at all times. Two cache
 * lines: what the search for and the joining of free blocks read lies in the first. */
typedef struct phx_block {
    uint64_t size;   /* bytes, a multiple of the pool's alignment */
    uint64_t offset; /* bytes from the start of the segment */
    struct phx_block *next_free, *prev_free;
    struct phx_block *next_phys, *prev_phys;
    phx_segment *segment;
    uint16_t stream;
    uint8_t n_waits;
    _Atomic uint8_t state;
    void *handle;       /* of the segment */
    uint64_t requested; /* bytes asked for; 0 is legal */
    uint64_t stamp;
    uint64_t wait_seq[PHX_POOL_WAITS];
    uint16_t wait_stream[PHX_POOL_WAITS];
} phx_block;

/* A point of a stream. The caller numbers the points of each stream upwards from 1. */
typedef struct {
    uint64_t seq;
    uint32_t stream;
} phx_wait;

typedef struct {
    void *handle;
    uint64_t size;      /* bytes as given to phx_pool_add_segment */
    uint64_t allocated; /* bytes in used and pending blocks */
    uint64_t id;        /* numbered from 0 in the order of phx_pool_add_segment */
    uint32_t stream;    /* of its first block */
    uint32_t blocks;
    uint32_t mixed; /* 1 if its blocks belong to several streams */
    uint32_t small; /* 1 if it serves requests of at most 1 MiB */
    uint64_t extent; /* bytes of a range's addresses, of which `size` have memory; else 0 */
} phx_segment_info;

typedef struct {
    void *handle;
    uint64_t segment; /* id */
    uint64_t offset;
    uint64_t size;
    uint64_t requested; /* 0 if free */
    uint32_t stream;
    uint32_t state; /* phx_block_state */
} phx_block_info;

/* Sizes in bytes. reserved = allocated + pending + free + what segments have beyond a multiple of
 * the alignment. */
typedef struct {
    uint64_t requested, requested_peak;
    uint64_t allocated, allocated_peak; /* rounded sizes of the blocks that are in use */
    uint64_t reserved, reserved_peak;   /* segments */
    uint64_t pending;
    uint64_t free;
    uint64_t largest_free;
    uint64_t limit;          /* 0: none */
    uint64_t allocs;         /* that returned a block */
    uint64_t frees;          /* of blocks, whether pending or not */
    uint64_t queued_frees;   /* those that met a locked pool */
    uint64_t misses;         /* allocs that needed a segment or met the limit */
    uint64_t retries;        /* counted by phx_pool_note_retry */
    uint64_t ooms;           /* counted by phx_pool_note_oom */
    uint64_t segments_added; /* since the pool was made */
    uint64_t segments;       /* now */
    uint64_t active_blocks;
    uint64_t pending_blocks;
    uint64_t free_blocks;
    double fragmentation; /* 1 - largest_free / free; 0 if nothing is free */
} phx_pool_stats;

/* Makes an empty pool. alignment: bytes, of every block's offset and size, a power of two up to
 * 2^30; less than 64 means 64. limit: most bytes of segments, 0 for none. Null if the alignment is
 * not such a power or the host has no memory. */
phx_pool *phx_pool_create(uint64_t alignment, uint64_t limit);

/* Makes every later alloc and add_segment fail with PHX_POOL_CLOSED; all else keeps working. */
void phx_pool_close(phx_pool *pool);

/* Ends the pool; null is legal. The segments are the caller's to release before (phx_pool_segments
 * names them). Blocks in use may still be given back afterwards, at any time: the bookkeeping is
 * freed with the last of them. No other call may run at the same time or follow. */
void phx_pool_destroy(phx_pool *pool);

/* Takes a free block of at least `size` bytes that belongs to `stream`. Null with the reason in
 * *status (which may be null) if there is none. Requests up to 1 MiB and larger ones live in
 * separate segments, so that small long-lived blocks do not pin large segments. */
phx_block *phx_pool_alloc(phx_pool *pool, uint64_t size, uint32_t stream, phx_pool_status *status);

/* As phx_pool_alloc, but also from the other kind of segment: the last resort when the driver has
 * no more memory. */
phx_block *phx_pool_alloc_any(phx_pool *pool, uint64_t size, uint32_t stream,
                              phx_pool_status *status);

/* Gives a block back to its stream. PHX_POOL_NOT_ALLOCATED if it is not in use: sure to be noticed
 * only until the pool hands the same bookkeeping out again. */
phx_pool_status phx_pool_free(phx_pool *pool, phx_block *block);

/* Gives a block back that n other streams use: it stays pending until every (stream, seq) has been
 * passed. Waits for the block's own stream are dropped, several for one stream count as the latest.
 * A block that waits for more than PHX_POOL_WAITS streams, or for one that the pool has not met, is
 * released by phx_pool_sync_end only. */
phx_pool_status phx_pool_free_pending(phx_pool *pool, phx_block *block, uint32_t n,
                                      const phx_wait *waits);

/* Makes a stream known before it is first allocated on. Idempotent. */
phx_pool_status phx_pool_add_stream(phx_pool *pool, uint32_t stream);

/* Says that streams have passed points, and frees the blocks that waited for no more than that. A
 * number below what was said before is ignored. A stream number may be used again for a new stream
 * if its numbers go on from the old one's. */
phx_pool_status phx_pool_set_completed(phx_pool *pool, uint32_t stream, uint64_t seq);
phx_pool_status phx_pool_set_completed_many(phx_pool *pool, uint32_t n, const phx_wait *passed);

/* Takes the free blocks of all other streams for `to`: they are pending until the next phx_pool_sync_end whose
 * begin comes after this call. Work that used them may still run, and nobody else gets them meanwhile. */
phx_pool_status phx_pool_take_free(phx_pool *pool, uint32_t to);

/* Brackets a wait for the whole device: begin, synchronise the device, end with begin's ticket.
 * Frees all blocks that were pending at begin. */
uint64_t phx_pool_sync_begin(phx_pool *pool);
void phx_pool_sync_end(phx_pool *pool, uint64_t ticket);

/* Bytes pending, without the lock: whether asking the streams how far they are is worth it. */
uint64_t phx_pool_pending_bytes(const phx_pool *pool);

/* Moves the free blocks of `from` (or PHX_POOL_ALL_STREAMS) to `to` and joins them with their
 * neighbours. Legal once `from` takes no more work and has been waited for: what is freed between a wait
 * and this call is not covered by the wait. Takes time in proportion to the blocks moved. *moved_bytes
 * may be null. */
phx_pool_status phx_pool_adopt_stream(phx_pool *pool, uint32_t from, uint32_t to,
                                      uint64_t *moved_bytes);

/* Moves one free block of `from` that fits `size` to `to`: 1, or 0 if there is none. Legal where
 * phx_pool_adopt_stream is, and takes no time in proportion to the blocks. */
int phx_pool_hand_over(phx_pool *pool, uint32_t from, uint32_t to, uint64_t size);

/* A stream other than `stream` with a free block that fits `size`, or -1: whom to wait for and
 * adopt. */
int64_t phx_pool_find_donor(phx_pool *pool, uint64_t size, uint32_t stream);

/* What a block for `size` bytes takes, which is also the smallest useful segment; 0 if it is too
 * large. */
uint64_t phx_pool_round_size(const phx_pool *pool, uint64_t size);

/* Bytes to ask a driver for after PHX_POOL_NEEDS_SEGMENT on a stream; 0 if the limit forbids it.
 * Multiples of 2 MiB unless the limit leaves less. */
uint64_t phx_pool_segment_size(phx_pool *pool, uint64_t size, uint32_t stream);

/* Adds raw memory, one free block of `stream`. request: the size whose allocation asked for it. On
 * failure the memory stays the caller's: PHX_POOL_OVER_LIMIT if another thread's segment took the
 * room meanwhile. */
phx_pool_status phx_pool_add_segment(phx_pool *pool, void *handle, uint64_t size, uint32_t stream,
                                     uint64_t request);

/* Takes the oldest segment without a used or pending block out of the pool: 1 and *out, or 0 if
 * there is none. Work that was enqueued before the blocks were freed may still run: wait for
 * out->stream, or for all streams if out->mixed, before the driver frees it. */
int phx_pool_take_empty_segment(phx_pool *pool, phx_segment_info *out);

/* Adds a range: `size` bytes of addresses, a multiple of `page`, which is one of the pool's alignment. Nothing
 * lies behind them before phx_pool_end_map. It serves `stream` alone until others take its blocks over.
 * request: as above. On failure the range stays the caller's. */
phx_pool_status phx_pool_add_range(phx_pool *pool, void *handle, uint64_t size, uint64_t page, uint32_t stream,
                                   uint64_t request);

/* Begins to grow a range of the stream such that the request finds a free block: *out are addresses, whole
 * pages, for the caller to put memory behind. They adjoin what is free already where that takes less. Without
 * `least`, as much at once as spares later calls. PHX_POOL_NEEDS_SEGMENT: no range has the addresses. */
phx_pool_status phx_pool_begin_map(phx_pool *pool, uint64_t size, uint32_t stream, bool least, phx_block **out);

/* Ends it: the memory is a free block of the stream, or there is none. */
void phx_pool_end_map(phx_pool *pool, phx_block *block, bool mapped);

/* Takes the memory of all whole pages that nobody uses out of the pool, linked by next_free. As with
 * segments, wait for all streams before their memory is taken away, then say so for each. */
phx_block *phx_pool_begin_unmap(phx_pool *pool);

/* Ends it for one block, which the caller knows no longer: a hole; or memory still, which is pending until
 * the device was waited for, as phx_pool_take_free has it. */
void phx_pool_end_unmap(phx_pool *pool, phx_block *block, bool unmapped);

/* Takes the oldest range without any memory out of the pool, as above; its addresses are the caller's. */
int phx_pool_take_empty_range(phx_pool *pool, phx_segment_info *out);

/* 0 removes the limit. A limit below what is reserved only stops growth. */
void phx_pool_set_limit(phx_pool *pool, uint64_t limit);

void phx_pool_note_retry(phx_pool *pool); /* an allocation that is tried again after a trim */
void phx_pool_note_oom(phx_pool *pool);   /* an allocation that is given up */
void phx_pool_get_stats(phx_pool *pool, phx_pool_stats *out);
void phx_pool_reset_peaks(phx_pool *pool); /* to the present values */

/* Fill at most n entries, segments in the order of their age, blocks by segment and offset. Return
 * how many there are, so that n = 0 asks for the number. */
uint64_t phx_pool_segments(phx_pool *pool, phx_segment_info *out, uint64_t n);
uint64_t phx_pool_snapshot(phx_pool *pool, phx_block_info *out, uint64_t n);

#endif
