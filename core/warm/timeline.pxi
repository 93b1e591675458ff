# Timelines: the numbered work of a stream, and who may end the queue behind it.
#
# docs/streams-and-memory.md states the rules, tests/model checks them; the functions here have the
# names of the model's transitions. In short: the GIL makes each step atomic and is released in every
# driver call. A launch is one transaction: `depend` (waits), `begin`, the enqueue, `publish`. Its
# number is given after the enqueue, so whatever has a number is in the queue.

cdef extern from "warm/delays.h" nogil:
    void phx_delay()
    bint PHX_DELAYS

from cpython.exc cimport PyErr_CheckSignals

has_delays = bool(PHX_DELAYS)  # whether this build waits at random where the GIL is released

cdef enum:
    OPEN = 0
    CLOSING = 1  # takes no new work; what is in the queue goes on
    ENDED = 2    # all work is done, the queue is gone
    LOST = 3     # the queue stayed in the parent process of a fork

WAIT_SLICE = 0.1  # seconds after which a wait looks for Ctrl-C


cdef inline void delay() noexcept:
    """In a build with delays: let other threads run for a random time."""
    if PHX_DELAYS:
        with nogil:
            phx_delay()


@cython.final
@cython.no_gc
cdef class Mark:
    """The driver's event behind launch ``seq`` of a timeline. It is recorded once.

    Whoever waits holds a reference, so the event is not recorded anew under a wait. When the mark
    dies its event serves another one: a destructor calls no driver.
    """

    cdef Device device
    cdef object opened  # whose event it is: the device may have been closed since
    cdef object handle
    cdef uint64_t seq
    cdef bint is_timed

    def __dealloc__(self):
        if self.handle is not None and self.opened is self.device.opened:
            (<list>self.device._spare_events[self.is_timed]).append(self.handle)

    cdef bint is_settled(self) noexcept:
        """Whether it was passed when the work was done: inline, or before its device was closed."""
        return self.handle is None or self.opened is not self.device.opened

    cdef bint query(self) except -1:
        delay()
        return self.opened.event_query(self.handle)

    cdef int synchronize(self, object timeout) except -1:
        wait_sliced(self.opened.event_synchronize, (self.handle,), timeout)
        return 0


cdef int wait_for_mark(Mark m) except -1:
    """Ask again and again until a mark is passed."""
    from time import monotonic, sleep

    begin = monotonic()
    while not m.query():
        sleep(min(max(2e-5, (monotonic() - begin) / 16), 1e-3))
    return 0


cdef Mark new_mark(Device device, bint timed):
    cdef Mark m = Mark.__new__(Mark)
    m.device = device
    m.opened = device.calls()
    m.is_timed = timed and m.opened.capabilities & Capability.EVENT_TIMING
    cdef list spare = device._spare_events[m.is_timed]
    if spare:
        m.handle = spare.pop()
    else:
        m.handle = m.opened.event_create(bool(m.is_timed))
    return m


@cython.final
cdef class Timeline:
    """The numbered work of one stream. Buffers refer to it, so it outlives its ``Stream``.

    ``seq`` counts the launches that are in the queue, ``done`` those that are known to be complete,
    ``told`` those whose failures were raised as well: asking for progress takes no failure.
    ``users`` counts the driver calls that use the queue at the moment: it ends only without any.
    Whoever needs all work that can be in the queue takes the number ``seq + launching``.
    """

    cdef readonly Device device
    cdef readonly object handle
    cdef phx_stream *native
    cdef readonly uint32_t id
    cdef readonly uint64_t seq
    cdef readonly uint64_t done
    cdef uint64_t told    # all up to here were waited for, so that their failures were raised
    cdef int state
    cdef int users
    cdef int launching    # launches between begin and publish; their numbers come next
    cdef bint is_inline   # work is done when the call returns
    cdef bint is_borrowed  # the queue is somebody else's: waited for, never destroyed
    cdef bint is_dropped  # its Stream was collected without close()
    cdef dict waited      # id of another timeline -> number that this one already waits for
    cdef Mark marker      # the newest mark
    cdef object failure   # of work that a wait on somebody else's behalf has met
    cdef Doubts doubts    # launches that failures left without a result, if there were any
    cdef Doubts wrong     # launches among which one had an index that was out of range
    cdef object owner     # kept as long as the queue
    cdef object stream    # weak reference to the Stream

    # A launch, in this order.

    cdef int depend(self, Timeline other, uint64_t seq) except -1:
        """Order the work to come behind launch ``seq`` of another timeline.

        One that is known to be done by a question alone may have failed: an event hands that on.
        """
        cdef Mark m
        cdef uint64_t right
        if other is self:
            return 0
        if other.failure is not None and seq:
            other.tell()
        right = other.done if other.is_inline or not self.device.has_streams else other.told
        if right >= seq or self.waited.get(other.id, 0) >= seq:
            return 0
        if other.state == LOST or other.device is not self.device or not self.device.has_streams:
            return other.wait_until(seq)
        m = other.mark(seq)
        if m is None:
            return 0  # it ended meanwhile
        if self.is_inline:
            other.wait_for(m, None)
            other.told = max(other.told, m.seq)
            other.pass_mark(m)
            return 0
        self.wait_mark(other, m)
        return 0

    cdef int wait_mark(self, Timeline other, Mark m) except -1:
        """Let the work to come wait for a mark, which the caller keeps."""
        self.enter()
        try:
            delay()
            self.device.calls().stream_wait_event(self.handle, m.handle)
            delay()
        finally:
            self.leave()
        if self.waited.get(other.id, 0) < m.seq:
            self.waited[other.id] = m.seq
        return 0

    cdef inline int begin(self) except -1:
        """Open the queue for one enqueue; from here to it the GIL is not released."""
        if self.state != OPEN:
            self.refuse()
        self.users += 1
        self.launching += 1
        return 0

    cdef inline void publish(self) noexcept:
        """Give the next number to what was enqueued."""
        self.launching -= 1
        self.seq += 1
        if self.is_inline:
            self.done = self.seq

    # Driver calls that use the queue stand between these two.

    cdef int enter(self) except -1:
        if self.state >= ENDED:
            self.refuse()
        self.users += 1
        return 0

    cdef inline int leave(self) except -1:
        """Give up the queue; the last one ends a timeline that is closing."""
        self.users -= 1
        if self.users == 0 and self.state == CLOSING:
            return self.end()
        return 0

    cdef int refuse(self) except -1:
        if self.state == LOST:
            raise errors.ClosedError(
                f"this stream of {self.device} was made before the process was forked and works in "
                "the parent only; make a new Stream in the child")
        raise errors.ClosedError(f"this stream of {self.device} is closed", remedy="make a new Stream")

    # Progress

    cdef inline void pass_to(self, uint64_t seq) noexcept:
        if self.done < seq:
            self.done = seq

    cdef int pass_mark(self, Mark m) except -1:
        """Note that a mark was passed, and keep the newest."""
        self.pass_to(m.seq)
        if m.handle is not None and self.state < ENDED and (
                self.marker is None or self.marker.seq < m.seq):
            self.marker = m
        return 0

    cdef Mark mark(self, uint64_t seq):
        """A mark behind launch ``seq`` at least; ``None`` if the timeline has ended."""
        cdef Mark m = self.marker
        if m is not None and m.seq >= seq:
            return m
        m = self.record()
        if m is not None and (self.marker is None or self.marker.seq < m.seq):
            self.marker = m
        return m

    cdef Mark record(self, bint timed=False):
        """A new mark behind all work so far; ``None`` if the timeline has ended."""
        cdef Mark m = new_mark(self.device, timed)
        if self.state >= ENDED:
            return None
        m.seq = self.seq  # before the call: work that comes during it may be on either side
        self.users += 1
        try:
            delay()
            m.opened.event_record(m.handle, self.handle)
            delay()
        finally:
            self.leave()
        return m

    cdef int finish(self, object timeout) except -1:
        """Wait for all work so far; raises what failed."""
        cdef uint64_t before = self.seq
        if self.state >= ENDED:
            return self.tell()
        self.users += 1
        try:
            self.wait_queue(timeout)
        finally:
            self.leave()
        self.pass_to(before)
        self.told = max(self.told, before)
        self.device.reap_parked()
        return self.tell()

    cdef int wait_queue(self, object timeout) except -1:
        delay()
        try:
            if self.device.has_streams:
                wait_sliced(self.device.calls().stream_synchronize, (self.handle,), timeout)
            else:
                wait_sliced(self.device.calls().synchronize, (), timeout)
        except Exception as error:  # whatever a driver raises for work that failed
            self.doubt(error, self.seq + self.launching)
            raise
        delay()
        return 0

    cdef int wait_for(self, Mark m, object timeout) except -1:
        """Wait for a mark of this timeline on the host; raises what failed before it."""
        try:
            m.synchronize(timeout)
        except Exception as error:  # whatever a driver raises for work that failed
            self.doubt(error, self.seq + self.launching)
            raise
        return 0

    cdef int doubt(self, object failure, uint64_t last) except -1:
        """Note that a failure was told: what was enqueued behind the work that failed has no value.

        A wrong index stops nothing, and spoils only what is taken by it: see `check_places`.
        """
        if isinstance(failure, (TimeoutError, errors.ClosedError)):
            return 0
        if isinstance(failure, IndexError):
            if self.wrong is None:
                self.wrong = new_doubts()
            self.wrong.add(self.told + 1, last, failure)
            return 0
        return self.note_doubt(failure, self.told + 1, last)

    cdef int note_doubt(self, object failure, uint64_t first, uint64_t last) except -1:
        """Note launches without a value, and those of others that have waited for them."""
        cdef Timeline other
        if self.doubts is None:
            self.doubts = new_doubts()
        if self.doubts.add(first, last, failure):
            for other in self.device.timelines():
                if other is not self and other.waited.get(self.id, 0) >= first:
                    other.note_doubt(failure, other.told + 1, other.seq + other.launching)
        return 0

    cdef inline int check_value(self, uint64_t seq) except -1:
        """Raise again what left launch ``seq`` without a result."""
        return 0 if self.doubts is None else self.doubts.check(seq)

    cdef int finish_quietly(self) except -1:
        """Wait for all work so far on somebody else's behalf: a failure stays the stream's.

        A mark is asked for, since a wait would take the failure from the driver.
        """
        cdef Mark m
        if self.is_inline or (self.done >= self.seq and not self.users and not self.is_borrowed):
            return 0
        if self.device.has_streams:
            try:
                m = self.record()
                if m is not None:
                    wait_for_mark(m)
                    self.pass_mark(m)
                return 0
            except Exception:
                pass  # work that failed, or a lost device: then a wait must tell
        for _ in range(2):  # a failure may come before the end of the work behind it
            try:
                return self.finish(None)
            except Exception as error:  # whatever a driver raises for work that failed
                self.failure = self.failure or error
        self.pass_to(self.seq)
        return 0

    cdef int tell(self) except -1:
        """Raise a failure that was kept."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return 0

    cdef int wait_until(self, uint64_t seq) except -1:
        """Block the host until launch ``seq`` is complete; raises what failed."""
        cdef Mark m = self.marker
        if self.failure is not None:
            self.tell()
        if self.told >= seq or self.is_inline and self.done >= seq:
            return 0
        if self.done >= seq and m is not None and m.seq >= seq:
            self.wait_for(m, None)  # not for what came later
            self.told = max(self.told, m.seq)
            return 0
        if self.state == LOST and self.done < seq:
            raise errors.DeviceError(
                f"an array on {self.device} was still being computed by a stream when the process "
                "was forked, so the child does not have it", remedy="synchronize before the fork")
        return self.finish(None)

    cdef uint64_t poll(self) except? 0:
        """Return the number up to which all launches are known to be complete; does not block."""
        cdef Mark m = self.marker
        if self.state >= ENDED or not self.device.has_streams:
            return self.seq  # emulated streams share one queue, which is in order
        try:
            if m is not None and m.seq > self.done and m.query():
                self.pass_to(m.seq)
            if self.done < self.seq and not self.query():
                m = self.marker
                if m is None or m.seq <= self.done:
                    self.mark(self.seq)
        except Exception:
            pass  # work that failed: the next wait tells
        return self.done

    cdef bint query(self) except -1:
        """Ask the driver whether the queue is empty; does not block."""
        cdef uint64_t before = self.seq
        if self.state >= ENDED:
            return True
        self.users += 1
        try:
            delay()
            idle = self.device.calls().stream_query(self.handle)
            delay()
        finally:
            self.users -= 1
        if idle:
            self.pass_to(before)
        if self.users == 0 and self.state == CLOSING:
            if self.done >= self.seq:
                self.end()
            elif not self.is_dropped:  # a call that does not block leaves the end to others
                self.is_dropped = True
                self.device._dropped += 1
        return idle

    # The end

    cdef int close(self) except -1:
        """Finish the work and release the queue; when it raises LaunchError it is closed as well."""
        if self.state >= ENDED:
            return 0
        cdef uint64_t before = self.seq
        self.state = CLOSING
        self.users += 1
        try:
            self.wait_queue(None)
        except Exception:
            self.leave()
            raise
        except BaseException:
            self.users -= 1  # interrupted: closing again goes on
            raise
        self.pass_to(before)
        self.leave()
        return self.tell()

    cdef int end(self) except -1:
        """Take the queue away: nobody uses it, and nobody can begin."""
        cdef uint64_t before
        while self.done < self.seq:
            before = self.seq  # a launch that was under way when the timeline closed
            self.users += 1
            try:
                self.wait_queue(None)
            except Exception as error:
                self.failure = self.failure or error
            finally:
                self.users -= 1
            self.pass_to(before)
            if self.users:
                return 0  # he ends it
        if self.state == ENDED:
            return 0
        handle, self.handle = self.handle, None
        owner, self.owner = self.owner, None
        self.native = NULL
        self.marker = None
        self.state = ENDED
        self.done = self.seq
        self.device.forget_timeline(self)
        if self.device.has_streams and not self.is_borrowed:
            delay()
            self.device.calls().stream_destroy(handle)
        self.device.reap_parked()
        return 0


cdef int wait_sliced(object call, tuple args, object timeout) except -1:
    """Call a wait of a driver. In the main thread in slices, so that Ctrl-C is seen in between."""
    if not in_main_thread() or (timeout is not None and not timeout > WAIT_SLICE):
        call(*args, timeout)
        return 0
    from time import monotonic

    end = None if timeout is None else monotonic() + timeout
    while True:
        left = None if end is None else max(0.0, end - monotonic())
        last = left is not None and not left > WAIT_SLICE
        try:
            call(*args, left if last else WAIT_SLICE)
            return 0
        except TimeoutError:
            if last:
                raise
        PyErr_CheckSignals()


cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()

cdef unsigned long _main_thread = threading.main_thread().ident


cdef bint in_main_thread() noexcept:
    return PyThread_get_thread_ident() == _main_thread
