/* The rows of the reduction, scan, row, generation and random kernels, for the runtime's table. */
#ifndef PHX_CPU_LISTS_REDUCE_H_
#define PHX_CPU_LISTS_REDUCE_H_

#include "runtime/kernel.h"

cpu_kernel_list phx_reduce_sum_kernels(void);     /* sum, prod, mean of floating and complex types */
cpu_kernel_list phx_reduce_integer_kernels(void); /* sum, prod of integers */
cpu_kernel_list phx_reduce_extreme_kernels(void); /* max, min */
cpu_kernel_list phx_reduce_place_kernels(void);   /* argmax, argmin */
cpu_kernel_list phx_reduce_logical_kernels(void); /* any, all, count_nonzero */
cpu_kernel_list phx_scan_kernels(void);           /* cumulative_sum, cumulative_prod */
cpu_kernel_list phx_normalize_kernels(void);      /* softmax, log_softmax, layer_norm */
cpu_kernel_list phx_generate_kernels(void);       /* arange */
cpu_kernel_list phx_random_kernels(void);         /* random_bits, ... */
cpu_kernel_list phx_fft_kernels(void);            /* fft */
cpu_kernel_list phx_fft_pairs_kernels(void);      /* fft_from_pairs, fft_to_pairs */
cpu_kernel_list phx_random_tries_kernels(void);   /* random_gamma, ... */

#endif
