/* Phalanx plugin ABI, version 1.0.
 *
 * A plugin is a shared library that exports one symbol, phalanx_plugin_get_api. The host calls it with the
 * ABI version that it speaks and a table of host services; the plugin answers with its own table or with
 * an error object. Rules that hold for everything below:
 *
 * - The first field of every struct is struct_size: the number of bytes that its writer filled. A field
 *   exists only if it lies inside that size. Structs grow only at their end within a major version. The
 *   structs that are passed by value, phx_str and phx_place, have no such field and never change.
 * - Integers have fixed width, handles are opaque pointers, strings are (pointer, length) and need no NUL.
 * - Every call returns NULL for success or a phx_error that the caller destroys through error->destroy.
 *   A call that a plugin does not implement is a null pointer with its capability bit off, or returns
 *   PHX_UNIMPLEMENTED. A plugin never exits the process and never writes memory that the host owns,
 *   except where a parameter is named "out".
 * - Every function may be called from any thread; the host never destroys an object that it still uses.
 * - Memory is named by (handle, byte offset). On devices whose memory has addresses the handle is the
 *   address; elsewhere it is any token, a cl_mem for example.
 * - Sizes and offsets are bytes, strides and counts are elements, times are nanoseconds. A timeout of
 *   UINT64_MAX waits for ever, 0 only asks.
 *
 * The text between the two "cffi" markers is also what the Python host parses: declarations only.
 */
#ifndef PHALANX_H_
#define PHALANX_H_

#include <stdint.h>

#if defined(_WIN32)
#define PHX_EXPORT __declspec(dllexport)
#else
#define PHX_EXPORT __attribute__((visibility("default")))
#endif

#ifndef DLPACK_DLPACK_H_
/* The array descriptor of DLPack 1.x (https://dmlc.github.io/dlpack/latest/c_api.html), same layout. */
/* cffi: begin */
typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;
/* cffi: end */
#endif

/* cffi: begin */
#define PHX_ABI_MAJOR 1
#define PHX_ABI_MINOR 1

/* Error codes. */
#define PHX_OK 0
#define PHX_UNIMPLEMENTED 1
#define PHX_INVALID_ARGUMENT 2
#define PHX_OUT_OF_MEMORY 3
#define PHX_DEVICE_LOST 4
#define PHX_TIMEOUT 5
#define PHX_INDEX_OUT_OF_RANGE 6
#define PHX_ABI_MISMATCH 7
#define PHX_UNAVAILABLE 8
#define PHX_INTERNAL 9

/* Capability bits: a set bit promises the named functions, a clear bit promises that they are null. */
#define PHX_CAP_STREAMS 1       /* stream_create ... stream_wait_event, event_create ... event_synchronize */
#define PHX_CAP_EVENT_TIMING 2  /* event_elapsed */
#define PHX_CAP_TRIM 4          /* device_trim */
#define PHX_CAP_THREADS 8       /* device_threads */
#define PHX_CAP_FIND_KERNEL 16  /* kernel_find */
#define PHX_CAP_COMPILE 32      /* kernel_compile */
#define PHX_CAP_HOST_MEMORY 64  /* host_adopt, host_release, host_address */
#define PHX_CAP_DEFAULT_STREAM 128 /* stream_default; needs PHX_CAP_STREAMS */
#define PHX_CAP_FAULT_INJECTION 256 /* stream_inject_failure, since ABI 1.1; needs PHX_CAP_STREAMS */
#define PHX_THREADS_PER_CORE 0xffffffffu /* for device_threads */

/* Device features. */
#define PHX_FEATURE_HOST_ADDRESSABLE 1 /* handles are host pointers that the host may read and write */
#define PHX_FEATURE_FP64 2
#define PHX_FEATURE_FP16 4
#define PHX_FEATURE_SUBNORMALS 8
#define PHX_FEATURE_UNIFIED_MEMORY 16
#define PHX_FEATURE_SYNCHRONOUS 32 /* work on the default stream is done when the call returns */

/* Device kinds. */
#define PHX_KIND_CPU 0
#define PHX_KIND_GPU 1
#define PHX_KIND_ACCELERATOR 2

/* Element types, one byte each in kernel signatures. */
#define PHX_BOOL 0
#define PHX_INT8 1
#define PHX_INT16 2
#define PHX_INT32 3
#define PHX_INT64 4
#define PHX_UINT8 5
#define PHX_UINT16 6
#define PHX_UINT32 7
#define PHX_UINT64 8
#define PHX_FLOAT16 9
#define PHX_BFLOAT16 10
#define PHX_FLOAT32 11
#define PHX_FLOAT64 12
#define PHX_COMPLEX64 13
#define PHX_COMPLEX128 14

/* Layouts that a kernel accepts. */
#define PHX_LAYOUT_CONTIGUOUS 0 /* every tensor is C-contiguous with the output's count, or holds one element */
#define PHX_LAYOUT_STRIDED 1    /* every tensor has the same shape; any stride, 0 for broadcast axes */
#define PHX_LAYOUT_ANY 2        /* both */

/* Determinism classes. */
#define PHX_DETERMINISM_NONE 0
#define PHX_DETERMINISM_REPRODUCIBLE 1 /* same bits run to run on one device */
#define PHX_DETERMINISM_BITWISE 2      /* same bits on every device */

/* The offset that wrap_index writes everywhere if an index is out of range. Offsets of axes are added up, so one
 * below PHX_NO_PLACE / 2 names no element: gather gives zeros there, scatter writes nothing. */
#define PHX_NO_PLACE -0x100000000000000

typedef struct {
    const char *data;
    uint64_t size;
} phx_str;

typedef struct phx_error {
    uint64_t struct_size;
    int32_t code;
    int32_t vendor_code;  /* the native code, 0 if there is none */
    phx_str message;      /* owned by the error */
    phx_str vendor_name;  /* the native code's name, such as CL_OUT_OF_RESOURCES */
    void (*destroy)(struct phx_error *self);
    phx_str remedy;  /* what the user can do about it, such as "start the service"; empty if unknown */
} phx_error;

/* An extension of a table, found by its string id; unknown ids are ignored. */
typedef struct phx_extension {
    uint64_t struct_size;
    const struct phx_extension *next;
    phx_str id;
} phx_extension;

/* Services that the host gives to a plugin; valid until the process ends. */
typedef struct {
    uint64_t struct_size;
    const phx_extension *extensions;
    uint32_t abi_major;
    uint32_t abi_minor;
    void *context;
    void (*log)(void *context, int32_t level, phx_str message); /* level as in Python's logging: 10..50; never
                                                                   from a thread of the plugin at exit */
    uint64_t (*now_ns)(void *context);                          /* monotonic */
} phx_host;

typedef struct phx_device phx_device; /* an opened device, owned by the plugin */
typedef struct phx_stream phx_stream; /* NULL is the device's default stream */
typedef struct phx_event phx_event;

/* Where the bytes of a copy begin. A value, so it never grows. */
typedef struct {
    phx_device *device; /* NULL: the host's memory, and handle is an address */
    void *handle;
    uint64_t offset;
} phx_place;

typedef struct {
    uint64_t struct_size;
    phx_str name;         /* driver name: lower-case letters, digits and underscores; devices are "name:0" */
    phx_str vendor;
    phx_str version;      /* the plugin's own version */
    phx_str license;      /* SPDX expression */
} phx_plugin_info;

typedef struct {
    uint64_t struct_size;
    phx_str name;         /* for people: "Intel(R) Xeon(R) Processor" */
    phx_str pci_address;  /* "0000:3b:00.0", empty if there is none */
    uint8_t uuid[16];     /* all zero if unknown */
    int32_t kind;         /* PHX_KIND_... */
    int32_t numa_node;    /* -1 if unknown */
    int32_t dlpack_type;  /* DLDeviceType */
    int32_t dlpack_id;
    uint64_t features;    /* PHX_FEATURE_... bits */
    uint64_t total_memory;
    uint64_t max_allocation;
    uint64_t alignment;   /* of what alloc returns; a power of two up to 2^30 */
    uint32_t compute_units;
    int32_t score;        /* higher is better when an alias such as "gpu" chooses */
} phx_device_info;

/* One launch. The host owns everything and may change it when the call returns, so an asynchronous
 * stream copies what it needs; the bytes behind data stay valid until the stream has passed the launch. */
typedef struct {
    uint64_t struct_size;
    const DLTensor *const *tensors; /* inputs, then outputs */
    const int64_t *params;          /* per op, see docs/ops */
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t n_params;
    uint32_t scalars;               /* bit i: input i is one element in host memory, valid during the call only */
    phx_device *device;             /* whose launch it is: a null stream does not tell */
} phx_call;

typedef struct phx_kernel phx_kernel;
typedef phx_error *(*phx_run_fn)(const phx_kernel *self, phx_stream *stream, const phx_call *call);

/* One row of the kernel table: a kernel for an op, its dtypes and a layout. */
struct phx_kernel {
    uint64_t struct_size;
    const phx_extension *extensions;
    phx_str op;
    const uint8_t *dtypes;  /* PHX_FLOAT32 ..., inputs then outputs */
    uint32_t n_inputs;
    uint32_t n_outputs;
    int32_t layout;
    int32_t determinism;
    double error_bound;     /* in ulp of the result; 0.5 is correctly rounded, negative is not stated */
    phx_run_fn run;
    const void *data;       /* for the plugin */
};

typedef struct {
    uint64_t struct_size;
    const phx_extension *extensions;
    uint32_t built_abi_major; /* PHX_ABI_MAJOR when the plugin was compiled */
    uint32_t built_abi_minor;
    uint32_t min_host_abi_minor; /* oldest minor version of the host that the plugin can live with */
    uint32_t flags;              /* 0 */
    uint64_t capabilities;       /* PHX_CAP_... bits */

    /* Tier "sync": required. */
    phx_error *(*plugin_info)(phx_plugin_info *out);
    phx_error *(*plugin_score)(int32_t *out); /* 0: cannot run on this host; else higher is better */
    phx_error *(*device_count)(uint32_t *out);
    phx_error *(*device_info)(uint32_t index, phx_device_info *out);
    phx_error *(*device_open)(uint32_t index, phx_device **out);
    phx_error *(*device_close)(phx_device *device);
    phx_error *(*device_synchronize)(phx_device *device, uint64_t timeout_ns);
    phx_error *(*memory_info)(phx_device *device, uint64_t *out_free, uint64_t *out_total);
    phx_error *(*alloc)(phx_device *device, uint64_t size, uint64_t alignment, void **out); /* size > 0; never null */
    phx_error *(*free)(phx_device *device, void *handle);
    /* At least one place is on this device, none on another; the ranges do not overlap. */
    phx_error *(*copy)(phx_device *device, phx_stream *stream, phx_place dst, phx_place src, uint64_t size);
    phx_error *(*kernel_table)(phx_device *device, const phx_kernel *const **out,
                               uint64_t *out_count); /* the rows stay valid until device_close */

    /* Tier "async": PHX_CAP_STREAMS. */
    phx_error *(*stream_create)(phx_device *device, int32_t priority, phx_stream **out);
    phx_error *(*stream_destroy)(phx_stream *stream); /* finishes its work; an error it returns is that work's */
    phx_error *(*stream_query)(phx_stream *stream, int32_t *out_idle);
    phx_error *(*stream_synchronize)(phx_stream *stream, uint64_t timeout_ns);
    phx_error *(*stream_wait_event)(phx_device *device, phx_stream *stream, phx_event *event);
    phx_error *(*event_create)(phx_device *device, int32_t timed, phx_event **out); /* timed: for event_elapsed */
    phx_error *(*event_destroy)(phx_event *event);
    phx_error *(*event_record)(phx_event *event, phx_stream *stream);
    phx_error *(*event_query)(phx_event *event, int32_t *out_done); /* an event never recorded is done */
    phx_error *(*event_synchronize)(phx_event *event, uint64_t timeout_ns);
    phx_error *(*event_elapsed)(phx_event *begin, phx_event *end, uint64_t *out_ns); /* PHX_CAP_EVENT_TIMING */
    phx_error *(*device_trim)(phx_device *device); /* PHX_CAP_TRIM: give unused memory back to the system */
    /* PHX_CAP_THREADS: how many threads of this process a kernel uses at most; `count` sets it for the kernels that
     * begin later, unless it is 0. PHX_THREADS_PER_CORE is one for each usable core. */
    phx_error *(*device_threads)(phx_device *device, uint32_t count, uint32_t *out_count);
    /* PHX_CAP_FIND_KERNEL: the kernel for what the table has no row for: dtypes are inputs then outputs, layout is
     * any of the three. Compiles nothing; the row is valid until device_close. A null pointer in out_kernel says that
     * there is none, and out_reason may say why, for the user: a text that is valid until the thread's next call. */
    phx_error *(*kernel_find)(phx_device *device, phx_str op, const uint8_t *dtypes, uint32_t n_inputs,
                              uint32_t n_outputs, int32_t layout, const phx_kernel **out_kernel, phx_str *out_reason);
    /* PHX_CAP_COMPILE: makes ready, ahead of time, what a kernel needs in the commonest case; blocks. Counts the
     * programs that were compiled, and those that were read from a cache. */
    phx_error *(*kernel_compile)(phx_device *device, const phx_kernel *kernel, uint32_t *out_compiled,
                                 uint32_t *out_cached);
    /* PHX_CAP_HOST_MEMORY: use of the host's memory in place. host_adopt gives a handle and the offset of the first
     * byte, or a null handle: the host copies. The bytes stay valid until host_release, which must not block and comes
     * when the host knows of no work on them. host_address tells where the host reaches a block, null: nowhere. */
    phx_error *(*host_adopt)(phx_device *device, void *address, uint64_t size, void **out_handle,
                             uint64_t *out_offset);
    phx_error *(*host_release)(phx_device *device, void *handle);
    phx_error *(*host_address)(phx_device *device, void *handle, void **out_address);
    /* PHX_CAP_DEFAULT_STREAM: the default stream by a handle of its own, which the host passes in the place of null
     * and never destroys. Asked once after device_open; for a plugin whose calls must know the device of a stream. */
    phx_error *(*stream_default)(phx_device *device, phx_stream **out);
    /* PHX_CAP_FAULT_INJECTION, since ABI 1.1: enqueues a command that fails when the stream comes to it, as a kernel
     * that the device stops. For tests of what follows; where the default stream runs inline, it is returned here. */
    phx_error *(*stream_inject_failure)(phx_device *device, phx_stream *stream);
} phx_api;
/* cffi: end */

typedef phx_error *(*phx_get_api_fn)(uint32_t host_abi_major, uint32_t host_abi_minor, const phx_host *host,
                                     const phx_api **out);

/* The one exported symbol. Returns PHX_ABI_MISMATCH before it touches the host table if it cannot work with
 * the host's version. */
PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t host_abi_major, uint32_t host_abi_minor,
                                             const phx_host *host, const phx_api **out);

#endif /* PHALANX_H_ */
