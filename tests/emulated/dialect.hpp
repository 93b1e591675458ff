/* The words of core/device_code/dialect.py in C++ for g++: a device without hardware.
 *
 * The work-items of a group are fibres of one thread (runtime.c). Local arrays watch who reads and
 * writes what: an element that one work-item writes and another touches with no barrier between,
 * one that nobody has written, and one outside of the array, end the launch with an error.
 *
 * To be compiled with -ffp-contract=off.
 */
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef float f32;
typedef double f64;

#define PHX_FN static inline __attribute__((unused))
#define PHX_OUTLINE static __attribute__((noinline, unused))
#define PHX_TABLE(T, name, n) static const T name[n]

/* What the scheduler shows to the program: see runtime.c. */
struct phx_scheduler {
    u64 item[3], group[3], size[3], groups[3];
    u64 me, phase, number; /* of the work-item in its group, of the stretch between barriers, of the group */
    void (*barrier)(int line);
    void (*fail)(const char *what, const char *array, u64 index);
    void (*meet)(int line); /* of 32 neighbours */
};
extern "C" {
phx_scheduler *phx_now;
}

#define PHX_KERNEL(most) static void
#define PHX_KERNEL_OF(n) static void
#define PHX_GLOBAL
#define PHX_PACK(T, n, name)                                           \
    struct alignas(sizeof(T) * (n) < 16 ? sizeof(T) * (n) : 16) name { \
        T v[n];                                                        \
    }
#define PHX_BARRIER() phx_now->barrier(__LINE__)
#define PHX_BARRIER_GLOBAL() phx_now->barrier(__LINE__)
#define PHX_LOCAL_ID(d) phx_now->item[d]
#define PHX_GROUP_ID(d) phx_now->group[d]
#define PHX_LOCAL_SIZE(d) phx_now->size[d]
#define PHX_GROUPS(d) phx_now->groups[d]
#define PHX_GLOBAL_ID(d) (phx_now->group[d] * phx_now->size[d] + phx_now->item[d])
#define PHX_GLOBAL_SIZE(d) (phx_now->groups[d] * phx_now->size[d])

/* Who touched an element last, and when. */
struct phx_shadow {
    u64 written, writer, read, reader;
};
const u64 phx_several = ~(u64)0, phx_atomically = phx_several - 1;

template <class T>
struct phx_array {
    T *value;
    phx_shadow *shadow;
    u64 count, first;
    const char *name;
};

template <class T>
struct phx_ref {
    const phx_array<T> array;
    const u64 index;

    operator T() const {
        phx_shadow &s = array.shadow[index];
        const u64 now = phx_now->phase, me = phx_now->me;
        if (s.written == 0) phx_now->fail("reads what nobody has written", array.name, index);
        if (s.written == now && s.writer != me) phx_now->fail("reads what another writes", array.name, index);
        s.reader = s.read == now && s.reader != me ? phx_several : me;
        s.read = now;
        return array.value[index];
    }
    T operator=(T x) const {
        phx_shadow &s = array.shadow[index];
        const u64 now = phx_now->phase, me = phx_now->me;
        if (s.written == 0 || __builtin_memcmp(&array.value[index], &x, sizeof x) != 0) {
            if (s.written == now && s.writer != me) phx_now->fail("writes what another writes", array.name, index);
            if (s.read == now && s.reader != me) phx_now->fail("writes what another reads", array.name, index);
        }
        s.written = now;
        s.writer = me;
        array.value[index] = x;
        return x;
    }
    T operator=(const phx_ref &x) const { return *this = (T)x; }
    /* Atomic: many may do this between two barriers, if nobody does anything else there. */
    void add(T x) const {
        phx_shadow &s = array.shadow[index];
        const u64 now = phx_now->phase;
        if (s.written == 0) phx_now->fail("adds to what nobody has written", array.name, index);
        if (s.written == now && s.writer != phx_atomically && s.writer != phx_now->me)
            phx_now->fail("adds to what another writes", array.name, index);
        if (s.read == now && s.reader != phx_now->me) phx_now->fail("adds to what another reads", array.name, index);
        s.written = now;
        s.writer = phx_atomically;
        array.value[index] += x;
    }
    T operator+=(T x) const { return *this = (T)((T) * this + x); }
};

/* A place in a local array. */
template <class T>
struct phx_local {
    phx_array<T> array;

    phx_ref<T> operator[](i64 i) const {
        const u64 index = array.first + (u64)i;
        if (index >= array.count) phx_now->fail("is outside of the array", array.name, index);
        return phx_ref<T>{array, index};
    }
    phx_local operator+(i64 i) const {
        phx_local moved = *this;
        moved.array.first += (u64)i;
        return moved;
    }
};

/* The memory of a local array: nothing is written when a group begins. */
template <class T, u64 N>
struct phx_room {
    T value[N];
    phx_shadow shadow[N];
    u64 group;

    phx_local<T> open(const char *name) {
        if (group != phx_now->number) {
            __builtin_memset(value, 0xdb, sizeof value);
            __builtin_memset(shadow, 0, sizeof shadow);
            group = phx_now->number;
        }
        return phx_local<T>{{value, shadow, N, 0, name}};
    }
};
#define PHX_LOCAL_PTR(T) phx_local<T>
#define PHX_LOCAL_ARRAY(T, name, n)      \
    static phx_room<T, (n)> name##_room; \
    const phx_local<T> name = name##_room.open(#name)

/* What each work-item has begun to copy: until it waits, there is rubbish in the target. */
struct phx_block {
    u64 half[2];
};
struct phx_copies {
    struct {
        phx_local<phx_block> to;
        const phx_block *from;
    } copy[32];
    u64 count;
    u64 ends[4], parts; /* where each part that was marked ends */
};
static phx_copies phx_begun[64];

template <class T>
PHX_FN void phx_async_copy(const phx_local<T> to, u64 i, const T *from) {
    static_assert(sizeof(T) == 16, "16 bytes are copied");
    phx_copies &mine = phx_begun[phx_now->me];
    const phx_array<T> &a = to.array;
    const phx_local<phx_block> place = {{(phx_block *)a.value, a.shadow, a.count, a.first + i, a.name}};
    place[0] = phx_block{0xdbdbdbdbdbdbdbdb, 0xdbdbdbdbdbdbdbdb};
    if (mine.count == 32) phx_now->fail("is copied, and nobody waits", a.name, i);
    mine.copy[mine.count].to = place;
    mine.copy[mine.count++].from = (const phx_block *)from;
}
PHX_FN void phx_async_mark() {
    phx_copies &mine = phx_begun[phx_now->me];
    if (mine.parts == 4) phx_now->fail("is marked, and nobody waits", "copies", mine.count);
    mine.ends[mine.parts++] = mine.count;
}
PHX_FN void phx_async_wait(u64 parts = 0) {
    phx_copies &mine = phx_begun[phx_now->me];
    const u64 left = parts < mine.parts ? parts : mine.parts, done = mine.parts - left;
    const u64 end = parts == 0 ? mine.count : done ? mine.ends[done - 1]
                                                   : 0;
    for (u64 i = 0; i < end; i++) mine.copy[i].to[0] = *mine.copy[i].from;
    for (u64 i = end; i < mine.count; i++) mine.copy[i - end] = mine.copy[i];
    for (u64 i = 0; i < left; i++) mine.ends[i] = mine.ends[done + i] - end;
    mine.count -= end;
    mine.parts = left;
}
#define PHX_ASYNC_MARK() phx_async_mark()
#define PHX_ASYNC_WAIT_BUT(n) phx_async_wait(n)
#define PHX_ASYNC_COPY(to, i, from) phx_async_copy(to, i, from)
#define PHX_ASYNC_WAIT() phx_async_wait()

/* What the work-items of a group have handed in to their neighbours. */
static f64 phx_handed[64][6];

PHX_FN void phx_matrix_f64(f64 *c, f64 a0, f64 a1, f64 a2, f64 a3, f64 b0, f64 b1) {
    const u64 me = phx_now->me, first = me / 32 * 32, g = me % 32 / 4, t = me % 4;
    const f64 mine[6] = {a0, a1, a2, a3, b0, b1};
    __builtin_memcpy(phx_handed[me], mine, sizeof mine);
    phx_now->meet(__LINE__);
    for (u64 e = 0; e < 4; e++)
        for (u64 k = 0; k < 8; k++)
            c[e] = __builtin_fma(phx_handed[first + 4 * g + k % 4][e / 2 + k / 4 * 2],
                                 phx_handed[first + 4 * (2 * t + e % 2) + k % 4][4 + k / 4], c[e]);
    phx_now->meet(__LINE__);
}
#define PHX_MATRIX_F64 phx_matrix_f64

PHX_FN u32 PHX_ATOMIC_CAS(u32 *p, u32 old, u32 value) {
    const u32 there = *p;
    if (there == old) *p = value;
    return there;
}
PHX_FN void PHX_ATOMIC_MAX(u32 *p, u32 x) { *p = *p < x ? x : *p; }
PHX_FN void PHX_LOCAL_ATOMIC_ADD(const phx_local<u32> array, u64 i, u32 x) { array[i].add(x); }

/* Groups run one after the other: what one waits for is there, or never will be. */
const u64 phx_patience = 1000;
static u64 phx_asked;
PHX_FN u64 PHX_ATOMIC_LOAD64(const u64 *p) {
    phx_asked = *p ? 0 : phx_asked + 1;
    if (phx_asked > phx_patience) phx_now->fail("waits for a group that has not begun", "word", *p);
    return *p;
}
#define PHX_ATOMIC_STORE64(p, x) (*(p) = (x))
PHX_FN u64 PHX_ATOMIC_ADD64(u64 *p, u64 x) {
    const u64 there = *p;
    *p = there + x;
    return there;
}

#define PHX_TO_F32(i) ((f32)(i))
#define PHX_TO_F64(i) ((f64)(i))
#define PHX_INFF __builtin_inff()
#define PHX_NANF __builtin_nanf("")
#define PHX_INF __builtin_inf()
#define PHX_NAN __builtin_nan("")

template <class To, class From>
PHX_FN To phx_bits(const From x) {
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}
#define phx_bits32(x) phx_bits<u32, f32>(x)
#define phx_from_bits32(x) phx_bits<f32, u32>(x)
#define phx_bits64(x) phx_bits<u64, f64>(x)
#define phx_from_bits64(x) phx_bits<f64, u64>(x)
#define phx_fmaf __builtin_fmaf
#define phx_fma __builtin_fma
#define phx_sqrtf __builtin_sqrtf
#define phx_sqrt __builtin_sqrt
#define phx_floorf __builtin_floorf
#define phx_floor __builtin_floor
#define phx_ceilf __builtin_ceilf
#define phx_ceil __builtin_ceil
#define phx_truncf __builtin_truncf
#define phx_trunc __builtin_trunc
#define phx_rintf __builtin_rintf
#define phx_rint __builtin_rint
#define phx_fabsf __builtin_fabsf
#define phx_fabs __builtin_fabs
#define phx_copysignf __builtin_copysignf
#define phx_copysign __builtin_copysign
PHX_FN f32 phx_dividef(f32 a, f32 b) { return a / b; }
PHX_FN f64 phx_divide(f64 a, f64 b) { return a / b; }

/* Behind a program: how a kernel is called from outside, with a pointer to each argument. */
template <unsigned... I>
struct phx_numbers {};
template <class... A, unsigned... I>
PHX_FN void phx_call(void (*kernel)(A...), void **args, phx_numbers<I...>) {
    kernel(*(A *)args[I]...);
}
template <class... A>
PHX_FN void phx_call(void (*kernel)(A...), void **args) {
    phx_call(kernel, args, phx_numbers<__integer_pack(sizeof...(A))...>());
}
template <class... A>
PHX_FN unsigned phx_sizes(void (*)(A...), u64 *sizes) {
    const u64 each[] = {sizeof(A)...}, aligned[] = {alignof(A)...};
    for (unsigned i = 0; i < sizeof...(A); i++) {
        sizes[2 * i] = each[i];
        sizes[2 * i + 1] = aligned[i];
    }
    return sizeof...(A);
}
#define PHX_ENTRY(name) PHX_ENTRY_AS(name, name)
#define PHX_ENTRY_AS(name, as)                                          \
    extern "C" void phx_run_##as(void **args) { phx_call(name, args); } \
    extern "C" unsigned phx_sizes_##as(u64 *sizes) { return phx_sizes(name, sizes); }
