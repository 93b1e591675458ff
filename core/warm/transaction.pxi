# Uses of buffers through a driver in Python, each of them one launch of a stream.

cdef int run_transaction(Stream s, list read, list written, object call, tuple args) except -1:
    """One launch through a driver in Python: depend, begin, the call, publish.

    The uses are noted when the call raises too: part of its work may be in the queue.
    """
    cdef Timeline t = s.timeline
    for buffer in read:
        depend_on(t, <Buffer?>buffer, False)
    for buffer in written:
        depend_on(t, <Buffer?>buffer, True)
    t.begin()
    try:
        delay()
        call(*args, stream=s)
        delay()
    finally:
        t.publish()
        for buffer in read:
            note_use(t, <Buffer>buffer, False)
        for buffer in written:
            note_use(t, <Buffer>buffer, True)
        t.leave()
    return 0


cdef object place_of(object end, Device device, list buffers):
    """Where a copy begins: at an array's first element, or at an address of the host."""
    if not isinstance(end, Array):
        return Place(None, end, 0)
    cdef Array x = end
    if x.device is device:
        buffers.append(x.buffer)
    return Place(x.device.opened, x.buffer.handle, x.offset)


def enqueue_copy(Stream stream not None, target, source, size):
    """Enqueue a copy of bytes through the driver, as a launch that reads and writes the arrays.

    An end is a contiguous array of the stream's device, or an address of the host. The source may
    be an array of another device that the stream's ``reaches``. Memory that is not the stream's
    device's must be ready, and stay until the copy is done.
    """
    cdef Device device = stream.timeline.device
    cdef list read = [], written = []
    dst = place_of(target, device, written)
    src = place_of(source, device, read)
    run_transaction(stream, read, written, device.calls().copy, (dst, src, size))
    if _has_checks:
        note_places_of([source], [target])


def begin_use(Stream stream not None, Buffer read, Buffer written):
    """Let somebody else use buffers in a stream's queue, where his work goes next.

    The queue waits for what they depend on, and the use counts as the stream's next launch.
    """
    cdef Timeline t = stream.timeline
    if read is not None:
        depend_on(t, read, False)
    if written is not None:
        depend_on(t, written, True)
    t.begin()
    t.publish()
    if read is not None:
        note_use(t, read, False)
    if written is not None:
        note_use(t, written, True)
    t.leave()


def let_queue_wait(Stream stream not None, object handle):
    """Let a queue of the device, which may be somebody else's, wait for a stream's work so far."""
    cdef Mark m = stream.opened().record()
    if m is not None:
        m.opened.stream_wait_event(handle, m.handle)


def wait_for_host(Buffer buffer not None, bint write=False):
    """Block until the host may read (or write) a buffer; raises what failed of the work on it."""
    wait_on_host(buffer, write)


def wait_for_others(Buffer buffer not None, Stream stream not None):
    """Block until what another stream than this one wrote is there; raises what failed of it.

    A copy that merely waits for the other stream's event would bring what failed work left, or what
    was taken by an index that another stream has checked.
    """
    cdef Buffer b = uses_of(buffer)
    if b.timeline is not stream.timeline:
        wait_on_host(buffer, False)
    elif b.places is not None:
        settle_places(b.places, 0)
