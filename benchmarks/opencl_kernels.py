"""The text of the hand-written OpenCL kernels: float32, without any regard to other layouts.

``GROUP`` is the size of a work-group where work-items share local memory, ``BITS`` those of a digit
of the radix sort (Knuth, The Art of Computer Programming 3, section 5.2.5).
"""

from __future__ import annotations

#: One work-item per element, or per eight.
ELEMENTWISE = """
__kernel void add(__global const float *a, __global const float *b, __global float *o) {
    const size_t i = get_global_id(0);
    o[i] = a[i] + b[i];
}
__kernel void add8(__global const float *a, __global const float *b, __global float *o) {
    const size_t i = get_global_id(0);
    vstore8(vload8(i, a) + vload8(i, b), i, o);
}
__kernel void add_strided(__global const float *a, __global const float *b, __global float *o) {
    const size_t i = get_global_id(0);
    o[i] = a[2 * i] + b[2 * i];
}
__kernel void add_strided8(__global const float *a, __global const float *b, __global float *o) {
    const size_t i = get_global_id(0);
    vstore8(vload16(i, a).even + vload16(i, b).even, i, o);
}
__kernel void add_row(__global const float *a, __global const float *b, __global float *o) {
    const size_t column = get_global_id(0), i = get_global_id(1) * get_global_size(0) + column;
    o[i] = a[i] + b[column];
}
__kernel void add_row8(__global const float *a, __global const float *b, __global float *o) {
    const size_t column = get_global_id(0), i = get_global_id(1) * get_global_size(0) + column;
    vstore8(vload8(i, a) + vload8(column, b), i, o);
}
__kernel void exp1(__global const float *a, __global float *o) {
    const size_t i = get_global_id(0);
    o[i] = exp(a[i]);
}
__kernel void exp8(__global const float *a, __global float *o) {
    const size_t i = get_global_id(0);
    vstore8(exp(vload8(i, a)), i, o);
}
__kernel void copy(__global const float *a, __global float *o) {
    const size_t i = get_global_id(0);
    o[i] = a[i];
}
__kernel void copy8(__global const float *a, __global float *o) {
    const size_t i = get_global_id(0);
    vstore8(vload8(i, a), i, o);
}
__kernel void matmul(__global const float *a, __global const float *b, __global float *o,
                     const ulong n) {
    const size_t column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (size_t k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
    o[row * n + column] = sum;
}
"""

#: One work-group per chunk of consecutive elements: for GPUs.
GROUPS = """
#define TREE(op)                                                   \\
    for (size_t half_ = GROUP / 2; half_ > 0; half_ /= 2) {        \\
        barrier(CLK_LOCAL_MEM_FENCE);                              \\
        if (me < half_)                                            \\
            part[me] = op(part[me], part[me + half_]);             \\
    }                                                              \\
    barrier(CLK_LOCAL_MEM_FENCE);
#define PLUS(x, y) ((x) + (y))
#define RUN 8

__kernel void sum_chunks(__global const float *a, __global float *o, const ulong count,
                         const ulong chunk, const float scale) {
    __local float part[GROUP];
    const size_t me = get_local_id(0), first = get_group_id(0) * chunk;
    const size_t end = min(first + chunk, (size_t)count);
    float sum = 0.0f;
    for (size_t i = first + me; i < end; i += GROUP)
        sum += a[i];
    part[me] = sum;
    TREE(PLUS)
    if (me == 0)
        o[get_group_id(0)] = part[0] * scale;
}

__kernel void scan_chunks(__global const float *a, __global const float *ends, __global float *o,
                          const ulong count, const ulong chunk) {
    __local float part[GROUP];
    const size_t me = get_local_id(0), group = get_group_id(0), first = group * chunk;
    const size_t end = min(first + chunk, (size_t)count);
    const float start = group ? ends[group - 1] : 0.0f;
    float before = 0.0f;
    for (size_t tile = first; tile < end; tile += GROUP * RUN) {
        const size_t i = tile + me * RUN;
        float x[RUN], sum = 0.0f;
        for (size_t j = 0; j < RUN; ++j)
            x[j] = sum += i + j < end ? a[i + j] : 0.0f;
        part[me] = sum;
        for (size_t step = 1; step < GROUP; step *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const float other = me >= step ? part[me - step] : 0.0f;
            barrier(CLK_LOCAL_MEM_FENCE);
            part[me] += other;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const float left = before + (me ? part[me - 1] : 0.0f);
        for (size_t j = 0; j < RUN && i + j < end; ++j)
            o[i + j] = start + (left + x[j]);
        before += part[GROUP - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void softmax(__global const float *a, __global float *o, const ulong columns) {
    __local float part[GROUP];
    const size_t me = get_local_id(0), first = get_group_id(0) * columns;
    float most = -INFINITY;
    for (size_t i = me; i < columns; i += GROUP)
        most = fmax(most, a[first + i]);
    part[me] = most;
    TREE(fmax)
    most = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (size_t i = me; i < columns; i += GROUP)
        sum += o[first + i] = exp(a[first + i] - most);
    part[me] = sum;
    TREE(PLUS)
    const float scale = 1.0f / part[0];
    for (size_t i = me; i < columns; i += GROUP)
        o[first + i] *= scale;
}
"""

#: One work-item per chunk of consecutive elements, in vectors: for CPUs. The same parameters.
SERIAL = """
float total(const float16 x) {
    const float8 y = x.lo + x.hi;
    const float4 z = y.lo + y.hi;
    return (z.x + z.y) + (z.z + z.w);
}

__kernel void sum_chunks(__global const float *a, __global float *o, const ulong count,
                         const ulong chunk, const float scale) {
    const size_t first = get_global_id(0) * chunk, end = min(first + chunk, (size_t)count);
    float16 x = 0.0f, y = 0.0f;
    size_t i = first;
    for (; i + 32 <= end; i += 32) {
        x += vload16(0, a + i);
        y += vload16(1, a + i);
    }
    float sum = total(x + y);
    for (; i < end; ++i)
        sum += a[i];
    o[get_global_id(0)] = sum * scale;
}

__kernel void scan_chunks(__global const float *a, __global const float *ends, __global float *o,
                          const ulong count, const ulong chunk) {
    const size_t me = get_global_id(0), first = me * chunk;
    const size_t end = min(first + chunk, (size_t)count);
    const float start = me ? ends[me - 1] : 0.0f;
    float sum = 0.0f;
    for (size_t i = first; i < end; ++i) {
        sum += a[i];
        o[i] = start + sum;
    }
}

__kernel void softmax(__global const float *a, __global float *o, const ulong columns) {
    a += get_global_id(0) * columns;
    o += get_global_id(0) * columns;
    float16 most = -INFINITY, sums = 0.0f;
    for (size_t i = 0; i < columns / 16; ++i)
        most = fmax(most, vload16(i, a));
    const float8 m8 = fmax(most.lo, most.hi);
    const float4 m4 = fmax(m8.lo, m8.hi);
    const float largest = fmax(fmax(m4.x, m4.y), fmax(m4.z, m4.w));
    for (size_t i = 0; i < columns / 16; ++i) {
        const float16 e = exp(vload16(i, a) - largest);
        vstore16(e, i, o);
        sums += e;
    }
    const float scale = 1.0f / total(sums);
    for (size_t i = 0; i < columns / 16; ++i)
        vstore16(vload16(i, o) * scale, i, o);
}
"""

#: A radix sort from the lowest digit up; a work-item counts, and later moves, one chunk.
SORT = """
#define DIGITS (1 << BITS)

/* Unsigned numbers in the order of the floats, and back. */
uint key_of(const uint x) { return x ^ (x >> 31 ? 0xffffffffu : 0x80000000u); }
uint float_of(const uint x) { return x ^ (x >> 31 ? 0x80000000u : 0xffffffffu); }

__kernel void count_digits(__global const uint *a, __global uint *counts, const ulong count,
                           const ulong chunk, const uint shift) {
    const size_t me = get_global_id(0), chunks = get_global_size(0), first = me * chunk;
    const size_t end = min(first + chunk, (size_t)count);
    uint found[DIGITS];
    for (size_t digit = 0; digit < DIGITS; ++digit)
        found[digit] = 0;
    for (size_t i = first; i < end; ++i)
        ++found[(shift ? a[i] : key_of(a[i])) >> shift & (DIGITS - 1)];
    for (size_t digit = 0; digit < DIGITS; ++digit)
        counts[digit * chunks + me] = found[digit];
}

/* One work-group: each count becomes the sum of those before it. */
__kernel void place_digits(__global uint *counts, const ulong count) {
    __local uint part[GROUP];
    const size_t me = get_local_id(0), run = (count + GROUP - 1) / GROUP;
    const size_t first = me * run, end = min(first + run, (size_t)count);
    uint sum = 0;
    for (size_t i = first; i < end; ++i)
        sum += counts[i];
    part[me] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint place = 0;
    for (size_t other = 0; other < me; ++other)
        place += part[other];
    for (size_t i = first; i < end; ++i) {
        const uint here = counts[i];
        counts[i] = place;
        place += here;
    }
}

__kernel void move(__global const uint *a, __global const uint *counts, __global uint *o,
                   const ulong count, const ulong chunk, const uint shift) {
    const size_t me = get_global_id(0), chunks = get_global_size(0), first = me * chunk;
    const size_t end = min(first + chunk, (size_t)count);
    uint place[DIGITS];
    for (size_t digit = 0; digit < DIGITS; ++digit)
        place[digit] = counts[digit * chunks + me];
    for (size_t i = first; i < end; ++i) {
        const uint key = shift ? a[i] : key_of(a[i]);
        o[place[key >> shift & (DIGITS - 1)]++] = shift + BITS < 32 ? key : float_of(key);
    }
}
"""
