"""A launch that comes again: kernels whose arguments stay set but for the operands' places.

The functions of the runtime are called straight, through the loader that pyopencl uses: of the
launches of a program most are of this kind.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

cimport cython

import ctypes

from phalanx.device_code.recording import First, Memory
from phalanx.vendor import Place, dtype_from_name, empty

ctypedef void *handle

# Of the OpenCL 3.0 API specification, sections 5.9 to 5.15.
ctypedef int32_t (*set_arg_fn)(handle kernel, uint32_t at, size_t size, const void *value) noexcept nogil
ctypedef int32_t (*enqueue_fn)(handle queue, handle kernel, uint32_t axes, const size_t *offset,
                               const size_t *size, const size_t *group, uint32_t n_waits,
                               const handle *waits, handle *event) noexcept nogil
ctypedef int32_t (*queue_fn)(handle queue) noexcept nogil
ctypedef int32_t (*event_fn)(handle event) noexcept nogil
ctypedef int32_t (*wait_fn)(uint32_t count, const handle *events) noexcept nogil
ctypedef int32_t (*event_info_fn)(handle event, uint32_t what, size_t size, void *value,
                                  size_t *needed) noexcept nogil

cdef enum:
    EVENT_STATUS = 0x11D3  # CL_EVENT_COMMAND_EXECUTION_STATUS
    MOST_AXES = 3
    MOST_COMMANDS = 32     # as recordings have
    MOST_WORDS = 2 * 24


@cython.final
cdef class Runtime:
    """The functions that launches need, of the library behind an extension module of pyopencl.

    Raises:
        AttributeError, OSError: they cannot be found through it.
    """

    cdef set_arg_fn set_arg
    cdef enqueue_fn enqueue
    cdef queue_fn flush
    cdef event_fn release
    cdef wait_fn wait
    cdef event_info_fn info

    def __cinit__(self, str path not None):
        library = ctypes.CDLL(path)

        def find(name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value

        self.set_arg = <set_arg_fn><uintptr_t>find("clSetKernelArg")
        self.enqueue = <enqueue_fn><uintptr_t>find("clEnqueueNDRangeKernel")
        self.flush = <queue_fn><uintptr_t>find("clFlush")
        self.release = <event_fn><uintptr_t>find("clReleaseEvent")
        self.wait = <wait_fn><uintptr_t>find("clWaitForEvents")
        self.info = <event_info_fn><uintptr_t>find("clGetEventInfo")


@cython.final
@cython.freelist(256)
cdef class Event:
    """The end of a kernel: what a queue asks of an event of pyopencl."""

    cdef Runtime runtime
    cdef handle event

    def __dealloc__(self):
        if self.event != NULL:
            self.runtime.release(self.event)

    @property
    def command_execution_status(self):
        """Above 0: it is not done; below: the code of its failure."""
        cdef int32_t status = 0
        cdef int32_t code = self.runtime.info(self.event, EVENT_STATUS, sizeof(status), &status, NULL)
        return code if code < 0 else status

    def wait(self):
        """Wait until it is done; the status tells of a failure."""
        with nogil:
            self.runtime.wait(1, &self.event)


cdef struct Command:
    handle kernel
    uint32_t axes
    size_t size[MOST_AXES]
    size_t group[MOST_AXES]
    bint has_group

cdef struct Setting:
    handle kernel
    uint32_t word       # of the places, the one that it is made of
    uint32_t at         # which argument
    int64_t shift       # of an offset in bytes, before it is divided
    int64_t itemsize    # 0: memory


@cython.final
cdef class PreparedLaunch:
    """What a `Recording` says, on any memory. Safe from any thread.

    It has kernel objects of its own, so that numbers and sizes are set once, and an offset only where
    it is another one than in the launch before. Memory is set each time: its handle may stand for
    another buffer by now. The GIL is held from the first argument to the last kernel.
    """

    cdef Runtime runtime
    cdef object device
    cdef object label
    cdef tuple kept          # the kernel objects
    cdef list temporary      # shape and dtype of each
    cdef tuple checks
    cdef Command *commands
    cdef Setting *settings
    cdef uint64_t words[MOST_WORDS]  # handle and offset of each operand in the launch before
    cdef int n_commands, n_settings, n_given, n_words
    cdef bint is_set         # whether the offsets of `words` are

    def __cinit__(self, device, label, recording, Runtime runtime not None):
        cdef int i = 0, k = 0
        self.device = device
        self.label = label
        self.runtime = runtime
        self.temporary = [((n,), dtype_from_name(dtype)) for n, dtype in recording.scratch]
        self.checks = recording.checks
        self.n_given = 2 * recording.arrays
        self.n_words = self.n_given + 2 * len(self.temporary)
        self.n_commands = len(recording.commands)
        self.n_settings = sum(isinstance(arg, (Memory, First)) for command in recording.commands
                              for arg in command.args)
        self.commands = <Command *>PyMem_Calloc(self.n_commands + 1, sizeof(Command))
        self.settings = <Setting *>PyMem_Calloc(self.n_settings + 1, sizeof(Setting))
        if self.commands == NULL or self.settings == NULL:
            raise MemoryError()
        if self.n_commands > MOST_COMMANDS or self.n_words > MOST_WORDS:
            raise ValueError(f"{label}: more kernels or operands than a recording has")
        kept = []
        for command in recording.commands:
            bound = device.own_kernel(command.kernel)
            kept.append(bound)
            self.note_command(&self.commands[i], bound.raw.int_ptr, command)
            for at, arg in enumerate(command.args):
                if isinstance(arg, (Memory, First)):
                    self.note_setting(&self.settings[k], self.commands[i].kernel, at, arg)
                    k += 1
                else:
                    bound.set_bytes(at, arg)
            i += 1
        self.kept = tuple(kept)

    def __dealloc__(self):
        PyMem_Free(self.commands)
        PyMem_Free(self.settings)

    cdef int note_command(self, Command *c, uintptr_t kernel, command) except -1:
        c.kernel = <handle>kernel
        c.axes = len(command.global_size)
        c.has_group = command.local_size is not None
        for axis in range(c.axes):
            c.size[axis] = command.global_size[axis]
            c.group[axis] = command.local_size[axis] if c.has_group else 0
        return 0

    cdef int note_setting(self, Setting *setting, handle kernel, uint32_t at, arg) except -1:
        setting.kernel = kernel
        setting.at = at
        setting.word = 2 * arg.place
        if isinstance(arg, First):
            setting.word += 1
            setting.shift = arg.shift
            setting.itemsize = arg.itemsize
        return 0

    def __call__(self, bytes places not None, stream not None):
        """Enqueue the launch on a stream; see `OpenDevice.prepare`."""
        cdef uint64_t words[MOST_WORDS]
        cdef handle events[MOST_COMMANDS]
        cdef int32_t code = 0
        cdef int done, at = self.n_given
        cdef handle raw
        device = self.device
        if not device.is_usable:
            device.check()
        memcpy(words, <char *>places, self.n_given * sizeof(uint64_t))
        kept = ()
        if self.temporary:
            kept = [empty(shape, dtype, stream.device, stream) for shape, dtype in self.temporary]
            for array in kept:
                words[at] = array.buffer.handle
                words[at + 1] = array.offset
                at += 2
        queue = stream.handle or device.queue
        order = queue.order
        order.acquire()
        try:
            raw = <handle><uintptr_t>queue.raw.int_ptr
            done = self.enqueue(raw, words, events, &code)
            queue.count += done
            recent = queue.recent
            for i in range(done):
                recent.append((event_of(self.runtime, events[i]), self.label))
        finally:
            order.release()
        if code:
            what = f"launch of {self.label.op}({', '.join(self.label.dtypes)})"
            raise device.failure(Failed(code, "clEnqueueNDRangeKernel"), what)
        for check in self.checks:
            src = Place(device, words[2 * check.place], words[2 * check.place + 1] + check.shift)
            device.check_later(queue, src, check.size, check.explain, kept)
        if len(recent) >= queue.look_at:
            queue.forget_finished()

    cdef int enqueue(self, handle raw, const uint64_t *words, handle *events,
                     int32_t *code) noexcept nogil:
        """Set the places, and enqueue; return how many kernels were.

        No Python object is touched, so no other thread comes in between.
        """
        cdef bint was_set = self.is_set
        cdef Setting *s
        cdef Command *c
        cdef uint64_t value
        self.is_set = False
        for i in range(self.n_settings):
            s = &self.settings[i]
            value = words[s.word]
            if s.itemsize:
                if was_set and value == self.words[s.word]:
                    continue
                value = (value + s.shift) // s.itemsize
            code[0] = self.runtime.set_arg(s.kernel, s.at, sizeof(value), &value)
            if code[0]:
                return 0
        memcpy(self.words, words, self.n_words * sizeof(uint64_t))
        self.is_set = True
        for i in range(self.n_commands):
            c = &self.commands[i]
            code[0] = self.runtime.enqueue(raw, c.kernel, c.axes, NULL, c.size,
                                           c.group if c.has_group else NULL, 0, NULL, &events[i])
            if code[0]:
                return i
        code[0] = self.runtime.flush(raw)
        return self.n_commands


cdef Event event_of(Runtime runtime, handle event):
    cdef Event made = Event.__new__(Event)
    made.runtime = runtime
    made.event = event
    return made


class Failed(Exception):
    """What a call of the runtime returned, in the form of pyopencl's errors."""

    def __init__(self, code, routine):
        super().__init__(f"{routine} failed with {code}")
        self.code = code
        self.routine = routine
