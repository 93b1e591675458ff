# The parts of phalanx.h and pool.h that the warm path touches.

cdef extern from "phalanx.h" nogil:
    ctypedef struct DLDevice:
        int32_t device_type
        int32_t device_id

    ctypedef struct DLDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes

    ctypedef struct DLTensor:
        void *data
        DLDevice device
        int32_t ndim
        DLDataType dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset

    ctypedef struct phx_error:
        int32_t code
    ctypedef struct phx_device:
        pass
    ctypedef struct phx_stream:
        pass
    ctypedef struct phx_kernel:
        pass
    ctypedef struct phx_call:
        uint64_t struct_size
        const DLTensor *const *tensors
        const int64_t *params
        uint32_t n_inputs
        uint32_t n_outputs
        uint32_t n_params
        uint32_t scalars
        phx_device *device
    ctypedef phx_error *(*phx_run_fn)(const phx_kernel *self, phx_stream *stream,
                                      const phx_call *call) noexcept nogil
