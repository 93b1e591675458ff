# Buffers, and how they are allocated.

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
    cdef Places places        # checks of indices that its values come from, if there are any
    cdef Holding holding      # None for an ordinary block
    cdef bint is_record       # no memory of its own: the uses of several buffers over one memory
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
        b.timeline = device._default_stream.timeline
        holding_of(b).owner = owner
        device._borrowed += 1
        return b

    def __dealloc__(self):
        if self.block == NULL:
            if self.holding is not None and not self.is_record:
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
    return device._pool.take(size, s)


cdef Buffer allocate_through(Device device, uint64_t size, Stream s):
    """Allocate through the user's allocator, and look at what it gives."""
    allocator = device.allocator
    if allocator is None:
        return device._pool.take(size, s)
    found = allocator.allocate(size, stream=s)
    if type(found) is not Buffer or (<Buffer>found).device is not device or (
            (<Buffer>found).size < size):
        what = f"{found!r}" if type(found) is Buffer else type(found).__name__
        raise TypeError(
            f"{type(allocator).__name__}.allocate({size}) gave {what}; it must return a Buffer of "
            f"{device} with {size} bytes or more, for example from its upstream")
    return found
