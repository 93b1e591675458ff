# Streams and events: what programs see of timelines and marks.

cdef bint _streams_scoped = False  # whether the process ever entered a `with stream:` block
cdef object _is_manual = None  # says whether the caller orders his streams himself; None: nobody does
# A dict of device -> stream; under the key None lies the dict that was in force before it.
_scoped_streams = ContextVar("phalanx_streams", default=None)
_BARE = object()


def ask_for_hazards(is_manual not None):
    """From now on ask before every automatic wait between streams whether it is unwanted."""
    global _is_manual
    _is_manual = is_manual


@cython.final
@cython.no_gc
cdef class Stream:
    """An in-order queue of work on one device.

    ``Stream(device, priority=0)`` makes a new one (lower numbers are more urgent). In a ``with``
    block it takes the work of this context on its device. Work on arrays that another stream wrote
    waits for that stream by itself. On a device without streams the core emulates it: then
    ``emulated`` is true and the work runs in the order of the calls.

    A stream that is dropped without ``close()`` finishes its work; its queue is released later.

    Raises:
        DeviceNotFoundError: no such device.
        ClosedError: on use after ``close()``.

    Examples:
        >>> x = px.ones(3)
        >>> with px.Stream() as stream:
        ...     y = x + 1
        >>> stream.synchronize(timeout=60)
        >>> print(y)
        [2. 2. 2.]
    """

    cdef readonly Timeline timeline
    cdef readonly int priority
    cdef object __weakref__

    def __cinit__(self, device=None, *, int priority=0):
        cdef Device d
        self.priority = priority
        if device is _BARE:
            return
        from .discovery.devices import find_device, get_device

        d = get_device() if device is None else find_device(device)
        d.ensure_open()
        d.end_dropped()
        d.check_stream_number()
        delay()
        handle = d.calls().stream_create(priority) if d.has_streams else None
        d.add_timeline(self, handle)

    def __init__(self, device=None, *, priority=0):
        pass  # for the signature

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
        from .discovery.devices import find_device

        cdef Device d = find_device(device)
        d.ensure_open()
        if not d.has_streams:
            raise NotImplementedError(
                f"{d} has no streams of its own, so there is none to borrow; make a Stream")
        cdef Stream s = Stream.__new__(Stream, _BARE)
        d.check_stream_number()
        d.add_timeline(s, handle)
        s.timeline.is_borrowed = True
        s.timeline.owner = owner
        return s

    @property
    def device(self):
        """Where it works."""
        return self.timeline.device

    @property
    def handle(self):
        """The driver's handle; ``None`` for a default or a closed stream."""
        return self.timeline.handle

    @property
    def id(self):
        """The number by which the pool knows it."""
        return self.timeline.id

    @property
    def emulated(self):
        """Whether the device has no streams of its own."""
        return not self.timeline.device.has_streams

    @property
    def is_default(self):
        """Whether this is its device's default stream."""
        return self is self.timeline.device._default_stream

    @property
    def closed(self):
        """Whether ``close()`` was called."""
        return self.timeline.state != OPEN

    cdef Timeline opened(self):
        if self.timeline.state != OPEN:
            self.timeline.refuse()
        return self.timeline

    def __enter__(self):
        global _streams_scoped
        self.opened()
        before = _scoped_streams.get()
        scoped = dict(before or {})
        scoped[self.timeline.device] = self
        scoped[None] = before
        _scoped_streams.set(scoped)
        _streams_scoped = True
        return self

    def __exit__(self, *exc_info):
        scoped = _scoped_streams.get()
        if scoped is None or scoped.get(self.timeline.device) is not self:
            raise RuntimeError(
                f"a `with` block of a stream of {self.timeline.device} ends where it is not the "
                "current one: leave it in the thread or task that entered it, inner blocks first")
        _scoped_streams.set(scoped[None])

    def record(self, *, bint timing=True):
        """Return a new event behind the work so far; does not block.

        See ``Event`` for ``timing``.
        """
        event = Event(self.timeline.device, timing=timing)
        event.record(self)
        return event

    def wait(self, Event event not None):
        """Let later work of this stream wait for an event; does not block the host, except on a
        default stream that runs inline."""
        cdef Timeline t = self.opened()
        cdef Mark m = event.recorded()
        cdef Timeline other = event.timeline
        if event.device is not t.device or t.is_inline:
            event.synchronize()
        elif not m.is_settled() and other is not t:
            t.wait_mark(other, m)

    def query(self):
        """Return whether all work is done; does not block."""
        cdef Timeline t = self.opened()
        if not t.device.has_streams:
            return True
        if t.done >= t.seq and not t.users and not self.is_default:
            t.tell()
            return True
        return t.query()

    def synchronize(self, timeout=None):
        """Wait until the work so far is done; ``timeout`` in seconds, then ``TimeoutError``.

        Raises:
            LaunchError: an asynchronous launch failed; the message names it.
        """
        self.opened().finish(check_timeout(timeout))

    def close(self):
        """Finish the work and release the queue; may be called again.

        Raises:
            LaunchError: an asynchronous launch failed; the stream is closed all the same.
        """
        if not self.is_default:
            self.timeline.close()

    def __dealloc__(self):
        # No driver is called from a destructor: the device ends the timeline later.
        if self.timeline is not None and self.timeline.state <= CLOSING:
            self.timeline.is_dropped = True
            self.timeline.device._dropped += 1

    def __repr__(self):
        state = "closed" if self.closed else "default" if self.is_default else f"#{self.id}"
        return f"<Stream {self.timeline.device} {state}>"


@cython.final
cdef class Event:
    """A point in a stream that can be waited for and timed.

    Made by ``stream.record()``, or ``Event(device)`` and ``event.record(stream)``; recording again
    moves it, and whoever waits already waits for the former point. Without ``timing`` it has no
    time: a driver may have to note the times of all later work of the stream for one that has.

    Examples:
        >>> stream = px.Stream()
        >>> start = stream.record()
        >>> with stream:
        ...     x = px.ones(1000) * 2
        >>> end = stream.record()
        >>> end.synchronize()
        >>> start.elapsed_time(end) >= 0  # seconds
        True
    """

    cdef readonly Device device
    cdef readonly bint timing
    cdef readonly Stream stream
    cdef Timeline timeline
    cdef Mark mark
    cdef double _host_time
    cdef bint _closed
    cdef object __weakref__

    def __cinit__(self, device=None, *, bint timing=True):
        from .discovery.devices import find_device, get_device

        cdef Device d = get_device() if device is None else find_device(device)
        d.ensure_open()
        self.device = d
        self.timing = timing

    def __init__(self, device=None, *, timing=True):
        pass  # for the signature

    @property
    def handle(self):
        """The driver's handle of the newest recording, ``None`` if there is none."""
        return None if self.mark is None else self.mark.handle

    @property
    def seq(self):
        """How many launches of the stream lie before the event."""
        return 0 if self.mark is None else self.mark.seq

    cdef int check(self) except -1:
        if self._closed:
            raise errors.ClosedError(f"this event of {self.device} is closed", remedy="record a new one")
        return 0

    cdef Mark recorded(self):
        self.check()
        if self.mark is None:
            raise ValueError("the event was never recorded: call stream.record() or event.record()")
        return self.mark

    def record(self, Stream stream not None):
        """Put the event behind the stream's work so far; does not block."""
        self.check()
        cdef Timeline t = stream.opened()
        cdef Mark m
        if t.device is not self.device:
            raise errors.DeviceMismatchError(
                f"an event of {self.device} cannot be recorded in a stream of {t.device}")
        if self.device.has_streams:
            m = t.record(self.timing)
            if m is None:
                t.refuse()
        else:
            from time import perf_counter

            m = Mark.__new__(Mark)
            m.device = self.device
            m.seq = t.seq
            t.finish(None)
            self._host_time = perf_counter()
        # One step: nobody may see the mark of one stream with another stream.
        self.mark, self.timeline, self.stream = m, t, stream

    def query(self):
        """Return whether the stream has passed the event; does not block."""
        self.check()
        cdef Mark m = self.mark
        cdef Timeline t = self.timeline
        if m is None:
            return False
        done = m.is_settled() or m.query()
        if done:
            t.pass_mark(m)
        return done

    def synchronize(self, timeout=None):
        """Wait until the stream has passed the event; ``timeout`` in seconds, then ``TimeoutError``."""
        cdef Mark m = self.recorded()
        cdef Timeline t = self.timeline
        timeout = check_timeout(timeout)
        if not m.is_settled():
            t.wait_for(m, timeout)
        t.pass_mark(m)
        self.device.reap_parked()

    def elapsed_time(self, Event end not None):
        """Return the seconds from this event to ``end``; both must have been passed.

        Raises:
            DeviceMismatchError: the events are of two devices.
            ValueError: an event has no ``timing``, was not recorded or not passed yet.
            NotImplementedError: the driver cannot time events.
        """
        self.check()
        end.check()
        if end.device is not self.device:
            raise errors.DeviceMismatchError(
                f"elapsed_time of events of {self.device} and {end.device}",
                remedy="time both on one device")
        cdef Mark first = self.mark
        cdef Mark last = end.mark
        for event in (self, end):
            if not event.timing:
                raise ValueError("an event was made with timing=False, so it has no time")
            if not event.query():
                raise ValueError("an event is not recorded or not passed: call synchronize() first")
        if first.handle is None or last.handle is None:
            return end._host_time - self._host_time
        if not first.opened.capabilities & Capability.EVENT_TIMING:
            raise NotImplementedError(f"the driver of {self.device} cannot time events")
        return first.opened.event_elapsed(first.handle, last.handle)

    def close(self):
        """Release the event; may be called again."""
        self._closed = True
        self.mark = None

    def __repr__(self):
        return f"<Event {self.device} {'recorded' if self.mark is not None else 'new'}>"


cdef Stream current_stream_of(Device device):
    """The stream that takes this context's work on a device."""
    if not _streams_scoped:
        return device._default_stream
    scoped = _scoped_streams.get()
    if scoped is None:
        return device._default_stream
    return scoped.get(device, device._default_stream)


def current_stream(device=None):
    """Return the stream that takes this context's work on a device (default: the current one).

    Examples:
        >>> with px.Stream() as stream:
        ...     px.current_stream() is stream, px.current_stream().is_default
        (True, False)
    """
    from .discovery.devices import find_device, get_device

    cdef Device d = get_device() if device is None else find_device(device)
    d.ensure_open()
    return current_stream_of(d)
