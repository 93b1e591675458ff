/* The kernel lists of sorting, searching, selection and indexing. */
#ifndef PHX_CPU_LISTS_SORT_H_
#define PHX_CPU_LISTS_SORT_H_

#include "runtime/kernel.h"

cpu_kernel_list phx_sort_kernels(void);
cpu_kernel_list phx_search_kernels(void);
cpu_kernel_list phx_select_kernels(void);
cpu_kernel_list phx_index_kernels(void);
cpu_kernel_list phx_segment_kernels(void);
cpu_kernel_list phx_count_kernels(void);

#endif
