# Buffers and the caching pool that they come from.

cdef extern from "_pool.h" nogil:
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
    uint32_t PHX_POOL_ALL_STREAMS
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
    uint64_t phx_pool_sync_begin(phx_pool *pool)
    void phx_pool_sync_end(phx_pool *pool, uint64_t ticket)
    uint64_t phx_pool_pending_bytes(const phx_pool *pool)
    phx_pool_status phx_pool_adopt_stream(phx_pool *pool, uint32_t source, uint32_t target,
                                          uint64_t *moved_bytes)
    uint64_t phx_pool_round_size(const phx_pool *pool, uint64_t size)
    uint64_t phx_pool_segment_size(phx_pool *pool, uint64_t size)
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
    """

    cdef void *base
    cdef readonly uint64_t offset
    cdef readonly uint64_t size
    cdef readonly Device device
    cdef readonly bint readonly
    cdef Pool pool
    cdef phx_block *block
    cdef uint32_t home        # id of the stream whose bins the block returns to
    cdef Stream stream        # last writer
    cdef uint64_t write_seq
    cdef uint64_t read_seq    # last read on the same stream
    cdef dict readers         # other streams that used it -> sequence number of the last use
    cdef object owner
    cdef list hooks
    cdef object __weakref__

    def __init__(self):
        raise TypeError("get a buffer from an allocator: phalanx.empty(...).buffer")

    @property
    def handle(self):
        """The driver's handle; an address on devices whose memory has addresses."""
        return <uintptr_t>self.base

    def on_release(self, hook):
        """Call ``hook()`` when the memory is given back; used by allocator adaptors."""
        if self.hooks is None:
            self.hooks = []
        self.hooks.append(hook)

    @staticmethod
    def from_handle(Device device not None, handle, uint64_t size, *, owner=None, bint readonly=False):
        """Borrow memory that ``owner`` keeps alive; it is never freed here."""
        device.ensure_open()
        cdef Buffer b = Buffer.__new__(Buffer)
        b.device = device
        b.base = <void *><uintptr_t>handle
        b.size = size
        b.owner = owner
        b.readonly = readonly
        b.stream = device.default_stream
        return b

    def __dealloc__(self):
        if self.block != NULL:
            release(self)
        if self.hooks is not None:
            run_hooks(self.hooks)

    def __repr__(self):
        return f"<Buffer of {self.size} bytes on {self.device}>"


cdef void release(Buffer b) noexcept:
    """Give a block back; never blocks and never calls the driver."""
    cdef phx_wait waits[64]
    cdef uint32_t n = 0
    if b.readers is None and b.stream.id == b.home:
        phx_pool_free(b.pool.pool, b.block)
        return
    if b.stream.id != b.home:
        waits[n].stream = b.stream.id
        waits[n].seq = max(b.write_seq, b.read_seq)
        n += 1
    for reader, seq in b.readers.items():
        if (<Stream>reader).id != b.home and n < 64:
            waits[n].stream = (<Stream>reader).id
            waits[n].seq = seq
            n += 1
    phx_pool_free_pending(b.pool.pool, b.block, n, waits)


cdef void run_hooks(list hooks) noexcept:
    for hook in hooks:
        run_hook(hook)


cdef void run_hook(object hook) noexcept:
    hook()  # what it raises goes to sys.unraisablehook, as from any destructor


cdef inline Buffer allocate(Device device, uint64_t size, Stream s):
    if device.allocator is not None:
        return device.allocator.allocate(size, stream=s)
    return device.pool.take(size, s)


@cython.final
cdef class Pool:
    """The stream-ordered caching pool of a device, the default allocator.

    Blocks come from segments that the driver gave. A freed block serves its own stream at once and
    other streams only after the work that used it is done. Safe from any thread.
    """

    cdef phx_pool *pool
    cdef readonly Device device

    def __init__(self, Device device not None):
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
        cdef phx_block *block = phx_pool_alloc(self.pool, size, s.id, &status)
        if block == NULL:
            block = self.grow(size, s, status)
        cdef Buffer b = Buffer.__new__(Buffer)
        b.block = block
        b.base = block.handle
        b.offset = block.offset
        b.size = size
        b.device = self.device
        b.pool = self
        b.stream = s
        b.home = s.id
        return b

    cdef phx_block *grow(self, uint64_t size, Stream s, phx_pool_status status) except NULL:
        """Find memory beyond the stream's own bins, from the cheapest remedy to the dearest."""
        cdef phx_block *block = NULL
        s._check()
        for remedy in (self._poll, self._add_segment, self._trim, self._synchronize,
                       self._add_segment):
            if status == PHX_POOL_TOO_LARGE or status == PHX_POOL_NO_HOST_MEMORY:
                break
            if remedy(size, s):
                block = phx_pool_alloc(self.pool, size, s.id, &status)
                if block != NULL:
                    return block
            if remedy == self._add_segment:
                phx_pool_note_retry(self.pool)
        if status != PHX_POOL_TOO_LARGE:
            block = phx_pool_alloc_any(self.pool, size, s.id, &status)
        if block == NULL:
            phx_pool_note_oom(self.pool)
            from .memory import out_of_memory

            raise out_of_memory(self.device, size, "limit" if status == PHX_POOL_OVER_LIMIT else "")
        return block

    def _poll(self, size, stream):
        """Ask the streams how far they are if blocks wait for them."""
        cdef Stream s
        if phx_pool_pending_bytes(self.pool) == 0:
            return False
        for s in self.device.streams():
            if not (s.is_default and self.device.synchronous):
                phx_pool_set_completed(self.pool, s.id, s.poll())
            else:
                phx_pool_set_completed(self.pool, s.id, s.seq)
        return True

    def _add_segment(self, uint64_t size, Stream stream):
        """Get a segment from the driver: of the pool's choice, else just large enough."""
        cdef uint64_t wanted = phx_pool_segment_size(self.pool, size)
        cdef uint64_t least = phx_pool_round_size(self.pool, size)
        if wanted == 0:
            return False
        for request in sorted({wanted, min(wanted, least)}, reverse=True):
            try:
                handle = self.device.driver.alloc(self.device.index, request)
            except MemoryError:
                continue
            phx_pool_add_segment(self.pool, <void *><uintptr_t>handle, request, stream.id, size)
            return True
        return False

    def _trim(self, size, stream):
        """Give segments without a used block back to the driver."""
        cdef phx_segment_info info
        released = False
        self._finish_work()
        while phx_pool_take_empty_segment(self.pool, &info):
            self.device.driver.free(self.device.index, <uintptr_t>info.handle)
            released = True
        self._trim_driver()
        if released:
            self._add_segment(size, stream)
        return released

    def _finish_work(self):
        """Wait until no stream works any more: a segment may be in use though its blocks are free."""
        cdef uint64_t ticket = phx_pool_sync_begin(self.pool)
        for s in self.device.streams():
            if not (s.is_default and self.device.synchronous):
                s.synchronize()
        phx_pool_sync_end(self.pool, ticket)

    def _synchronize(self, size, Stream stream):
        """Wait for all streams, then take over what they have free, and trim."""
        self._finish_work()
        phx_pool_adopt_stream(self.pool, PHX_POOL_ALL_STREAMS, stream.id, NULL)
        self._trim(size, stream)
        return True

    def trim(self):
        """Give segments without a used block back to the driver; return the bytes given back."""
        cdef phx_segment_info info
        cdef uint64_t total = 0
        self._poll(0, None)
        self._finish_work()
        while phx_pool_take_empty_segment(self.pool, &info):
            total += info.size
            self.device.driver.free(self.device.index, <uintptr_t>info.handle)
        self._trim_driver()
        return total

    def _trim_driver(self):
        """Let the driver give back what it keeps for itself, if it can."""
        if self.device.driver.capabilities & Capability.TRIM:
            self.device.driver.trim(self.device.index)

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
