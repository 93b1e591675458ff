# A device: its driver, its streams, and when it is opened and closed.

@cython.final
cdef class Device:
    """One piece of hardware, such as ``cpu:0``. Get one from ``phalanx.devices()``.

    Attributes:
        name: ``driver:index``.
        driver: the ``Driver`` that reaches it.
        index: its number within the driver.
        info: what the driver tells of it, a ``DeviceInfo``.

    Examples:
        >>> device = px.devices("cpu")[0]
        >>> device.name, device.kind, device == "cpu:0"
        ('cpu:0', <DeviceKind.CPU: 'cpu'>, True)
    """

    cdef readonly object driver
    cdef readonly int index
    cdef readonly object info
    cdef object opened        # the driver's OpenDevice, None while it is closed
    cdef phx_device *native   # what native kernels get for it
    cdef readonly str name
    cdef readonly bint host_addressable
    cdef readonly bint has_streams
    cdef readonly bint synchronous
    cdef bint has_fp64
    cdef dict preparing       # see `preparing_of`
    cdef Stream _default_stream
    cdef Pool _pool
    cdef public object allocator
    cdef object _lock
    cdef list _timelines      # that have not ended
    cdef int _dropped         # of them, those whose Stream is gone
    cdef int _ended           # the number under which memory of ended streams is kept, or -1
    cdef list _free_ids
    cdef uint32_t _next_id
    cdef tuple _spare_events  # driver events that no mark uses: those without time, those with
    cdef list _parked         # owners of borrowed memory behind work
    cdef int _borrowed        # buffers over memory of others
    cdef KernelTable _table
    cdef DLDevice dl
    cdef object __weakref__

    def __cinit__(self, driver, int index, info):
        self.driver = driver
        self.index = index
        self.info = info
        self.name = f"{driver.name}:{index}"
        self.host_addressable = bool(info.features & Feature.HOST_ADDRESSABLE)
        self.synchronous = bool(info.features & Feature.SYNCHRONOUS)
        self.has_fp64 = bool(info.features & Feature.FP64)
        self.dl.device_type, self.dl.device_id = info.dlpack_device
        self._lock = ForkSafeLock()
        self._timelines = []
        self._free_ids = []
        self._next_id = 1
        self._ended = -1
        self._spare_events = ([], [])
        self._parked = []
        self._table = KernelTable.__new__(KernelTable)

    @property
    def kind(self):
        """``DeviceKind.CPU``, ``GPU`` or ``ACCELERATOR``."""
        return self.info.kind

    def ensure_open(self):
        """Open the device once and return the driver's ``OpenDevice``, which the core owns.

        Raises:
            DeviceError: it cannot be used, or the driver opened something else.
        """
        cdef Stream stream
        if self.opened is not None:
            return self.opened
        with self._lock:
            if self.opened is None:
                opened = self.driver.open(self.index)
                if not isinstance(opened, OpenDevice):
                    raise errors.DeviceError(
                        f"driver {self.driver.name!r}: open({self.index}) returned {opened!r}",
                        remedy="return a phalanx.OpenDevice, which has the calls alloc, copy, kernel, ...")
                if self.opened is not None:  # by a log handler or a signal's during that call
                    opened.close()
                    return self.opened
                self.has_streams = bool(opened.capabilities & Capability.STREAMS)
                if self._pool is None:
                    self._pool = Pool(self)
                stream = Stream.__new__(Stream, _BARE)
                self.add_timeline(stream, None)
                device, queue = opened.native
                self.native = <phx_device *><uintptr_t>device
                stream.timeline.native = <phx_stream *><uintptr_t>queue
                self._default_stream = stream
                self.preparing = preparing_of(opened)
                self.opened = opened
                _opened.add(self)
            return self.opened

    @property
    def default_stream(self):
        """The stream of work that names no other one; opens the device if it is closed."""
        self.ensure_open()
        return self._default_stream

    @property
    def pool(self):
        """The default allocator; opens the device if it is closed."""
        self.ensure_open()
        return self._pool

    cdef object calls(self):
        """The driver's ``OpenDevice``; raises ``ClosedError`` if the device is closed."""
        if self.opened is None:
            raise errors.ClosedError(f"{self} is closed", remedy="Device.ensure_open() opens it")
        return self.opened

    @property
    def is_open(self):
        """Whether the device has been used in this process."""
        return self.opened is not None

    def reset_kernels(self):
        """Choose kernels anew, after a policy or the set of plugins changed."""
        self._table = KernelTable.__new__(KernelTable)

    def streams(self):
        """Return the open streams, the default one first."""
        cdef Timeline t
        found = [t.stream() for t in self.timelines() if t.state == OPEN]
        return [s for s in found if s is not None]

    def synchronize(self, timeout=None):
        """Wait for all work; ``timeout`` in seconds, then ``TimeoutError``.

        Raises:
            LaunchError: an asynchronous launch failed, the first one found; all were waited for,
                and the failures of other streams are notes of the error.
        """
        cdef Timeline t
        self.ensure_open()
        deadline = Deadline(timeout)
        failure = None
        for t in self.timelines():
            try:
                t.finish(deadline.left())
            except TimeoutError as late:
                raise late from failure
            except Exception as error:  # whatever a driver raises for work that failed
                failure = joined_failure(failure, error)
        self.end_dropped()
        if failure is not None:
            raise failure

    def close(self):
        """Finish all work, end the streams and give free memory back; may be called again.

        If no array lies on the device, the driver closes it too, and the next use opens it anew.
        Else the device stays open, so that its arrays stay what they are.

        Raises:
            LaunchError: an asynchronous launch failed; everything was closed all the same.
        """
        failure = self._close_streams()
        if failure is not None:
            raise failure

    cdef object _close_streams(self):
        """Close all and return the first failure of work, or None."""
        cdef Timeline t
        failure = None
        with self._lock:
            if self.opened is None:
                return None
            for t in self.timelines():
                try:
                    t.finish(None)
                except Exception as error:  # whatever a driver raises for work that failed
                    failure = joined_failure(failure, error)
                if t is not self._default_stream.timeline:
                    t.close()
            self._pool.trim()
            if not self._pool.is_at_rest() or self._borrowed or self._parked:
                return failure
            t = self._default_stream.timeline
            t.marker = None
            opened, self.opened = self.opened, None  # before a call lets other threads run
            t.state = ENDED
            self.forget_timeline(t)
            for spare in self._spare_events:
                while spare:
                    opened.event_destroy(spare.pop())
            opened.close()
        return failure

    # Timelines

    cdef list timelines(self):
        return list(self._timelines)

    cdef int check_stream_number(self) except -1:
        if not self._free_ids and self._next_id >= PHX_POOL_MAX_STREAMS:
            raise errors.DeviceError(
                f"{self} has {len(self._timelines)} streams, the most there can be: close some, or "
                "use one stream for many pieces of work")
        return 0

    cdef int add_timeline(self, Stream stream, object handle) except -1:
        """Give a stream its timeline over a queue of the driver."""
        cdef Timeline t = Timeline.__new__(Timeline)
        t.device = self
        t.handle = handle
        t.native = <phx_stream *><uintptr_t>handle if isinstance(handle, int) else NULL
        t.is_inline = handle is None and self.synchronous
        t.waited = {}
        t.stream = _weakref(stream)
        if self._free_ids:  # a number is used again where its last owner stopped counting
            t.id, t.seq = self._free_ids.pop()
            t.done = t.told = t.seq
        else:
            t.id = self._next_id
            self._next_id += 1
        stream.timeline = t
        self._timelines.append(t)
        phx_pool_add_stream(self._pool.pool, t.id)
        return 0

    cdef int forget_timeline(self, Timeline t) except -1:
        """A timeline has ended: its number and its free memory serve others.

        The number of the first one is nobody's from then on, and the memory of all is kept there.
        """
        self._timelines.remove(t)
        if t.is_dropped:
            self._dropped -= 1
        if t.state == ENDED:
            phx_pool_set_completed(self._pool.pool, t.id, t.seq)
            if self._ended < 0:
                self._ended = t.id
                return 0
            phx_pool_adopt_stream(self._pool.pool, t.id, self._ended, NULL)
        self._free_ids.append((t.id, t.seq))
        return 0

    cdef int end_dropped(self) except -1:
        """End the timelines of streams that were dropped and have no work left; does not block."""
        cdef Timeline t
        if not self._dropped:
            return 0
        for t in self.timelines():
            if not t.is_dropped or t.users or t.state > CLOSING:
                continue
            try:
                if t.device.has_streams and not t.query() or t.users:
                    continue
                t.state = CLOSING
                t.end()
            except Exception as error:  # whatever a driver raises for work that failed
                t.failure = error
            if t.state == ENDED or t.failure is not None:
                warn_of_failure(t)
        return 0

    # Owners of borrowed memory

    cdef int reap_parked(self) except -1:
        """Let the owners go whose work is known to be done."""
        cdef Holding parked
        if not self._parked:
            return 0
        waiting, self._parked = self._parked, []
        while waiting:
            parked = waiting.pop()
            if not parked.is_passed():
                self._parked.append(parked)
        return 0

    cdef int poll_parked(self) except -1:
        """Ask the streams how far they are if owners wait for them; does not block."""
        cdef Timeline t
        if self._parked:
            for t in self.timelines():
                t.poll()
            self.reap_parked()
        return 0

    def __repr__(self):
        return f"<Device {self.name} {self.info.name!r}>"

    def __str__(self):
        return self.name

    def __eq__(self, other):
        """Whether this is the same device, or its name."""
        if type(other) is str:
            return self.name == other
        return self is other if type(other) is Device else NotImplemented

    def __hash__(self):
        return hash(self.name)

    def __reduce__(self):
        from .discovery.devices import find_device

        return find_device, (self.name,)


cdef object _weakref(object target):
    import weakref

    return weakref.ref(target)


cdef int warn_of_failure(Timeline t) except -1:
    failure, t.failure = t.failure, None
    if failure is not None:
        import warnings

        warnings.warn(
            f"work of a stream of {t.device} that was dropped without close() failed: {failure}",
            ResourceWarning)
    return 0
