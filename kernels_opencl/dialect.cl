/* The words of core/device_code/dialect.py in OpenCL C 1.2.
 *
 * Contraction is off, no unsafe option is ever given, and subnormals are kept: so that the bits are
 * those of every other device. PHX_FP64 is 1 where the device has double; PHX_EXACT_DIVISION where
 * float division and square root are correctly rounded.
 */
#pragma OPENCL FP_CONTRACT OFF
#if PHX_FP64
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#endif

typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;

#define PHX_FN static inline __attribute__((always_inline))
#define PHX_OUTLINE static __attribute__((noinline))
#define PHX_TABLE(type, name, n) __constant type name[n]

#define PHX_KERNEL(most) __kernel void
#define PHX_KERNEL_OF(n) __kernel __attribute__((reqd_work_group_size(n, 1, 1))) void
#define PHX_GLOBAL __global
#define PHX_PACK(T, n, name) \
    typedef struct {         \
        T v[n];              \
    } __attribute__((aligned(sizeof(T) * (n) < 16 ? sizeof(T) * (n) : 16))) name
#define PHX_LOCAL_ARRAY(T, name, n) __local T name[n]
#define PHX_LOCAL_PTR(T) __local T *
#define PHX_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define PHX_BARRIER_GLOBAL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define PHX_GLOBAL_ID(d) get_global_id(d)
#define PHX_LOCAL_ID(d) get_local_id(d)
#define PHX_GROUP_ID(d) get_group_id(d)
#define PHX_GLOBAL_SIZE(d) get_global_size(d)
#define PHX_LOCAL_SIZE(d) get_local_size(d)
#define PHX_GROUPS(d) get_num_groups(d)
#define PHX_ATOMIC_CAS(p, old, new) atomic_cmpxchg(p, old, new)
#define PHX_ATOMIC_MAX(p, x) atomic_max(p, x)
#define PHX_LOCAL_ATOMIC_ADD(array, i, x) atomic_add((array) + (i), x)
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define PHX_ATOMIC_LOAD64(p) atom_add((volatile __global ulong *)(p), 0ul)
#define PHX_ATOMIC_STORE64(p, x) atom_xchg((volatile __global ulong *)(p), x)
#define PHX_ATOMIC_ADD64(p, x) atom_add((volatile __global ulong *)(p), (ulong)(x))
#endif
#define PHX_TO_F32(i) convert_float_rte(i)
#define PHX_TO_F64(i) convert_double_rte(i)
#define PHX_UNROLL _Pragma("unroll")

/* Before a kernel whose work-items are cores: see cores.py. */
#define SERIAL PHX_KERNEL_OF(1)

/* Pairs are vectors. */
#define PHX_HAS_PAIRS
typedef float2 f32x2;
#define phx_make_f32x2(x, y) ((float2)(x, y))
#define phx_add_f32x2(a, b) ((a) + (b))

/* Before a loop that sums up: its order is part of the result. Intel's CPU runtime (2026.2) makes
 * partial sums of it in spite of FP_CONTRACT, and no option forbids that. */
#ifdef __clang__
#define PHX_ORDERED _Pragma("clang loop vectorize(disable)")
#else
#define PHX_ORDERED
#endif

/* Before a loop whose turns have nothing to do with each other, whatever its pointers say. */
#ifdef __clang__
#define PHX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PHX_INDEPENDENT
#endif

/* The same before a loop over a function of core/scalar, for which PoCL chooses too short vectors
 * (measured with PoCL 3.0 and AVX-512, 2026: exp of float32 twice as fast so). */
#ifdef __clang__
#define PHX_INDEPENDENT_CALLS \
    _Pragma("clang loop vectorize(assume_safety) vectorize_width(16)")
#else
#define PHX_INDEPENDENT_CALLS
#endif

#define PHX_INFF INFINITY
#define PHX_NANF as_float(0x7fc00000u)

/* Runtimes whose compiler is clang for the processor itself, such as PoCL: its builtins become
 * instructions and vectors, where the library's functions may be calls (measured with PoCL 3.0, 2026:
 * exp of float32 0.6 ns against 24 ns). The results are the same. */
#if defined(__clang__) && (defined(__INTEL_LLVM_COMPILER) || defined(__ARM_FEATURE_FMA) || \
                           (defined(__FMA__) && defined(__SSE4_1__)))
#define PHX_BUILTIN(name, suffix) __builtin_##name##suffix
#else
#define PHX_BUILTIN(name, suffix) name
#endif

PHX_FN u32 phx_bits32(f32 x) { return as_uint(x); }
PHX_FN f32 phx_from_bits32(u32 u) { return as_float(u); }
PHX_FN f32 phx_fmaf(f32 a, f32 b, f32 c) { return PHX_BUILTIN(fma, f)(a, b, c); }
PHX_FN f32 phx_floorf(f32 x) { return PHX_BUILTIN(floor, f)(x); }
PHX_FN f32 phx_ceilf(f32 x) { return PHX_BUILTIN(ceil, f)(x); }
PHX_FN f32 phx_truncf(f32 x) { return PHX_BUILTIN(trunc, f)(x); }
PHX_FN f32 phx_rintf(f32 x) { return PHX_BUILTIN(rint, f)(x); }
PHX_FN f32 phx_fabsf(f32 x) { return PHX_BUILTIN(fabs, f)(x); }
PHX_FN f32 phx_copysignf(f32 x, f32 y) { return PHX_BUILTIN(copysign, f)(x, y); }

#if PHX_FP64
typedef double f64;
typedef double2 f64x2;
#define phx_make_f64x2(x, y) ((double2)(x, y))
#define phx_add_f64x2(a, b) ((a) + (b))

#define PHX_INF ((f64)INFINITY)
#define PHX_NAN as_double((u64)0x7ff8000000000000)

PHX_FN u64 phx_bits64(f64 x) { return as_ulong(x); }
PHX_FN f64 phx_from_bits64(u64 u) { return as_double(u); }
PHX_FN f64 phx_fma(f64 a, f64 b, f64 c) { return PHX_BUILTIN(fma, )(a, b, c); }
PHX_FN f64 phx_sqrt(f64 x) { return PHX_BUILTIN(sqrt, )(x); }
PHX_FN f64 phx_divide(f64 a, f64 b) { return a / b; }
PHX_FN f64 phx_floor(f64 x) { return PHX_BUILTIN(floor, )(x); }
PHX_FN f64 phx_ceil(f64 x) { return PHX_BUILTIN(ceil, )(x); }
PHX_FN f64 phx_trunc(f64 x) { return PHX_BUILTIN(trunc, )(x); }
PHX_FN f64 phx_rint(f64 x) { return PHX_BUILTIN(rint, )(x); }
PHX_FN f64 phx_fabs(f64 x) { return PHX_BUILTIN(fabs, )(x); }
PHX_FN f64 phx_copysign(f64 x, f64 y) { return PHX_BUILTIN(copysign, )(x, y); }
#endif

#if !PHX_FP64
#define double this_device_has_no_double

/* Conversions that core/scalar takes through double. */
PHX_FN i64 phx_f32_to_i64(f32 x) { return x == x ? convert_long_sat_rtz(x) : (i64)0; }
PHX_FN u64 phx_f32_to_u64(f32 x) { return x == x ? convert_ulong_sat_rtz(x) : (u64)0; }
#endif

/* float quotient and root, correctly rounded: double has more than twice the bits, so that the
 * second rounding is innocuous (Figueroa, When is double rounding innocuous?, 1995). */
#if PHX_EXACT_DIVISION || !PHX_FP64
PHX_FN f32 phx_sqrtf(f32 x) { return PHX_BUILTIN(sqrt, f)(x); }
PHX_FN f32 phx_dividef(f32 a, f32 b) { return a / b; }
#else
PHX_FN f32 phx_sqrtf(f32 x) { return (f32)sqrt((f64)x); }
PHX_FN f32 phx_dividef(f32 a, f32 b) { return (f32)((f64)a / (f64)b); }
#endif
