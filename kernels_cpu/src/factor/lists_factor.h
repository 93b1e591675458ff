/* The rows of the kernels that factor matrices, for the runtime's table. */
#ifndef PHX_CPU_LISTS_FACTOR_H_
#define PHX_CPU_LISTS_FACTOR_H_

#include "runtime/kernel.h"

cpu_kernel_list phx_factor_kernels(void); /* cholesky, lu, triangular_solve, householder, jacobi, eigh, schur */

#endif
