/* The kept axes of an operand (k1..kp, n): one of them is the columns, a walk goes over the others. */
#ifndef PHX_CPU_AXES_H_
#define PHX_CPU_AXES_H_

#include "runtime/kernel.h"

#define AXES_MOST 64

/* In the body of a strided loop: no vector code, which would be large and no faster. */
#define SCALAR_LOOP __asm__ volatile("")

typedef struct {
    int64_t cols, xc, yc; /* extent of the column axis and its strides, in elements of input and output */
    int64_t outer;        /* product of the other axes */
    int ndim;             /* number of the other axes that are longer than 1 */
    int64_t shape[AXES_MOST], xs[AXES_MOST], ys[AXES_MOST]; /* their strides in bytes */
} kept_axes;

static inline int64_t stride_size(int64_t stride) { return stride < 0 ? -stride : stride; }

/* Split the first `kept` axes of x and y; the columns are the axis of x's smallest stride. Returns 0 if
 * there is no element. */
static inline int split_axes(kept_axes *axes, const DLTensor *x, const DLTensor *y, int kept) {
    int column = -1;
    axes->cols = axes->outer = 1;
    axes->xc = axes->yc = 0;
    axes->ndim = 0;
    for (int i = 0; i < kept; i++) {
        if (x->shape[i] == 0) return 0;
        if (x->shape[i] == 1) continue;
        if (column < 0 || stride_size(x->strides[i]) <= stride_size(x->strides[column])) column = i;
    }
    for (int i = 0; i < kept; i++) {
        if (i == column) {
            axes->cols = x->shape[i];
            axes->xc = x->strides[i];
            axes->yc = y->strides[i];
        } else if (x->shape[i] != 1) {
            axes->shape[axes->ndim] = x->shape[i];
            axes->xs[axes->ndim] = x->strides[i] * cpu_itemsize(x);
            axes->ys[axes->ndim++] = y->strides[i] * cpu_itemsize(y);
            axes->outer *= x->shape[i];
        }
    }
    return 1;
}

/* A place among the outer axes and its byte offsets in input and output. */
typedef struct {
    int64_t o, x, y;
    int64_t place[AXES_MOST];
} axes_walk;

static inline void walk_to(axes_walk *w, const kept_axes *axes, int64_t o) {
    int64_t rest = o;
    w->o = o;
    w->x = w->y = 0;
    for (int i = axes->ndim - 1; i >= 0; i--) {
        w->place[i] = rest % axes->shape[i];
        rest /= axes->shape[i];
        w->x += w->place[i] * axes->xs[i];
        w->y += w->place[i] * axes->ys[i];
    }
}

static inline void walk_next(axes_walk *w, const kept_axes *axes) {
    w->o++;
    for (int i = axes->ndim - 1; i >= 0; i--) {
        w->x += axes->xs[i];
        w->y += axes->ys[i];
        if (++w->place[i] < axes->shape[i]) return;
        w->x -= axes->shape[i] * axes->xs[i];
        w->y -= axes->shape[i] * axes->ys[i];
        w->place[i] = 0;
    }
}

#endif
