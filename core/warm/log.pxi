# The log of plugins: messages wait in _host.c until Python code fetches them here.

cdef extern from "warm/host.h" nogil:
    ctypedef struct phx_str:
        pass
    ctypedef struct phx_log_entry:
        void *context
        int32_t level
        uint32_t size
        char *text
    void phx_host_log(void *context, int32_t level, phx_str message)
    uint64_t phx_host_now_ns(void *context)
    void phx_log_close()
    bint phx_log_begin(uint64_t *count)
    phx_log_entry *phx_log_next()
    uint64_t phx_log_lost()
    void phx_log_end()
    bint phx_log_waits()

cdef extern from "warm/host.h":
    void phx_log_open(int (*fetch)(void *) noexcept)

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    void PyErr_WriteUnraisable(object where)
    void PyErr_SetInterrupt()

cdef extern from "stdlib.h" nogil:
    void free(void *memory)

cdef object _receive = None


def open_log(receive not None):
    """Let plugins log: each message goes to ``receive(context, level, text)``, in order.

    It is called soon, on some thread that runs Python code; ``context`` is the plugin's, an
    address, and 0 for a message of this module. Returns the addresses of the functions ``log``
    and ``now_ns`` of ``phx_host``.
    """
    global _receive
    _receive = receive
    phx_log_open(_fetch)
    return <uintptr_t>phx_host_log, <uintptr_t>phx_host_now_ns


def close_log():
    """Deliver what waits; from now on only ``deliver_log`` does, so that the process can end."""
    deliver_log()
    phx_log_close()


cdef int _fetch(void *unused) noexcept:
    try:
        deliver_log()
    except KeyboardInterrupt:
        PyErr_SetInterrupt()
    return 0


def deliver_log():
    """Deliver the messages that wait; costs next to nothing where none does."""
    cdef phx_log_entry *entry
    cdef uint64_t count, lost
    if not phx_log_waits() or _receive is None or not phx_log_begin(&count):
        return
    try:
        while count > 0:
            count -= 1
            entry = phx_log_next()
            if entry == NULL:
                break
            try:
                context, level = <uintptr_t>entry.context, entry.level
                text = PyUnicode_DecodeUTF8(entry.text, entry.size, b"replace")
            finally:
                free(entry)
            receive_one(context, level, text)
        lost = phx_log_lost()
        if lost:
            receive_one(0, 30, f"{lost} messages of plugins were lost: too many waited at once")
    finally:
        phx_log_end()


cdef int receive_one(context, level, text) except -1:
    try:
        _receive(context, level, text)
    except Exception:  # of the program's own handlers: no business of the call that comes by here
        PyErr_WriteUnraisable(_receive)
    return 0
