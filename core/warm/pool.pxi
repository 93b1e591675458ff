# The caching pool that buffers come from.

cdef extern from "pool/pool.h" nogil:
    ctypedef enum phx_pool_status:
        PHX_POOL_OK
        PHX_POOL_NEEDS_SEGMENT
        PHX_POOL_OVER_LIMIT
        PHX_POOL_TOO_LARGE
        PHX_POOL_NO_HOST_MEMORY
    ctypedef struct phx_pool:
        pass
    ctypedef struct phx_block:
        uint64_t size
        uint64_t offset
        void *handle
        uint64_t requested
        phx_block *next_free
    ctypedef struct phx_wait:
        uint64_t seq
        uint32_t stream
    ctypedef struct phx_segment_info:
        void *handle
        uint64_t size
        uint64_t allocated
        uint32_t stream
        uint32_t small
        uint64_t extent
    ctypedef struct phx_block_info:
        void *handle
        uint64_t segment
        uint64_t offset
        uint64_t size
        uint64_t requested
        uint32_t stream
        uint32_t state
    ctypedef struct phx_pool_stats:
        uint64_t requested, requested_peak
        uint64_t allocated, allocated_peak
        uint64_t reserved, reserved_peak
        uint64_t pending, free, largest_free, limit
        uint64_t allocs, frees, queued_frees, misses, retries, ooms
        uint64_t segments_added, segments, active_blocks, pending_blocks, free_blocks
        double fragmentation
    uint32_t PHX_POOL_MAX_STREAMS
    phx_pool *phx_pool_create(uint64_t alignment, uint64_t limit)
    void phx_pool_destroy(phx_pool *pool)
    phx_block *phx_pool_alloc(phx_pool *pool, uint64_t size, uint32_t stream, phx_pool_status *status)
    phx_block *phx_pool_alloc_any(phx_pool *pool, uint64_t size, uint32_t stream,
                                  phx_pool_status *status)
    phx_pool_status phx_pool_free(phx_pool *pool, phx_block *block)
    phx_pool_status phx_pool_free_pending(phx_pool *pool, phx_block *block, uint32_t n,
                                          const phx_wait *waits)
    phx_pool_status phx_pool_add_stream(phx_pool *pool, uint32_t stream)
    phx_pool_status phx_pool_set_completed(phx_pool *pool, uint32_t stream, uint64_t seq)
    phx_pool_status phx_pool_take_free(phx_pool *pool, uint32_t target)
    uint64_t phx_pool_sync_begin(phx_pool *pool)
    void phx_pool_sync_end(phx_pool *pool, uint64_t ticket)
    uint64_t phx_pool_pending_bytes(const phx_pool *pool)
    phx_pool_status phx_pool_adopt_stream(phx_pool *pool, uint32_t source, uint32_t target,
                                          uint64_t *moved_bytes)
    int phx_pool_hand_over(phx_pool *pool, uint32_t source, uint32_t target, uint64_t size)
    uint64_t phx_pool_round_size(const phx_pool *pool, uint64_t size)
    uint64_t phx_pool_segment_size(phx_pool *pool, uint64_t size, uint32_t stream)
    phx_pool_status phx_pool_add_segment(phx_pool *pool, void *handle, uint64_t size,
                                         uint32_t stream, uint64_t request)
    int phx_pool_take_empty_segment(phx_pool *pool, phx_segment_info *out)
    phx_pool_status phx_pool_add_range(phx_pool *pool, void *handle, uint64_t size, uint64_t page,
                                       uint32_t stream, uint64_t request)
    phx_pool_status phx_pool_begin_map(phx_pool *pool, uint64_t size, uint32_t stream, bint least,
                                       phx_block **out)
    void phx_pool_end_map(phx_pool *pool, phx_block *block, bint mapped)
    phx_block *phx_pool_begin_unmap(phx_pool *pool)
    void phx_pool_end_unmap(phx_pool *pool, phx_block *block, bint unmapped)
    int phx_pool_take_empty_range(phx_pool *pool, phx_segment_info *out)
    void phx_pool_set_limit(phx_pool *pool, uint64_t limit)
    void phx_pool_note_retry(phx_pool *pool)
    void phx_pool_note_oom(phx_pool *pool)
    void phx_pool_get_stats(phx_pool *pool, phx_pool_stats *out)
    void phx_pool_reset_peaks(phx_pool *pool)
    uint64_t phx_pool_snapshot(phx_pool *pool, phx_block_info *out, uint64_t n)


cdef enum:
    SMALL_REQUEST = 1 << 20  # of which the pool keeps segments of their own
    LEAST_PAGE = 2 << 20     # of a range; what many drivers have
    MOST_PAGES = 8192        # of all the device's memory: each is a call of the driver


cdef inline uint64_t up_to_multiple(uint64_t size, uint64_t unit):
    return (size + unit - 1) // unit * unit


cdef inline phx_block *next_block(phx_block **list):
    """Take the first block out of a list."""
    cdef phx_block *block = list[0]
    list[0] = block.next_free
    return block


@cython.final
cdef class Pool:
    """The stream-ordered caching pool of a device, the default allocator.

    Blocks come from segments that the driver gave. A freed block serves its own stream at once and
    other streams only after the work that used it is done. Safe from any thread.
    """

    cdef phx_pool *pool
    cdef readonly Device device
    cdef int getting  # threads that ask the driver for memory
    cdef int giving   # threads that hold segments on their way back to the driver

    def __cinit__(self, Device device not None):
        self.device = device
        self.pool = phx_pool_create(max(16, device.info.alignment), 0)
        if self.pool == NULL:
            raise MemoryError("no host memory for the pool's bookkeeping")

    def __dealloc__(self):
        if self.pool != NULL:
            phx_pool_destroy(self.pool)

    def allocate(self, size, *, Stream stream not None):
        """Return a buffer of ``size`` bytes for use on ``stream``; 0 is legal.

        Raises:
            OutOfMemoryError: with the verdict and what would help.
            ValueError: a negative size.
            DeviceMismatchError: a stream of another device.
        """
        if stream.timeline.device is not self.device:
            raise errors.DeviceMismatchError(
                f"a stream of {stream.timeline.device} for memory of {self.device}",
                remedy=f"make one with phalanx.Stream({self.device.name!r})")
        if size < 0:
            raise ValueError(f"{self.device}: cannot allocate {size} bytes; a size is 0 or more")
        return self.take(min(size, 0xFFFFFFFFFFFFFFFF), stream)

    cdef inline Buffer take(self, uint64_t size, Stream s):
        cdef phx_pool_status status
        cdef Timeline t = s.timeline
        cdef phx_block *block
        if t.state != OPEN:  # its number may be another stream's by now
            t.refuse()
        block = phx_pool_alloc(self.pool, size, t.id, &status)
        if block == NULL:
            block = self.grow(size, t, status)
        cdef Buffer b = Buffer.__new__(Buffer)
        b.block = block
        b.base = block.handle
        b.offset = block.offset
        b.size = size
        b.device = self.device
        b.pool = self
        b.timeline = t
        b.read_seq = t.seq + t.launching  # work of the block's former life may still be queued
        b.home = t.id
        return b

    cdef phx_block *grow(self, uint64_t size, Timeline t, phx_pool_status status) except NULL:
        """Find memory beyond the stream's own bins; meanwhile the device is not closed."""
        self.getting += 1
        try:
            return self.find(size, t, status)
        finally:
            self.getting -= 1

    cdef phx_block *find(self, uint64_t size, Timeline t, phx_pool_status status) except NULL:
        """Try the remedies, from the cheapest to the dearest."""
        cdef phx_block *block = NULL
        cdef uint32_t id = t.id
        for remedy in (self._poll, self._inherit, self._add_segment, self._trim, self._adopt,
                       self._add_segment):
            if status == PHX_POOL_TOO_LARGE or status == PHX_POOL_NO_HOST_MEMORY:
                break
            served = remedy(size, id)
            if t.state != OPEN:
                t.refuse()
            if served:
                block = phx_pool_alloc(self.pool, size, id, &status)
                if block != NULL:
                    return block
            if remedy == self._add_segment:
                phx_pool_note_retry(self.pool)
        while self.giving and block == NULL and status == PHX_POOL_NEEDS_SEGMENT:
            from time import sleep

            sleep(1e-4)  # another thread is about to give the driver what we lack
            self._add_segment(size, id)
            if t.state != OPEN:
                t.refuse()
            block = phx_pool_alloc(self.pool, size, id, &status)
        if block == NULL and status != PHX_POOL_TOO_LARGE:
            block = phx_pool_alloc_any(self.pool, size, id, &status)
        if block == NULL:
            phx_pool_note_oom(self.pool)
            from .runtime.memory import out_of_memory

            raise out_of_memory(self.device, size, "limit" if status == PHX_POOL_OVER_LIMIT else "")
        return block

    def _poll(self, size, id):
        """Ask the streams how far they are if blocks wait for them."""
        cdef Timeline t
        self.device.end_dropped()
        if phx_pool_pending_bytes(self.pool) == 0:
            return False
        for t in self.device.timelines():
            phx_pool_set_completed(self.pool, t.id, t.poll())
        return True

    def _add_segment(self, uint64_t size, uint32_t id):
        """Get memory from the driver: of the pool's choice, else just enough."""
        if self._grow_range(size, id):
            return True
        cdef uint64_t wanted = phx_pool_segment_size(self.pool, size, id)
        cdef uint64_t least = phx_pool_round_size(self.pool, size)
        if wanted == 0:
            return False
        for request in sorted({wanted, min(wanted, least)}, reverse=True):
            try:
                delay()
                handle = self.device.calls().alloc(request)
            except MemoryError:
                continue
            if not (isinstance(handle, int) and 0 <= handle <= 0xFFFFFFFFFFFFFFFF):
                raise errors.DeviceError(
                    f"{self.device}: alloc({request}) returned {handle!r}",
                    remedy="return the handle of the block, an int of 64 bits")
            if phx_pool_add_segment(self.pool, <void *><uintptr_t>handle, request, id,
                                    size) == PHX_POOL_OK:
                return True
            self.device.calls().free(handle)  # another thread was faster
            return True
        return False

    def _grow_range(self, uint64_t size, uint32_t id):
        """Put memory behind addresses of a range of the stream, where the device can do that."""
        cdef phx_block *block = NULL
        cdef phx_pool_status status
        cdef bint mapped
        memory = self.device.calls().virtual_memory()
        if memory is None:
            return False
        for least in (False, True):
            status = phx_pool_begin_map(self.pool, size, id, least, &block)
            if status == PHX_POOL_NEEDS_SEGMENT and self._add_range(memory, size, id):
                status = phx_pool_begin_map(self.pool, size, id, least, &block)
            if status != PHX_POOL_OK:
                return False
            mapped = False
            try:
                delay()
                memory.map(<uintptr_t>block.handle, block.offset, block.size)
                mapped = True
            except MemoryError:
                pass
            finally:
                phx_pool_end_map(self.pool, block, mapped)
            if mapped:
                return True
        return False

    def _add_range(self, memory, uint64_t size, uint32_t id):
        """Reserve addresses for all memory that the device has, so that this range grows to the end."""
        cdef bint small = phx_pool_round_size(self.pool, size) <= SMALL_REQUEST
        cdef uint64_t page = self._page(memory, small)
        cdef uint64_t extent = up_to_multiple(self.device.info.total_memory, page)
        if size > extent:
            return False
        try:
            delay()
            handle = memory.reserve(extent, page)
        except MemoryError:
            return False
        if phx_pool_add_range(self.pool, <void *><uintptr_t>handle, extent, page, id,
                              size) == PHX_POOL_OK:
            return True
        memory.release(handle)
        return False

    cdef uint64_t _page(self, memory, bint small) except 0:
        """The bytes that ranges for small or for large requests grow by."""
        cdef uint64_t wished = 0 if small else self.device.info.total_memory // MOST_PAGES
        return up_to_multiple(max(<uint64_t>LEAST_PAGE, wished), memory.granularity)

    def _trim(self, size, id):
        """Give empty segments back to the driver to make room for one of another size."""
        if not self._give_segments():
            return False
        self._add_segment(size, id)
        return True

    cdef list _take_segments(self):
        """Take the segments without a used block out of the pool; work may still use them."""
        cdef phx_segment_info info
        taken = []
        while phx_pool_take_empty_segment(self.pool, &info):
            request = 1 if info.small else info.size
            taken.append((<uintptr_t>info.handle, info.size, info.stream, request))
        return taken

    def _give_segments(self):
        """Give what nobody uses back: take it, wait for all work, free it. Returns bytes."""
        cdef phx_block *pages = phx_pool_begin_unmap(self.pool)
        taken = self._take_segments()
        total = 0
        self.giving += 1
        try:
            if taken or pages != NULL:
                self._finish_work()
            while taken:
                handle, size, _, _ = taken.pop()
                delay()
                self.device.calls().free(handle)
                total += size
            while pages != NULL:
                total += self._unmap(&pages)
        finally:
            self.giving -= 1
            for handle, size, id, request in taken:  # interrupted: nothing is lost
                phx_pool_add_segment(self.pool, <void *><uintptr_t>handle, size, id, request)
            while pages != NULL:
                phx_pool_end_unmap(self.pool, next_block(&pages), False)
        self._release_ranges()
        if self.device.calls().capabilities & Capability.TRIM:
            self.device.calls().trim()
        return total

    cdef uint64_t _unmap(self, phx_block **pages) except? 0:
        """Take the memory of the first of some blocks away; return its bytes. It leads them no more."""
        cdef phx_block *block = next_block(pages)
        cdef uint64_t size = block.size
        cdef bint unmapped = False
        try:
            delay()
            self.device.calls().virtual_memory().unmap(<uintptr_t>block.handle, block.offset, size)
            unmapped = True
        finally:
            phx_pool_end_unmap(self.pool, block, unmapped)
        return size

    cdef int _release_ranges(self) except -1:
        """Give addresses back behind which nothing lies any more."""
        cdef phx_segment_info info
        memory = self.device.calls().virtual_memory()
        while memory is not None and phx_pool_take_empty_range(self.pool, &info):
            released = False
            try:
                delay()
                memory.release(<uintptr_t>info.handle)
                released = True
            finally:
                if not released:
                    phx_pool_add_range(self.pool, info.handle, info.extent, self._page(memory, info.small),
                                       info.stream, 1 if info.small else info.extent)
        return 0

    def _finish_work(self):
        """Wait for everything that is in a queue now, and free the blocks that waited for it."""
        cdef Timeline t
        cdef uint64_t ticket = phx_pool_sync_begin(self.pool)
        for t in self.device.timelines():
            t.finish_quietly()
        phx_pool_sync_end(self.pool, ticket)

    def _inherit(self, size, uint32_t id):
        """Take over a block of the streams that have ended."""
        cdef int64_t ended = self.device._ended
        return ended >= 0 and phx_pool_hand_over(self.pool, ended, id, size) != 0

    def _adopt(self, size, uint32_t id):
        """Take over what other streams have free: take it, wait for all streams, use it."""
        phx_pool_take_free(self.pool, id)
        self._finish_work()
        self._give_segments()
        self._add_segment(size, id)
        return True

    cdef bint is_at_rest(self):
        """Whether the driver's memory is all at the driver, and no thread is getting or giving any."""
        cdef phx_pool_stats stats
        phx_pool_get_stats(self.pool, &stats)
        return not (stats.segments or self.getting or self.giving)

    def trim(self):
        """Give segments without a used block back to the driver; return the bytes given back."""
        self._poll(0, 0)
        self._finish_work()
        return self._give_segments()

    def set_limit(self, uint64_t size):
        """Refuse to reserve more than ``size`` bytes; 0 removes the limit."""
        phx_pool_set_limit(self.pool, size)

    def reset_peaks(self):
        """Set the peaks to the present values."""
        phx_pool_reset_peaks(self.pool)

    def stats(self):
        """Return the statistics as a dict; sizes in bytes."""
        cdef phx_pool_stats stats
        phx_pool_get_stats(self.pool, &stats)
        return stats

    def snapshot(self):
        """Return one dict per block, by segment and offset: sizes in bytes, ``state`` as a word."""
        cdef phx_block_info *infos
        cdef uint64_t n = phx_pool_snapshot(self.pool, NULL, 0) + 64
        infos = <phx_block_info *>PyMem_Malloc(n * sizeof(phx_block_info))
        if infos == NULL:
            raise MemoryError()
        try:
            n = min(n, phx_pool_snapshot(self.pool, infos, n))
            states = ("spare", "free", "used", "queued", "pending")
            return [
                {"segment": infos[i].segment, "offset": infos[i].offset, "size": infos[i].size,
                 "requested": infos[i].requested, "stream": infos[i].stream,
                 "state": states[infos[i].state]}
                for i in range(n)
            ]
        finally:
            PyMem_Free(infos)
