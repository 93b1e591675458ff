# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, c_api_binop_methods=False, embedsignature=True, binding=True
"""The compiled warm path: arrays, buffers, streams and the dispatch of elementwise ops.

Read it in this order: types (dtype, device, kernel), pool, memory (buffer), timeline (order, hazards,
progress), stream, array, dispatch (from a public function to the native call). Whatever is not on
the warm path is Python in the neighbouring modules.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport (int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                          uintptr_t)
from libc.string cimport memcmp, memcpy, memmove, memset

import sys
import threading
from contextvars import ContextVar

from . import errors
from .driver import Capability, Feature, Layout, OpenDevice, Place
from .runtime.locks import ForkSafeLock
from .runtime.waiting import Deadline, check_timeout
from .optable import DTYPES as SCALAR_TYPES
from .optable import OPS

include "abi.pxi"
include "types.pxi"
include "device.pxi"
include "pool.pxi"
include "memory.pxi"
include "borrowed.pxi"
include "doubts.pxi"
include "timeline.pxi"
include "uses.pxi"
include "places.pxi"
include "stream.pxi"
include "array.pxi"
include "views.pxi"
include "layout.pxi"
include "transaction.pxi"
include "prepared.pxi"
include "dispatch.pxi"
include "promotion.pxi"
include "functions.pxi"
include "named.pxi"
include "reduce.pxi"
include "index.pxi"
include "products.pxi"
include "few.pxi"
include "taking.pxi"
include "running.pxi"
include "samples.pxi"
include "making.pxi"
include "shapes.pxi"
include "factors.pxi"
include "numpy_arrays.pxi"
include "parsing.pxi"
include "dlpack.pxi"
include "log.pxi"
include "process.pxi"
