# Streams, events, and the order between them.
#
# Every launch on a stream gets the next sequence number of that stream. A buffer remembers the stream
# that last wrote it with the number, and the numbers of later reads. Use on the same stream costs one
# comparison; use on another one makes that stream wait for an event recorded behind the number.

cdef bint _streams_scoped = False  # whether the process ever entered a `with stream:` block
cdef bint _manual_hazards = False
# A dict of device -> stream; under the key None lies the dict that was in force before it.
_scoped_streams = ContextVar("phalanx_streams", default=None)


def set_manual_hazards(bint manual):
    """Turn the automatic waits between streams off or on; returns the former setting."""
    global _manual_hazards
    before = _manual_hazards
    _manual_hazards = manual
    return before


@cython.final
cdef class Stream:
    """An in-order queue of work on one device.

    ``Stream(device, priority=0)`` makes a new one (lower numbers are more urgent). In a ``with``
    block it takes the work of this context on its device. Work on arrays that another stream wrote
    waits for that stream by itself. On a device without streams the core emulates it: then
    ``emulated`` is true and the work runs in the order of the calls.

    Raises:
        DeviceNotFoundError: no such device.
        ClosedError: on use after ``close()``.
    """

    cdef readonly Device device
    cdef readonly object handle
    cdef readonly int priority
    cdef readonly uint32_t id
    cdef phx_stream *native
    cdef uint64_t seq        # launches so far
    cdef uint64_t done       # all up to here are known to be complete
    cdef dict _waited        # stream id -> sequence number that this stream already waits for
    cdef object _marker      # event behind _marker_seq, for polling and waits
    cdef uint64_t _marker_seq
    cdef bint _closed
    cdef bint _borrowed      # the queue is somebody else's: waited for, never destroyed
    cdef object _owner
    cdef object __weakref__

    def __init__(self, device=None, *, int priority=0):
        from .devices import find_device, get_device

        cdef Device d = get_device() if device is None else find_device(device)
        d.ensure_open()
        handle = d.driver.stream_create(d.index, priority) if d.has_streams else None
        self.priority = priority
        self._attach(d, handle)

    @staticmethod
    def from_handle(device, handle, *, owner=None):
        """Return a stream over an existing queue of the device, which it borrows.

        ``handle`` is what the device's driver takes as a stream: an int for a plugin in C.
        ``owner`` is kept alive as long as the stream. ``close()`` waits for the work and never
        destroys the queue. What others put into the queue is in order with the stream's work, but
        ``query()`` and other streams do not see it.

        Raises:
            DeviceNotFoundError: no such device.
            NotImplementedError: the device has no streams of its own.
        """
        from .devices import find_device

        cdef Device d = find_device(device)
        d.ensure_open()
        if not d.has_streams:
            raise NotImplementedError(
                f"{d} has no streams of its own, so there is none to borrow; make a Stream")
        cdef Stream s = Stream.__new__(Stream)
        s._borrowed = True
        s._owner = owner
        s._attach(d, handle)
        return s

    cdef int _attach(self, Device device, object handle) except -1:
        self.device = device
        self.handle = handle
        self.native = <phx_stream *><uintptr_t>handle if isinstance(handle, int) else NULL
        if device._free_ids:  # a number is used again where its last owner stopped counting
            self.id, self.seq = device._free_ids.pop()
            self.done = self.seq
        else:
            self.id = device._next_id
            device._next_id += 1
        self._waited = {}
        device._streams.append(_weakref(self))
        if device.pool is not None:
            phx_pool_add_stream(device.pool.pool, self.id)
        return 0

    @property
    def emulated(self):
        """Whether the device has no streams of its own."""
        return not self.device.has_streams

    @property
    def is_default(self):
        """Whether this is its device's default stream."""
        return self is self.device.default_stream

    @property
    def closed(self):
        """Whether ``close()`` was called."""
        return self._closed

    cdef int _check(self) except -1:
        if self._closed:
            raise errors.ClosedError(f"this stream of {self.device} is closed; make a new Stream")
        return 0

    def __enter__(self):
        global _streams_scoped
        self._check()
        before = _scoped_streams.get()
        scoped = dict(before or {})
        scoped[self.device] = self
        scoped[None] = before
        _scoped_streams.set(scoped)
        _streams_scoped = True
        return self

    def __exit__(self, *exc_info):
        _scoped_streams.set(_scoped_streams.get()[None])

    def record(self):
        """Return a new event behind the work so far; does not block."""
        event = Event(self.device)
        event.record(self)
        return event

    def wait(self, Event event not None):
        """Let later work of this stream wait for an event; does not block the host, except on a
        default stream that runs inline."""
        self._check()
        event._check()
        if event.stream is None:
            raise ValueError("the event was never recorded: call stream.record() or event.record()")
        if event.handle is not None and event.device is self.device:
            self.device.driver.stream_wait_event(self.device.index, self.handle, event.handle)
            if event.stream is not self:
                self._waited[event.stream.id] = max(
                    self._waited.get(event.stream.id, 0), event.seq)
        elif event.device is not self.device:
            event.synchronize()

    def query(self):
        """Return whether all work is done; does not block."""
        self._check()
        if self.done >= self.seq and not self.is_default:
            return True
        if not self.device.has_streams:
            return True
        before = self.seq
        idle = self.device.driver.stream_query(self.device.index, self.handle)
        if idle:
            self.done = max(self.done, before)
        return idle

    def synchronize(self, timeout=None):
        """Wait until the work so far is done; ``timeout`` in seconds, then ``TimeoutError``.

        Raises:
            LaunchError: an asynchronous launch failed; the message names it.
        """
        self._check()
        before = self.seq
        if self.device.has_streams:
            self.device.driver.stream_synchronize(self.device.index, self.handle, timeout)
        else:
            self.device.driver.synchronize(self.device.index, timeout)
        self.done = max(self.done, before)

    def close(self):
        """Finish the work and release the queue; may be called again.

        Raises:
            LaunchError: an asynchronous launch failed; the stream is closed all the same.
        """
        if self._closed or self.is_default:
            return
        self._closed = True
        try:
            if self.device.has_streams:
                _let_go(self.device, self.handle, self._borrowed)
        finally:
            self.done = self.seq
            self._owner = None
            self.native = NULL
            phx_pool_set_completed(self.device.pool.pool, self.id, self.seq)
            self.device._free_ids.append((self.id, self.seq))

    def __dealloc__(self):
        if not self._closed and self.handle is not None and self.device is not None:
            _abandon_stream(self.device, self.handle, self._borrowed)
            phx_pool_set_completed(self.device.pool.pool, self.id, self.seq)

    def __repr__(self):
        state = "closed" if self._closed else "default" if self.is_default else f"#{self.id}"
        return f"<Stream {self.device} {state}>"

    cdef int wait_for(self, Stream other, uint64_t seq) except -1:
        """Order this stream behind launch number ``seq`` of another stream."""
        if other is self or other.done >= seq or seq == 0:
            return 0
        if self._waited.get(other.id, 0) >= seq:
            return 0
        if other.device is not self.device or not self.device.has_streams:
            if not other._closed:
                other.synchronize()
            return 0
        other._mark(seq)
        self.device.driver.stream_wait_event(self.device.index, self.handle, other._marker.handle)
        self._waited[other.id] = other._marker_seq
        return 0

    cdef int _mark(self, uint64_t seq) except -1:
        """Have an event behind launch number ``seq`` at least."""
        if self._marker is None or self._marker_seq < seq:
            before = self.seq
            self._marker = self.record()
            self._marker_seq = before
        return 0

    cdef uint64_t poll(self) except? 0:
        """Return the number up to which all launches are known to be complete; does not block."""
        if self._closed or not self.device.has_streams:
            self.done = self.seq
        elif self.done < self.seq:
            if self._marker is not None and self._marker_seq > self.done and self._marker.query():
                self.done = self._marker_seq
            if self.done < self.seq and not self.query():
                if self._marker is None or self._marker_seq <= self.done:
                    self._mark(self.seq)
        return self.done


cdef object _weakref(object target):
    import weakref

    return weakref.ref(target)


cdef int _let_go(Device device, object handle, bint borrowed) except -1:
    """Finish the work of a queue, and destroy it unless it is borrowed."""
    if borrowed:
        device.driver.stream_synchronize(device.index, handle, None)
    else:
        device.driver.stream_destroy(device.index, handle)
    return 0


cdef void _abandon_stream(Device device, object handle, bint borrowed) noexcept:
    """Let go of a stream that was collected without close(); never raises."""
    try:
        _let_go(device, handle, borrowed)
    except BaseException as error:
        import sys

        if not sys.is_finalizing():
            import warnings

            warnings.warn(f"a stream of {device} was not destroyed: {error}", ResourceWarning)


@cython.final
cdef class Event:
    """A point in a stream that can be waited for and timed.

    Made by ``stream.record()``, or ``Event(device)`` and ``event.record(stream)``; recording again
    moves it.
    """

    cdef readonly Device device
    cdef readonly object handle
    cdef readonly Stream stream
    cdef readonly uint64_t seq
    cdef double _host_time
    cdef bint _closed
    cdef object __weakref__

    def __init__(self, device=None):
        from .devices import find_device, get_device

        cdef Device d = get_device() if device is None else find_device(device)
        d.ensure_open()
        self.device = d
        if d.has_streams:
            self.handle = d.driver.event_create(d.index)

    cdef int _check(self) except -1:
        if self._closed:
            raise errors.ClosedError(f"this event of {self.device} is closed; record a new one")
        return 0

    def record(self, Stream stream not None):
        """Put the event behind the stream's work so far; does not block."""
        self._check()
        stream._check()
        if stream.device is not self.device:
            raise errors.DeviceMismatchError(
                f"an event of {self.device} cannot be recorded in a stream of {stream.device}")
        if self.handle is None:
            import time

            self.device.driver.synchronize(self.device.index)
            self._host_time = time.perf_counter()
        else:
            self.device.driver.event_record(self.device.index, self.handle, stream.handle)
        self.stream = stream
        self.seq = stream.seq

    def query(self):
        """Return whether the stream has passed the event; does not block."""
        self._check()
        if self.stream is None:
            return False
        done = self.handle is None or self.device.driver.event_query(self.device.index, self.handle)
        if done and self.stream.done < self.seq:
            self.stream.done = self.seq
        return done

    def synchronize(self, timeout=None):
        """Wait until the stream has passed the event; ``timeout`` in seconds, then ``TimeoutError``."""
        self._check()
        if self.stream is None:
            raise ValueError("the event was never recorded: call stream.record() or event.record()")
        if self.handle is not None:
            self.device.driver.event_synchronize(self.device.index, self.handle, timeout)
        if self.stream.done < self.seq:
            self.stream.done = self.seq

    def elapsed_time(self, Event end not None):
        """Return the seconds from this event to ``end``; both must have been passed.

        Raises:
            ValueError: an event was not recorded or not passed yet.
            NotImplementedError: the driver cannot time events.
        """
        self._check()
        end._check()
        for event in (self, end):
            if not event.query():
                raise ValueError("an event is not recorded or not passed: call synchronize() first")
        if self.handle is None:
            return end._host_time - self._host_time
        if not self.device.driver.capabilities & Capability.EVENT_TIMING:
            raise NotImplementedError(f"the driver of {self.device} cannot time events")
        return self.device.driver.event_elapsed(self.device.index, self.handle, end.handle)

    def close(self):
        """Release the event; may be called again."""
        if self._closed:
            return
        self._closed = True
        if self.handle is not None:
            self.device.driver.event_destroy(self.device.index, self.handle)

    def __dealloc__(self):
        if self._closed or self.handle is None or self.device is None:
            return
        try:
            self.device.driver.event_destroy(self.device.index, self.handle)
        except BaseException:
            pass  # a destructor must not raise; the driver is gone or the interpreter is ending

    def __repr__(self):
        return f"<Event {self.device} {'recorded' if self.stream is not None else 'new'}>"


cdef Stream current_stream_of(Device device):
    """The stream that takes this context's work on a device."""
    if not _streams_scoped:
        return device.default_stream
    scoped = _scoped_streams.get()
    if scoped is None:
        return device.default_stream
    return scoped.get(device, device.default_stream)


def current_stream(device=None):
    """Return the stream that takes this context's work on a device (default: the current one)."""
    from .devices import find_device, get_device

    cdef Device d = get_device() if device is None else find_device(device)
    d.ensure_open()
    return current_stream_of(d)


cdef inline int use_buffer(Buffer b, Stream s, bint write) except -1:
    """Note that launch ``s.seq`` reads or writes a buffer, after waiting for what it depends on."""
    if b.stream is s and b.readers is None:
        if write:
            b.write_seq = s.seq
        else:
            b.read_seq = s.seq
        return 0
    return _use_across_streams(b, s, write)


cdef int _use_across_streams(Buffer b, Stream s, bint write) except -1:
    if not _manual_hazards:
        s.wait_for(b.stream, max(b.write_seq, b.read_seq) if write else b.write_seq)
        if write and b.readers is not None:
            for reader, seq in b.readers.items():
                s.wait_for(reader, seq)
    if b.stream is s:
        if write:
            b.write_seq = s.seq
        else:
            b.read_seq = s.seq
        return 0
    # The block returns to its own stream's bins only after every other stream has passed it, so the
    # last use on each of them is kept until the buffer dies.
    if b.readers is None:
        b.readers = {}
    if write:
        b.readers[b.stream] = max(b.write_seq, b.read_seq)
        b.readers.pop(s, None)
        b.stream = s
        b.write_seq = s.seq
        b.read_seq = 0
    else:
        b.readers[s] = s.seq
    return 0


cdef int wait_on_host(Buffer b, bint write) except -1:
    """Block until the host may read (or write) a buffer's memory."""
    cdef Stream s = b.stream
    if s is None:
        return 0
    if not s._closed and (s.done < b.write_seq or (write and s.done < b.read_seq)):
        if not (s.device.synchronous and s is s.device.default_stream):
            s.synchronize()
    if write and b.readers is not None:
        for reader, seq in b.readers.items():
            if (<Stream>reader).done < seq and not (<Stream>reader)._closed:
                reader.synchronize()
    return 0
