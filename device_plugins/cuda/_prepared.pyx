"""A launch that comes again: parameters that are packed once but for the operands' places.

The functions of the driver are called straight: of the launches of a program most are of this kind.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

cimport cython

from phalanx.device_code.recording import First, Memory
from phalanx.vendor import dtype_from_name, empty

from .launch import packing_of, refused, spread

ctypedef void *handle

# CUDA Driver API reference, 12.9.
ctypedef int (*launch_fn)(handle function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                          uint32_t bz, uint32_t shared, handle stream, handle *parameters,
                          handle *extra) noexcept nogil
ctypedef int (*current_fn)(handle *context) noexcept nogil
ctypedef int (*push_fn)(handle context) noexcept nogil

#: Whose addresses a `Runtime` takes, in this order.
CALLS = ("cuLaunchKernel", "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")

cdef enum:
    LAUNCH = 0             # numbers in CALLS
    PUSH = 2
    POP = 3
    BUFFER_POINTER = 1     # CU_LAUNCH_PARAM_BUFFER_POINTER
    BUFFER_SIZE = 2        # CU_LAUNCH_PARAM_BUFFER_SIZE
    # Bytes of a kernel's parameters, which are 4096 at most where they are packed: CUDA C++ Programming
    # Guide, 12.9, "__global__ Function Parameters".
    MOST_ROOM = 8192
    ROOM_WORDS = 1024      # the same in words
    MOST_ARGS = 64         # parameters of a kernel
    MOST_WORDS = 2 * 24    # as recordings have operands


@cython.final
cdef class Runtime:
    """The functions that launches need, by their addresses, and the context that they work in."""

    cdef launch_fn launch
    cdef current_fn current
    cdef push_fn push
    cdef current_fn pop
    cdef handle context

    def __cinit__(self, uintptr_t launch, uintptr_t current, uintptr_t push, uintptr_t pop,
                  uintptr_t context):
        self.launch = <launch_fn>launch
        self.current = <current_fn>current
        self.push = <push_fn>push
        self.pop = <current_fn>pop
        self.context = <handle>context


cdef struct Command:
    handle function
    uint32_t grid[3]
    uint32_t block[3]
    size_t at           # of its parameters among those of all commands
    size_t size
    int end             # of its settings
    int first, n_args   # its parameters among the offsets of all commands

cdef struct Setting:
    uint32_t word       # of the places, the one that it is made of
    size_t at           # in the command's parameters
    int64_t shift       # of an offset in bytes, before it is divided
    int64_t itemsize    # 0: memory


@cython.final
cdef class PreparedLaunch:
    """What a `Recording` says, on any memory. Safe from any thread.

    The GIL is let go for the driver, which waits where its queue is full: perhaps for a function of
    somebody else's that wants the GIL.
    """

    cdef Runtime runtime
    cdef object device
    cdef object label
    cdef list kept           # kernel and sizes of each command, for messages
    cdef list temporary      # shape and dtype of each
    cdef tuple checks
    cdef Command *commands
    cdef Setting *settings
    cdef unsigned char *packed
    cdef size_t *offsets     # of each parameter, where the driver takes no buffer; else NULL
    cdef int n_commands, n_given

    def __cinit__(self, device, label, recording):
        cdef int i = 0, k = 0, n = 0
        cdef size_t at = 0
        cdef Command *c
        self.device = device
        self.label = label
        self.runtime = device.runtime
        self.temporary = [((n,), dtype_from_name(dtype)) for n, dtype in recording.scratch]
        self.checks = recording.checks
        self.kept = []
        self.n_given = 2 * recording.arrays
        self.n_commands = len(recording.commands)
        if self.n_given + 2 * len(self.temporary) > MOST_WORDS:
            raise ValueError(f"{label}: more operands than a recording has")
        packings = [packing_of(device, command.kernel, command.args) or spread(command.args)
                    for command in recording.commands]
        sizes = [packing.size for packing in packings]
        counts = [len(packing.offsets) for packing in packings]
        if max(sizes, default=0) > MOST_ROOM or max(counts, default=0) > MOST_ARGS:
            raise ValueError(f"{label}: a kernel has more than {MOST_ROOM} bytes, or {MOST_ARGS}, parameters")
        n_settings = sum(type(arg) is not bytes for command in recording.commands for arg in command.args)
        self.commands = <Command *>PyMem_Calloc(self.n_commands + 1, sizeof(Command))
        self.settings = <Setting *>PyMem_Calloc(n_settings + 1, sizeof(Setting))
        self.packed = <unsigned char *>PyMem_Calloc(sum(sizes) + 1, 1)
        if self.commands == NULL or self.settings == NULL or self.packed == NULL:
            raise MemoryError()
        if device.layout_function is None:
            self.offsets = <size_t *>PyMem_Calloc(sum(counts) + 1, sizeof(size_t))
            if self.offsets == NULL:
                raise MemoryError()
        for command, packing in zip(recording.commands, packings):
            c = &self.commands[i]
            c.at = at
            c.size = packing.size
            c.first = n
            c.n_args = len(packing.offsets)
            self.note_sizes(c, command)
            for arg, offset in zip(command.args, packing.offsets):
                if self.offsets != NULL:
                    self.offsets[n] = offset
                n += 1
                if type(arg) is bytes:
                    memcpy(self.packed + at + <size_t>offset, <char *>arg, len(arg))
                else:
                    self.note_setting(&self.settings[k], offset, arg)
                    k += 1
            c.end = k
            at += c.size
            i += 1

    def __dealloc__(self):
        PyMem_Free(self.commands)
        PyMem_Free(self.settings)
        PyMem_Free(self.packed)
        PyMem_Free(self.offsets)

    cdef int note_sizes(self, Command *c, command) except -1:
        kernel = command.kernel
        grid, block = kernel.geometry(command.global_size, command.local_size)
        c.function = <handle><uintptr_t>self.device.api.number(kernel.raw)
        for axis in range(3):
            c.grid[axis] = grid[axis]
            c.block[axis] = block[axis]
        self.kept.append((kernel, grid, block))
        return 0

    cdef int note_setting(self, Setting *setting, size_t at, arg) except -1:
        setting.at = at
        setting.word = 2 * arg.place
        if isinstance(arg, First):
            setting.word += 1
            setting.shift = arg.shift
            setting.itemsize = arg.itemsize
        elif not isinstance(arg, Memory):
            raise TypeError(f"{self.label}: {arg!r} is no argument")
        return 0

    def __call__(self, bytes places not None, stream not None):
        """Enqueue the launch on a stream; see `OpenDevice.prepare`."""
        cdef uint64_t words[MOST_WORDS]
        cdef int code, at = self.n_given, failed = LAUNCH, done = 0
        cdef handle raw
        device = self.device
        if not device.is_usable:
            device.check()
        memcpy(words, <char *>places, self.n_given * sizeof(uint64_t))
        if self.temporary:
            kept = [empty(shape, dtype, stream.device, stream) for shape, dtype in self.temporary]
            for array in kept:
                words[at] = array.buffer.handle
                words[at + 1] = array.offset
                at += 2
        place = stream.handle
        queue = device.default if place is None else device.queue(place)
        queue.labels.append(self.label)
        raw = <handle><uintptr_t>queue.number
        with nogil:
            code = self.enqueue(raw, words, &failed, &done)
        if code:
            raise self.failure(queue, code, failed, done)
        for check in self.checks:
            source = words[2 * check.place] + words[2 * check.place + 1] + check.shift
            device.check_later(queue, source, check.size, check.explain)

    cdef object failure(self, queue, int code, int failed, int done):
        what = f"{self.label.op}({', '.join(self.label.dtypes)})"
        if failed == LAUNCH:
            kernel, grid, block = self.kept[done]
            return refused(self.device, queue, code, kernel.name, what, grid, block)
        error = self.device.api.error(code, CALLS[failed])
        return self.device.told(error, f"launch of {what}", queue)

    cdef int enqueue(self, handle raw, const uint64_t *words, int *failed, int *done) noexcept nogil:
        """Enqueue all commands in the device's context; the number in CALLS of what failed."""
        cdef handle now = NULL
        cdef int code, popped = 0
        cdef bint is_other
        self.runtime.current(&now)
        is_other = now != self.runtime.context
        if is_other:
            failed[0] = PUSH
            code = self.runtime.push(self.runtime.context)
            if code:
                return code
            failed[0] = LAUNCH
        code = self.enqueue_here(raw, words, done)
        if is_other:
            popped = self.runtime.pop(&now)
            if popped and not code:
                failed[0] = POP
        return code or popped

    cdef int enqueue_here(self, handle raw, const uint64_t *words, int *done) noexcept nogil:
        cdef uint64_t room[ROOM_WORDS]
        cdef handle pointers[MOST_ARGS]
        cdef handle extra[5]
        cdef Setting *s
        cdef Command *c
        cdef uint64_t value
        cdef int code, i, j, k = 0
        extra[0] = <handle>BUFFER_POINTER
        extra[1] = room
        extra[2] = <handle>BUFFER_SIZE
        extra[4] = NULL  # CU_LAUNCH_PARAM_END
        for i in range(self.n_commands):
            c = &self.commands[i]
            memcpy(room, self.packed + c.at, c.size)
            while k < c.end:
                s = &self.settings[k]
                value = words[s.word]
                if s.itemsize:
                    value = (value + s.shift) // s.itemsize
                memcpy(<char *>room + s.at, &value, sizeof(value))
                k += 1
            extra[3] = &c.size
            if self.offsets != NULL:
                for j in range(c.n_args):
                    pointers[j] = <char *>room + self.offsets[c.first + j]
            code = self.runtime.launch(c.function, c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1],
                                       c.block[2], 0, raw, pointers if self.offsets != NULL else NULL,
                                       NULL if self.offsets != NULL else extra)
            if code:
                done[0] = i
                return code
        return 0
