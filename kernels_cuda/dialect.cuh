/* The words of core/device_code/dialect.py in CUDA C++, for NVRTC without any header.
 *
 * To be compiled with -fmad=false: NVRTC would fuse products and sums otherwise.
 */
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define PHX_FN static __device__ __forceinline__
#define PHX_OUTLINE static __device__ __noinline__
#define PHX_TABLE(T, name, n) static __constant__ const T name[n]

#define PHX_KERNEL(most) extern "C" __global__ void __launch_bounds__(most)
#define PHX_KERNEL_OF(n) extern "C" __global__ void __launch_bounds__(n)
#define PHX_GLOBAL
#define PHX_PACK(T, n, name)                                             \
    struct __align__(sizeof(T) * (n) < 16 ? sizeof(T) * (n) : 16) name { \
        T v[n];                                                          \
    }
#define PHX_LOCAL_ARRAY(T, name, n) __shared__ T name[n]
#define PHX_LOCAL_PTR(T) T *
#define PHX_BARRIER() __syncthreads()
#define PHX_BARRIER_GLOBAL() __syncthreads()
#define PHX_UNROLL _Pragma("unroll")

template <class V>
PHX_FN u64 phx_axis(const V v, const int d) {
    if (d == 0) return v.x;
    return d == 1 ? v.y : v.z;
}
#define PHX_LOCAL_ID(d) phx_axis(threadIdx, d)
#define PHX_GROUP_ID(d) phx_axis(blockIdx, d)
#define PHX_LOCAL_SIZE(d) phx_axis(blockDim, d)
#define PHX_GROUPS(d) phx_axis(gridDim, d)
#define PHX_GLOBAL_ID(d) (PHX_GROUP_ID(d) * PHX_LOCAL_SIZE(d) + PHX_LOCAL_ID(d))
#define PHX_GLOBAL_SIZE(d) (PHX_GROUPS(d) * PHX_LOCAL_SIZE(d))
#define PHX_ATOMIC_CAS(p, old, new) atomicCAS(p, old, new)
#define PHX_ATOMIC_MAX(p, x) atomicMax(p, x)
#define PHX_LOCAL_ATOMIC_ADD(array, i, x) atomicAdd((array) + (i), x)

/* Volatile accesses are relaxed ones of the whole system (PTX ISA, "Memory Consistency Model"). */
#define PHX_ATOMIC_LOAD64(p) (*(const volatile u64 *)(p))
#define PHX_ATOMIC_STORE64(p, x) (*(volatile u64 *)(p) = (x))
#define PHX_ATOMIC_ADD64(p, x) atomicAdd(p, x)

/* From 8.0 on, without a way through registers (PTX ISA, "cp.async"). */
#if __CUDA_ARCH__ >= 800
template <class T>
PHX_FN void phx_async_copy(T *to, const T *from) {
    static_assert(sizeof(T) == 16, "16 bytes are copied");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}
#define PHX_ASYNC_COPY(to, i, from) phx_async_copy((to) + (i), from)
#define PHX_ASYNC_WAIT() asm volatile("cp.async.wait_all;" ::: "memory")
#define PHX_ASYNC_MARK() asm volatile("cp.async.commit_group;" ::: "memory")
#define PHX_ASYNC_WAIT_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#endif

/* PTX ISA, "mma.m16n8k8 with .f64". That its sums are chains of fma was measured: docs/cuda.md. */
#if __CUDA_ARCH__ >= 900
#define PHX_MATRIX_F64(c, a0, a1, a2, a3, b0, b1)                             \
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, " \
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                       \
        : "+d"((c)[0]), "+d"((c)[1]), "+d"((c)[2]), "+d"((c)[3])              \
        : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1))
#endif

/* Conversions of the language round to nearest. */
#define PHX_TO_F32(i) ((f32)(i))
#define PHX_TO_F64(i) ((f64)(i))

#define PHX_INFF __int_as_float(0x7f800000)
#define PHX_NANF __int_as_float(0x7fc00000)
#define PHX_INF __longlong_as_double(0x7ff0000000000000)
#define PHX_NAN __longlong_as_double(0x7ff8000000000000)

PHX_FN u32 phx_bits32(f32 x) { return (u32)__float_as_int(x); }
PHX_FN f32 phx_from_bits32(u32 u) { return __int_as_float((i32)u); }
PHX_FN f32 phx_fmaf(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
PHX_FN f32 phx_sqrtf(f32 x) { return __fsqrt_rn(x); }
PHX_FN f32 phx_dividef(f32 a, f32 b) { return __fdiv_rn(a, b); }
PHX_FN f32 phx_floorf(f32 x) { return floorf(x); }
PHX_FN f32 phx_ceilf(f32 x) { return ceilf(x); }
PHX_FN f32 phx_truncf(f32 x) { return truncf(x); }
PHX_FN f32 phx_rintf(f32 x) { return rintf(x); }
PHX_FN f32 phx_fabsf(f32 x) { return fabsf(x); }
PHX_FN f32 phx_copysignf(f32 x, f32 y) { return copysignf(x, y); }

PHX_FN u64 phx_bits64(f64 x) { return (u64)__double_as_longlong(x); }
PHX_FN f64 phx_from_bits64(u64 u) { return __longlong_as_double((i64)u); }
PHX_FN f64 phx_fma(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
PHX_FN f64 phx_sqrt(f64 x) { return __dsqrt_rn(x); }
PHX_FN f64 phx_divide(f64 a, f64 b) { return __ddiv_rn(a, b); }
PHX_FN f64 phx_floor(f64 x) { return floor(x); }
PHX_FN f64 phx_ceil(f64 x) { return ceil(x); }
PHX_FN f64 phx_trunc(f64 x) { return trunc(x); }
PHX_FN f64 phx_rint(f64 x) { return rint(x); }
PHX_FN f64 phx_fabs(f64 x) { return fabs(x); }
PHX_FN f64 phx_copysign(f64 x, f64 y) { return copysign(x, y); }

/* Pairs are vectors: one load and one store. */
#define PHX_HAS_PAIRS
typedef float2 f32x2;
typedef double2 f64x2;
#define phx_make_f32x2(x, y) make_float2(x, y)
#define phx_make_f64x2(x, y) make_double2(x, y)
PHX_FN f32x2 phx_add_f32x2(f32x2 a, f32x2 b) { return make_float2(a.x + b.x, a.y + b.y); }
PHX_FN f64x2 phx_add_f64x2(f64x2 a, f64x2 b) { return make_double2(a.x + b.x, a.y + b.y); }
