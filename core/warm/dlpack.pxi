# DLPack capsules, both forms: https://dmlc.github.io/dlpack/latest/python_spec.html

from cpython.complex cimport PyComplex_FromDoubles
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.pycapsule cimport (
    PyCapsule_GetContext, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetContext,
    PyCapsule_SetDestructor, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF
from libc.stdlib cimport free as c_free, malloc as c_malloc

cdef enum:
    DLPACK_READ_ONLY = 1
    DLPACK_IS_COPIED = 2
    DLPACK_CPU = 1

# Kinds of devices whose data is an address: CUDA, CUDA's host memory, ROCm, its host memory, CUDA managed,
# oneAPI.
_ADDRESSES = frozenset((2, 3, 10, 11, 13, 14))

cdef struct ManagedTensor:
    DLTensor dl
    void *context
    void (*deleter)(ManagedTensor *) noexcept

cdef struct ManagedTensorVersioned:
    uint32_t major
    uint32_t minor
    void *context
    void (*deleter)(ManagedTensorVersioned *) noexcept
    uint64_t flags
    DLTensor dl

# What an export allocates: the managed struct, its dims, and the array that owns the memory. It lives
# until the capsule is gone and the deleter was called: PyTorch calls the deleter of a capsule that it
# refuses and leaves the capsule as it was, so the capsule's end must see that it was called.
cdef struct Exported:
    ManagedTensorVersioned versioned
    ManagedTensor plain
    int64_t dims[2 * MAX_NDIM]
    PyObject *array
    bint has_capsule


cdef extern from "Python.h":
    int Py_IsInitialized() nogil


cdef void _drop_export(Exported *e) noexcept nogil:
    if not Py_IsInitialized():
        return  # the array went with the interpreter
    with gil:
        _drop_array(e)
        if not e.has_capsule:
            c_free(e)


cdef void _drop_array(Exported *e) noexcept:
    cdef PyObject *array = e.array
    e.array = NULL
    if array != NULL:
        Py_DECREF(<object>array)


cdef void _delete_plain(ManagedTensor *m) noexcept nogil:
    _drop_export(<Exported *>m.context)


cdef void _delete_versioned(ManagedTensorVersioned *m) noexcept nogil:
    _drop_export(<Exported *>m.context)


cdef void _destroy_capsule(object capsule) noexcept:
    """The capsule's end: nobody consumed it, or the deleter was called, or it is still to come."""
    cdef Exported *e = <Exported *>PyCapsule_GetContext(capsule)
    e.has_capsule = False
    if PyCapsule_IsValid(capsule, b"dltensor_versioned") or PyCapsule_IsValid(capsule, b"dltensor"):
        _drop_array(e)
    if e.array == NULL:
        c_free(e)


cdef object _capsule_of(Exported *e, void *managed, const char *name):
    capsule = PyCapsule_New(managed, name, NULL)
    PyCapsule_SetContext(capsule, e)
    PyCapsule_SetDestructor(capsule, _destroy_capsule)
    return capsule


cdef object export_dlpack(Array a, object stream, object max_version, object dl_device, object copy):
    from .arrays import interchange

    cdef bint copied
    a, copied = interchange.prepare_export(a, stream, dl_device, copy)
    versioned = max_version is not None and max_version[0] >= 1
    readonly = a.buffer.readonly or a.readonly
    if readonly and not versioned:
        raise BufferError("read-only memory can be exported only in a versioned DLPack capsule: "
                          "the consumer must ask for max_version >= (1, 0), or copy=True")
    note_reachable(a.buffer)
    cdef Exported *e = <Exported *>c_malloc(sizeof(Exported))
    if e == NULL:
        raise MemoryError()
    cdef DLTensor dl = a.t
    if a.device.host_addressable or dl.device.device_type in _ADDRESSES:
        dl.data = <char *>dl.data + dl.byte_offset  # some consumers pass over the offset
        dl.byte_offset = 0
    dl.shape = e.dims
    dl.strides = e.dims + dl.ndim
    memcpy(dl.shape, a.t.shape, dl.ndim * sizeof(int64_t))
    memcpy(dl.strides, a.t.strides, dl.ndim * sizeof(int64_t))
    e.array = <PyObject *>a
    e.has_capsule = True
    Py_INCREF(a)
    if versioned:
        e.versioned.major = 1
        e.versioned.minor = 1
        e.versioned.context = e
        e.versioned.deleter = _delete_versioned
        e.versioned.flags = (DLPACK_READ_ONLY if readonly else 0) | (
            DLPACK_IS_COPIED if copied else 0)
        e.versioned.dl = dl
        return _capsule_of(e, &e.versioned, b"dltensor_versioned")
    e.plain.dl = dl
    e.plain.context = e
    e.plain.deleter = _delete_plain
    return _capsule_of(e, &e.plain, b"dltensor")


@cython.final
cdef class Imported:
    """The owner of memory that came in a capsule; calls the producer's deleter when it dies."""

    cdef ManagedTensorVersioned *versioned
    cdef ManagedTensor *plain
    cdef readonly bint readonly
    cdef readonly bint copied

    cdef const DLTensor *tensor(self):
        return &self.versioned.dl if self.versioned != NULL else &self.plain.dl

    @property
    def device(self):
        """DLPack device (type, id)."""
        return (self.tensor().device.device_type, self.tensor().device.device_id)

    @property
    def aligned(self):
        """Whether the first element lies at a multiple of the item size; of a handle, as far as known."""
        cdef const DLTensor *t = self.tensor()
        base = <uintptr_t>t.data if t.device.device_type == DLPACK_CPU else 0
        return (base + t.byte_offset) % max(1, t.dtype.bits // 8) == 0

    def __dealloc__(self):
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)
        elif self.plain != NULL and self.plain.deleter != NULL:
            self.plain.deleter(self.plain)


def open_capsule(object capsule):
    """Take over a DLPack capsule; raises ``BufferError`` for one that was consumed or is too new."""
    cdef Imported found = Imported.__new__(Imported)
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        versioned = <ManagedTensorVersioned *>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        if versioned.major > 1:
            raise BufferError(f"the capsule is of DLPack {versioned.major}.{versioned.minor}; "
                              "this version reads 1.x")
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        found.versioned = versioned
        found.readonly = (versioned.flags & DLPACK_READ_ONLY) != 0
        found.copied = (versioned.flags & DLPACK_IS_COPIED) != 0
    elif PyCapsule_IsValid(capsule, b"dltensor"):
        found.plain = <ManagedTensor *>PyCapsule_GetPointer(capsule, b"dltensor")
        PyCapsule_SetName(capsule, b"used_dltensor")
    else:
        raise BufferError("__dlpack__ gave no unused DLPack capsule")
    return found


def wrap_imported(Imported found not None, Device device not None):
    """Return an array over imported memory, without a copy."""
    cdef const DLTensor *t = found.tensor()
    cdef DType dtype = _BY_DLPACK.get((t.dtype.code, t.dtype.bits, t.dtype.lanes))
    cdef Array a
    cdef int64_t step = 1
    cdef int i
    if dtype is None:
        raise BufferError(f"no dtype for DLPack code {t.dtype.code}, {t.dtype.bits} bits, "
                          f"{t.dtype.lanes} lanes")
    device.ensure_open()
    a = new_header(device, dtype, t.ndim)
    for i in range(t.ndim - 1, -1, -1):
        a.t.shape[i] = t.shape[i]
        a.t.strides[i] = step if t.strides == NULL else t.strides[i]
        step *= t.shape[i]
    return over_memory(a, <uintptr_t>t.data, t.byte_offset, found, found.readonly)


def wrap_host(object owner, uintptr_t address, DType dtype not None, tuple shape, tuple strides,
              Device device not None, bint readonly=False):
    """Return an array over host memory that ``owner`` keeps alive; ``strides`` in elements."""
    cdef Array a = new_header(device, dtype, len(shape))
    cdef int i
    for i in range(a.t.ndim):
        a.t.shape[i] = shape[i]
        a.t.strides[i] = strides[i]
    return over_memory(a, address, 0, owner, readonly)


cdef Array over_memory(Array a, uintptr_t handle, uint64_t offset, object owner, bint readonly):
    """Give an array, shape and strides set, the memory whose first element is ``offset`` bytes from
    a handle. The buffer spans all that the array touches: an address is moved to the lowest byte."""
    cdef int64_t low = 0
    cdef int64_t high = 0
    cdef int64_t reach
    cdef int i
    a.count = 1
    for i in range(a.t.ndim):
        a.count *= a.t.shape[i]
        reach = (a.t.shape[i] - 1) * a.t.strides[i] * a.dtype.itemsize
        low += min(0, reach)
        high += max(0, reach)
    a.contiguous = is_c_contiguous(a.t.ndim, a.t.shape, a.t.strides)
    if a.count == 0:
        low = 0
        high = -a.dtype.itemsize
    if a.device.host_addressable:
        handle += offset + low
        offset = -low
    attach(a, Buffer.from_handle(a.device, handle, offset + high + a.dtype.itemsize, owner=owner,
                                 readonly=readonly))
    a.t.byte_offset = offset
    note_reachable(a.buffer)
    return a


# Scalars

cdef int encode_scalar(Launch *launch, int place, object value, DType dtype) except -1:
    """Write a Python number as one element of a dtype into the launch's host memory."""
    cdef DLTensor *t = &launch.scalar_tensors[place]
    cdef void *p = &launch.scalar_values[place]
    memset(t, 0, sizeof(DLTensor))
    t.data = p
    t.device.device_type = DLPACK_CPU
    t.dtype = dtype.dl
    return write_scalar(p, value, dtype)


cdef int write_scalar(void *p, object value, DType dtype) except -1:
    cdef int code = dtype.code
    if code == FLOAT64:
        (<double *>p)[0] = value
    elif code == FLOAT32:
        (<float *>p)[0] = <float><double>value
    elif code == INT64:
        write_int64(<int64_t *>p, value, dtype)
    elif code == BOOL:
        (<uint8_t *>p)[0] = 1 if value else 0
    elif code == COMPLEX128:
        (<double *>p)[0] = value.real
        (<double *>p)[1] = value.imag
    elif code == COMPLEX64:
        (<float *>p)[0] = <float><double>value.real
        (<float *>p)[1] = <float><double>value.imag
    elif code == FLOAT16 or code == BFLOAT16:
        (<uint16_t *>p)[0] = half_bits(value, code == BFLOAT16)
    else:
        write_integer(p, value, dtype)
    return 0


cdef dict _INTEGER_RANGES = {
    f"{sign}int{bits}": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "u") for bits in (8, 16, 32, 64)
}


cdef int write_int64(int64_t *p, object value, DType dtype) except -1:
    cdef int overflow = 0
    if type(value) is not int:
        return write_integer(p, value, dtype)
    p[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    return write_integer(p, value, dtype) if overflow else 0


cdef int write_integer(void *p, object value, DType dtype) except -1:
    cdef uint64_t number
    value = int(value)
    least, most = _INTEGER_RANGES[dtype.name]
    if not least <= value <= most:
        raise OverflowError(f"Python integer {value} is out of bounds for {dtype.name} "
                            f"({least} to {most})")
    number = value & 0xFFFFFFFFFFFFFFFF
    memcpy(p, &number, dtype.itemsize)  # little endian
    return 0


cdef object half_bits(object value, bint brain):
    """The 16 bits of a Python number as float16 or bfloat16, rounded once, to nearest even."""
    from .arrays.scalars import to_half_bits

    return to_half_bits(float(value), brain)


cdef object scalar_value(const DLTensor *t):
    """The Python number of a host scalar."""
    cdef DType dtype = _BY_DLPACK[t.dtype.code, t.dtype.bits, t.dtype.lanes]
    from .arrays.scalars import from_bytes

    return from_bytes((<char *>t.data)[:dtype.itemsize], dtype.name)


def read_in_place(Array x not None):
    """Return the only element of an array that the host can address; waits for its last write."""
    return only_element(x)


cdef object only_element(Array x):
    wait_on_host(x.buffer, False)
    return element_at(<char *>x.t.data + x.t.byte_offset, x.dtype)


cdef object element_at(const char *place, DType dtype):
    """The Python number of an element."""
    cdef int code = dtype.code
    if code == FLOAT32:
        return <double>(<const float *>place)[0]
    if code == FLOAT64:
        return (<const double *>place)[0]
    if code == INT64:
        return (<const int64_t *>place)[0]
    if code == BOOL:
        return (<const uint8_t *>place)[0] != 0
    if code == INT32:
        return (<const int32_t *>place)[0]
    if code == INT16:
        return (<const int16_t *>place)[0]
    if code == INT8:
        return (<const int8_t *>place)[0]
    if code == UINT8:
        return (<const uint8_t *>place)[0]
    if code == UINT16:
        return (<const uint16_t *>place)[0]
    if code == UINT32:
        return (<const uint32_t *>place)[0]
    if code == UINT64:
        return (<const uint64_t *>place)[0]
    if code == COMPLEX64:
        return PyComplex_FromDoubles((<const float *>place)[0], (<const float *>place)[1])
    if code == COMPLEX128:
        return PyComplex_FromDoubles((<const double *>place)[0], (<const double *>place)[1])
    from .arrays.scalars import from_bytes

    return from_bytes(place[:dtype.itemsize], dtype.name)


cdef inline bint is_listed(Array x) noexcept:
    """Whether `listed` serves an array with axes; NumPy has halves sooner."""
    return x.device.host_addressable and x.dtype.code != FLOAT16 and x.dtype.code != BFLOAT16


cdef list listed(Array x):
    """The elements as nested lists; waits for the last write."""
    wait_on_host(x.buffer, False)
    return listed_axis(x, 0, <char *>x.t.data + x.t.byte_offset)


cdef list listed_axis(Array x, int axis, const char *place):
    cdef int64_t step = x.t.strides[axis] * x.dtype.itemsize
    cdef int64_t i, n = x.t.shape[axis]
    cdef int code = x.dtype.code
    cdef list made = PyList_New(n)
    for i in range(n):
        if axis + 1 < x.t.ndim:
            item = listed_axis(x, axis + 1, place)
        elif code == FLOAT64:
            item = PyFloat_FromDouble((<const double *>place)[0])
        else:
            item = element_at(place, x.dtype)
        Py_INCREF(item)
        PyList_SET_ITEM(made, i, item)
        place += step
    return made


def scalar_bytes(value, DType dtype not None):
    """Return the bytes of a Python number as one element of a dtype."""
    cdef uint8_t room[16]
    write_scalar(room, value, dtype)
    return (<char *>room)[:dtype.itemsize]
