# What touches the whole process: fork, exit, a build without the GIL, and types that nobody may make.

import atexit
import os
import sys
from weakref import WeakSet

_opened = WeakSet()  # devices in use


def _before_fork():
    """Let the work end whose memory the child will share: it has no threads that could do so."""
    for device in list(_opened):
        if device.host_addressable:
            finish_device(device)


def _after_fork_in_child():
    global _main_thread
    _main_thread = threading.main_thread().ident
    for device in list(_opened):
        lose_streams(device)


def _at_exit():
    """Let the work end before the memory goes that it uses."""
    for device in list(_opened):
        finish_device(device)


cdef int finish_device(Device device) except -1:
    cdef Timeline t
    for t in device.timelines():
        t.finish_quietly()
    return 0


cdef int lose_streams(Device device) except -1:
    """The queues of a device stayed in the parent; the default one goes on where it runs inline."""
    cdef Timeline t
    device._spare_events = ([], [])
    for t in device.timelines():
        t.users = t.launching = 0  # those of the parent's threads
        t.marker = None
        t.waited = {}
        if t is device._default_stream.timeline:
            continue
        t.state = LOST
        t.handle = None
        t.native = NULL
        device._timelines.remove(t)
        phx_pool_set_completed(device._pool.pool, t.id, t.seq)
        phx_pool_adopt_stream(device._pool.pool, t.id, device._default_stream.timeline.id, NULL)
    device._dropped = 0
    device._pool.getting = device._pool.giving = 0  # threads of the parent's
    return 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
atexit.register(_at_exit)


if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "phalanx needs the GIL: its streams and memory are ordered by it. Start Python without "
        "-X gil=0 and PYTHON_GIL=0 (a free-threaded build then turns the GIL on when it imports "
        "phalanx), or use the ordinary build")


# Types whose objects only this module makes: without a device or memory they would crash.

cdef extern from *:
    """
    static PyObject *phx_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
        (void)args, (void)kwargs;
        return PyErr_Format(PyExc_TypeError, "%s objects are not made this way: arrays come from "
                            "phalanx.asarray, zeros, ..., buffers from an allocator, dtypes are "
                            "phalanx.float32, ...", type->tp_name);
    }
    static void phx_refuse_new(PyObject *type) {
        ((PyTypeObject *)type)->tp_new = phx_no_new;
        ((PyTypeObject *)type)->tp_vectorcall = NULL; /* Cython's short way to tp_new */
        PyType_Modified((PyTypeObject *)type);
    }
    """
    void phx_refuse_new(object type)

for _type in (Array, Buffer, DType, Holding, Imported, KernelTable, Mark, Timeline):
    phx_refuse_new(_type)
