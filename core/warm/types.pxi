# Dtypes, kernels and the per-device table of resolved elementwise kernels.

cdef enum:
    N_DTYPES = 15
    MAX_NDIM = 64
    INLINE_NDIM = 6

# Those of the table's codes that the warm path names.
cdef extern from "phalanx.h" nogil:
    enum:
        BOOL "PHX_BOOL"
        INT8 "PHX_INT8"
        INT16 "PHX_INT16"
        INT32 "PHX_INT32"
        INT64 "PHX_INT64"
        UINT8 "PHX_UINT8"
        UINT16 "PHX_UINT16"
        UINT32 "PHX_UINT32"
        UINT64 "PHX_UINT64"
        FLOAT16 "PHX_FLOAT16"
        BFLOAT16 "PHX_BFLOAT16"
        FLOAT32 "PHX_FLOAT32"
        FLOAT64 "PHX_FLOAT64"
        COMPLEX64 "PHX_COMPLEX64"
        COMPLEX128 "PHX_COMPLEX128"


@cython.final
cdef class DType:
    """A data type: ``name``, ``kind`` (one of ``b i u f c``), ``itemsize`` in bytes, ABI ``code``.

    Examples:
        >>> px.float32.kind, px.float32.itemsize, px.float32 == "float32"
        ('f', 4, True)
    """

    cdef readonly str name
    cdef readonly str kind
    cdef readonly int itemsize
    cdef readonly int code
    cdef DLDataType dl

    def __repr__(self):
        return f"phalanx.{self.name}"

    def __str__(self):
        return self.name

    def __eq__(self, other):
        """Whether this is the same dtype, or its name."""
        if type(other) is str:
            return self.name == other
        return self is other if type(other) is DType else NotImplemented

    def __hash__(self):
        return hash(self.name)

    def __reduce__(self):
        return dtype_from_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @property
    def dlpack(self):
        """The DLPack type (code, bits, lanes)."""
        return (self.dl.code, self.dl.bits, self.dl.lanes)

    @property
    def dtype(self):
        """NumPy's dtype, which ``numpy.dtype(x.dtype)`` finds here; bfloat16 needs ml_dtypes."""
        from .arrays import transfer

        return transfer.numpy_dtype(self.name)


cdef DType _make_dtype(facts):
    cdef DType d = DType.__new__(DType)
    d.name = facts.name
    d.kind = facts.kind
    d.itemsize = facts.size
    d.code = facts.code
    d.dl.code = facts.dlpack
    d.dl.bits = 8 * facts.size
    d.dl.lanes = 1
    return d


DTYPES = tuple([_make_dtype(facts) for facts in SCALAR_TYPES.values()])
cdef PyObject *_dtypes[N_DTYPES]
for _i in range(N_DTYPES):
    _dtypes[_i] = <PyObject *>DTYPES[_i]
_BY_NAME = {d.name: d for d in DTYPES}
_BY_DLPACK = {d.dlpack: d for d in DTYPES}


cdef inline bint is_complex(DType d) noexcept:
    return d.code == COMPLEX64 or d.code == COMPLEX128


def dtype_from_name(name):
    """Return the dtype of a name; raises ``TypeError`` that lists the names."""
    found = _BY_NAME.get(name)
    if found is None:
        raise TypeError(f"unknown dtype {name!r}; the dtypes are {', '.join(_BY_NAME)}")
    return found


@cython.final
cdef class Kernel:
    """Compiled code for one op, its dtypes and a layout.

    ``determinism`` is ``"bitwise"``, ``"reproducible"`` or ``"none"``; ``error_bound`` is in ulp of
    the result, negative if not stated; ``provider`` is the distribution it comes from. ``handle``
    belongs to the driver; ``run`` and ``native`` are the addresses of a ``phx_run_fn`` and of its
    ``phx_kernel``, 0 for kernels that ``OpenDevice.launch`` runs.

    Examples:
        >>> kernel = px.kernels("exp", "cpu:0")[0]
        >>> kernel.dtypes, kernel.determinism, kernel.error_bound
        (('float16', 'float16'), 'bitwise', 0.5)
    """

    cdef readonly str op
    cdef readonly tuple dtypes
    cdef readonly object layout
    cdef readonly str name
    cdef readonly str determinism
    cdef readonly double error_bound
    cdef readonly str provider
    cdef readonly object handle
    cdef phx_run_fn run_fn
    cdef const phx_kernel *native_row
    cdef PreparedLaunches prepared

    def __cinit__(self, str op, tuple dtypes, layout, *, str name="", str determinism="none",
                  double error_bound=-1.0, str provider="", handle=None, run=0, native=0):
        self.op = op
        self.dtypes = dtypes
        self.layout = Layout(layout)
        self.name = name or op
        self.determinism = determinism
        self.error_bound = error_bound
        self.provider = provider
        self.handle = handle
        self.run_fn = <phx_run_fn><uintptr_t>run
        self.native_row = <const phx_kernel *><uintptr_t>native

    @property
    def is_native(self):
        """Whether the dispatch path calls a C function without entering Python."""
        return self.run_fn != NULL

    def __repr__(self):
        return (f"<Kernel {self.op}({', '.join(self.dtypes)}) {self.layout.name.lower()}"
                f" {self.determinism} from {self.provider or 'unknown'}>")


cdef enum:
    ENTRY_EMPTY = 0
    ENTRY_NATIVE = 1
    ENTRY_DRIVER = 2
    ENTRY_OTHER = 3  # decomposition or fallback, decided anew at each call

cdef enum:
    BOTH_LAYOUTS = 0
    ONLY_CONTIGUOUS = 1
    ONLY_STRIDED = 2

cdef struct Entry:
    int state
    int out
    int only  # which layouts the device has a kernel for
    phx_run_fn contiguous_run
    phx_run_fn strided_run
    const phx_kernel *contiguous_row
    const phx_kernel *strided_row
    PyObject *contiguous
    PyObject *strided


@cython.final
cdef class KernelTable:
    """The kernels that a device has chosen so far.

    A new choice makes a new table. Whoever launches holds a reference to the one that he looked
    into, and the table holds every kernel that its entries point to.
    """

    cdef Entry *entries
    cdef dict kernels
    cdef list kept

    def __cinit__(self):
        self.entries = <Entry *>PyMem_Calloc(_N_ENTRIES, sizeof(Entry))
        if self.entries == NULL:
            raise MemoryError()
        self.kernels = {}
        self.kept = []

    def __dealloc__(self):
        PyMem_Free(self.entries)
