# Buffers and the caching pool that they come from.

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
    ctypedef struct phx_wait:
        uint64_t seq
        uint32_t stream
    ctypedef struct phx_segment_info:
        void *handle
        uint64_t size
        uint64_t allocated
        uint32_t stream
        uint32_t small
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
    uint64_t phx_pool_round_size(const phx_pool *pool, uint64_t size)
    uint64_t phx_pool_segment_size(phx_pool *pool, uint64_t size, uint32_t stream)
    phx_pool_status phx_pool_add_segment(phx_pool *pool, void *handle, uint64_t size,
                                         uint32_t stream, uint64_t request)
    int phx_pool_take_empty_segment(phx_pool *pool, phx_segment_info *out)
    void phx_pool_set_limit(phx_pool *pool, uint64_t limit)
    void phx_pool_note_retry(phx_pool *pool)
    void phx_pool_note_oom(phx_pool *pool)
    void phx_pool_get_stats(phx_pool *pool, phx_pool_stats *out)
    void phx_pool_reset_peaks(phx_pool *pool)
    uint64_t phx_pool_snapshot(phx_pool *pool, phx_block_info *out, uint64_t n)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Buffer:
    """A block of bytes on a device, without shape and dtype.

    Attributes:
        device: where it lies.
        size: bytes.
        readonly: whether writing is refused (memory of another library).

    Examples:
        >>> x = px.zeros((2, 3))
        >>> x.buffer is x[1, :].buffer, x.buffer.size
        (True, 48)
    """

    cdef void *base
    cdef readonly uint64_t offset
    cdef readonly uint64_t size
    cdef readonly Device device
    cdef readonly bint readonly
    cdef Pool pool
    cdef phx_block *block
    cdef uint32_t home        # id of the stream whose bins the block returns to
    cdef Timeline timeline    # of the last write
    cdef uint64_t write_seq
    cdef uint64_t read_seq    # last read on the same timeline
    cdef dict readers         # other timelines that used it -> number of the last use
    cdef Holding holding      # None for an ordinary block
    cdef object __weakref__

    @property
    def handle(self):
        """The driver's handle; an address on devices whose memory has addresses."""
        return <uintptr_t>self.base

    def on_release(self, hook):
        """Call ``hook()`` when the memory is given back; used by allocator adaptors."""
        holding_of(self).hooks.append(hook)

    @staticmethod
    def from_handle(Device device not None, handle, uint64_t size, *, owner=None, bint readonly=False):
        """Borrow memory that ``owner`` keeps alive; it is never freed here.

        ``owner`` is let go when the buffer is gone and the work that uses it is done.
        """
        device.ensure_open()
        device.end_dropped()
        device.poll_parked()
        cdef Buffer b = Buffer.__new__(Buffer)
        b.device = device
        b.base = <void *><uintptr_t>handle
        b.size = size
        b.readonly = readonly
        b.timeline = device.default_stream.timeline
        holding_of(b).owner = owner
        device._borrowed += 1
        return b

    def __dealloc__(self):
        if self.block == NULL:
            if self.holding is not None:
                park(self)
        elif self.readers is None and self.holding is None and self.timeline.id == self.home:
            phx_pool_free(self.pool.pool, self.block)
        else:
            release(self)

    def __repr__(self):
        return f"<Buffer of {self.size} bytes on {self.device}>"


cdef void release(Buffer b) noexcept:
    """Give a block back behind its uses; never blocks and never calls the driver."""
    cdef phx_wait waits[64]
    cdef uint32_t n = 0
    pending = pending_uses(uses_of(b))
    if b.holding is not None and leave_to_heir(b, pending):
        return
    for timeline, seq in pending:
        if (<Timeline>timeline).id != b.home and n < 64:  # the pool names four, then waits for all
            waits[n].stream = (<Timeline>timeline).id
            waits[n].seq = seq
            n += 1
    phx_pool_free_pending(b.pool.pool, b.block, n, waits)


cdef list pending_uses(Buffer uses):
    """The (timeline, number) of each use that is not known to be complete."""
    cdef Timeline t = uses.timeline
    cdef uint64_t last = max(uses.write_seq, uses.read_seq)
    pending = []
    if t is not None and t.done < last and t.state < ENDED:
        pending.append((t, last))
    if uses.readers is not None:
        for reader, seq in uses.readers.items():
            t = reader
            if t.done < <uint64_t>seq and t.state < ENDED:
                pending.append((t, seq))
    return pending


cdef inline Buffer allocate(Device device, uint64_t size, Stream s):
    if device.allocator is not None:
        return allocate_through(device, size, s)
    return device.pool.take(size, s)


cdef Buffer allocate_through(Device device, uint64_t size, Stream s):
    """Allocate through the user's allocator, and look at what it gives."""
    allocator = device.allocator
    if allocator is None:
        return device.pool.take(size, s)
    found = allocator.allocate(size, stream=s)
    if type(found) is not Buffer or (<Buffer>found).device is not device or (
            (<Buffer>found).size < size):
        what = f"{found!r}" if type(found) is Buffer else type(found).__name__
        raise TypeError(
            f"{type(allocator).__name__}.allocate({size}) gave {what}; it must return a Buffer of "
            f"{device} with {size} bytes or more, for example from its upstream")
    return found


@cython.final
cdef class Pool:
    """The stream-ordered caching pool of a device, the default allocator.

    Blocks come from segments that the driver gave. A freed block serves its own stream at once and
    other streams only after the work that used it is done. Safe from any thread.
    """

    cdef phx_pool *pool
    cdef readonly Device device
    cdef int giving  # threads that hold segments on their way back to the driver

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
        """
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
        """Find memory beyond the stream's own bins, from the cheapest remedy to the dearest."""
        cdef phx_block *block = NULL
        cdef uint32_t id = t.id
        for remedy in (self._poll, self._add_segment, self._trim, self._adopt, self._add_segment):
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
        """Get a segment from the driver: of the pool's choice, else just large enough."""
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
            if phx_pool_add_segment(self.pool, <void *><uintptr_t>handle, request, id,
                                    size) == PHX_POOL_OK:
                return True
            self.device.calls().free(handle)  # another thread was faster
            return True
        return False

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
        """Give the empty segments back: take them, wait for all work, free them. Returns bytes."""
        taken = self._take_segments()
        total = 0
        self.giving += 1
        try:
            if taken:
                self._finish_work()
            while taken:
                handle, size, _, _ = taken.pop()
                delay()
                self.device.calls().free(handle)
                total += size
        finally:
            self.giving -= 1
            for handle, size, id, request in taken:  # interrupted: nothing is lost
                phx_pool_add_segment(self.pool, <void *><uintptr_t>handle, size, id, request)
        if self.device.calls().capabilities & Capability.TRIM:
            self.device.calls().trim()
        return total

    def _finish_work(self):
        """Wait for everything that is in a queue now, and free the blocks that waited for it."""
        cdef Timeline t
        cdef uint64_t ticket = phx_pool_sync_begin(self.pool)
        for t in self.device.timelines():
            t.finish_quietly()
        phx_pool_sync_end(self.pool, ticket)

    def _adopt(self, size, uint32_t id):
        """Take over what other streams have free: take it, wait for all streams, use it."""
        phx_pool_take_free(self.pool, id)
        self._finish_work()
        self._give_segments()
        self._add_segment(size, id)
        return True

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
