# Nested lists and tuples of Python numbers, read without a detour over another library.

cdef enum:
    SAW_BOOL = 1
    SAW_INT = 2
    SAW_FLOAT = 4
    SAW_COMPLEX = 8


cdef struct Nested:
    int ndim
    int64_t shape[MAX_NDIM]
    int seen  # the kinds of numbers
    char *next  # where the next element goes
    char *end


def nested_array(object data not None, object dtype, Device device not None):
    """An array of the numbers in nested lists and tuples.

    Without a ``dtype`` it is that of the numbers' latest kind. None for anything else: other types,
    ragged sequences, or numbers that the dtype does not hold as they are.
    """
    cdef Nested n
    cdef DType target
    cdef Array out
    cdef Stream s
    cdef bytearray elements
    n.ndim = n.seen = 0
    inner = data
    while type(inner) is list or type(inner) is tuple:
        if n.ndim == MAX_NDIM:
            return None
        n.shape[n.ndim] = len(inner)
        n.ndim += 1
        if not len(inner):
            break
        inner = inner[0]
    if not survey(&n, data, 0):
        return None
    target = number_kind(n.seen, device) if dtype is None else <DType?>dtype
    if not (n.seen == 0 or target.kind == "c" or (target.kind == "f" and n.seen < SAW_COMPLEX)
            or (target.kind in "iu" and n.seen < SAW_FLOAT) or n.seen == SAW_BOOL):
        return None
    if device.opened is None:
        device.ensure_open()
    s = current_stream_of(device)
    out = new_array(device, target, n.ndim, n.shape, s)
    if device.host_addressable and s.timeline.is_inline:  # nothing else can use the new memory
        n.next = <char *>out.t.data + out.t.byte_offset
        n.end = n.next + out.count * target.itemsize
        return out if write_nested(&n, data, 0, target) and n.next == n.end else None
    elements = bytearray(out.count * target.itemsize)
    n.next = elements
    n.end = n.next + len(elements)
    if not write_nested(&n, data, 0, target) or n.next != n.end:
        return None
    if elements:
        from .arrays import transfer

        transfer.copy_from_host(out, <uintptr_t><char *>elements, elements)
    return out


cdef DType number_kind(int seen, Device device):
    """The dtype of Python numbers of the kinds that were seen; of none, the default float."""
    if seen >= SAW_COMPLEX:
        return default_complex(device)
    if seen >= SAW_FLOAT or seen == 0:
        return default_float(device)
    return <DType>_dtypes[INT64 if seen >= SAW_INT else BOOL]


cdef bint survey(Nested *n, object node, int depth):
    """Whether a node has the shape that the first ones had; notes the kinds of its numbers."""
    cdef bint last = depth == n.ndim - 1
    if type(node) is list:
        if len(<list>node) != n.shape[depth]:
            return False
        for item in <list>node:
            if not (survey_number(n, item) if last else survey(n, item, depth + 1)):
                return False
        return True
    if type(node) is not tuple or len(<tuple>node) != n.shape[depth]:
        return False
    for item in <tuple>node:
        if not (survey_number(n, item) if last else survey(n, item, depth + 1)):
            return False
    return True


cdef inline bint survey_number(Nested *n, object item):
    kind = type(item)
    if kind is float:
        n.seen |= SAW_FLOAT
    elif kind is int:
        n.seen |= SAW_INT
    elif kind is bool:
        n.seen |= SAW_BOOL
    elif kind is complex:
        n.seen |= SAW_COMPLEX
    else:
        return False
    return True


cdef bint write_nested(Nested *n, object node, int depth, DType target) except -1:
    """Write a node's numbers; false if one is not held as it is."""
    if depth < n.ndim - 1:
        for item in node:
            if not write_nested(n, item, depth + 1, target):
                return False
        return True
    row = tuple(node)  # another thread may change the list, and may have since it was surveyed
    if len(row) != n.shape[depth] or n.end - n.next < <int64_t>len(row) * target.itemsize:
        return False
    for item in row:
        if not write_number(n.next, item, target):
            return False
        n.next += target.itemsize
    return True


cdef inline bint write_number(char *p, object item, DType target) except -1:
    cdef int overflow = 0
    cdef int64_t whole
    if type(item) is float and target.code == FLOAT64:
        (<double *>p)[0] = <double>item
        return True
    if type(item) is int:
        whole = PyLong_AsLongLongAndOverflow(item, &overflow)
        if overflow or (target.kind in "fc" and not -_EXACT <= whole <= _EXACT):
            return False  # explained, or rounded once, elsewhere
        if target.code == INT64:
            (<int64_t *>p)[0] = whole
            return True
    write_scalar(p, item, target)
    return True


cdef int64_t _EXACT = 1 << 53  # ints up to it are exact in float64
