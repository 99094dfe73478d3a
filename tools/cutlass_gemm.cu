/* SPDX-License-Identifier: Apache-2.0 */
/* cutlass_gemm.cu - one matrix multiply of CUTLASS, to hold our own loops against: see
 * tools/compare-cutlass. CUTLASS is templates, so this one file is C++. It is compiled, looked at
 * and never run; nothing of it goes into the library.
 *
 * BM BN BK WM WN STAGES are what they are in our kernels, a block's and a warp's tile and the
 * tiles in flight. The type is IN_F32 (no tensor cores), IN_F16, IN_BF16, IN_TF32 or IN_I8.
 * Two stages without tensor cores is CUTLASS's older loop, which goes through registers;
 * everything else is its multistage loop with cp.async. */
#include "cutlass/cutlass.h"
#include "cutlass/device_kernel.h"
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"

#if defined(IN_F16)
using in_t = cutlass::half_t;
using tensor_shape = cutlass::gemm::GemmShape<16, 8, 16>;
#elif defined(IN_BF16)
using in_t = cutlass::bfloat16_t;
using tensor_shape = cutlass::gemm::GemmShape<16, 8, 16>;
#elif defined(IN_TF32)
using in_t = cutlass::tfloat32_t;
using tensor_shape = cutlass::gemm::GemmShape<16, 8, 8>;
#elif defined(IN_I8)
using in_t = int8_t;
using tensor_shape = cutlass::gemm::GemmShape<16, 8, 32>;
#else
using in_t = float;
#define SIMT
#endif

/* What is summed and stored, and what multiplies: whole numbers saturate in CUTLASS. */
#if defined(IN_I8)
using sum_t = int32_t;
using multiply = cutlass::arch::OpMultiplyAddSaturate;
#else
using sum_t = float;
using multiply = cutlass::arch::OpMultiplyAdd;
#endif

using row_major = cutlass::layout::RowMajor;
using block_tile = cutlass::gemm::GemmShape<BM, BN, BK>;
using warp_tile = cutlass::gemm::GemmShape<WM, WN, BK>;
using block_swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;

#if defined(SIMT)
/* As our kernels meet them: all row-major. Elements are copied one by one, which is the one
 * way that CUTLASS has here. */
using b_layout = row_major;
using tensor_shape = cutlass::gemm::GemmShape<1, 1, 1>;
using op_class = cutlass::arch::OpClassSimt;
enum { ALIGNMENT = 1, STORED = 1 };
#else
/* Both operands contiguous along k, 16 bytes a copy, as tensor cores like it best. */
using b_layout = cutlass::layout::ColumnMajor;
using op_class = cutlass::arch::OpClassTensorOp;
enum { ALIGNMENT = 16 / sizeof(in_t), STORED = 4 };
#endif

#if defined(SIMT) && STAGES == 2
using architecture = cutlass::arch::Sm50;
#else
using architecture = cutlass::arch::Sm80;
#endif

using epilogue_op = cutlass::epilogue::thread::LinearCombination<sum_t, STORED, sum_t, sum_t>;
using multiply_all = cutlass::gemm::kernel::DefaultGemm<in_t, row_major, ALIGNMENT, in_t, b_layout, ALIGNMENT, sum_t,
                                                row_major, sum_t, op_class, architecture, block_tile, warp_tile,
                                                tensor_shape, epilogue_op, block_swizzle, STAGES, false, multiply>::GemmKernel;

template __global__ void cutlass::Kernel<multiply_all>(multiply_all::Params);

#define THREADS multiply_all::kThreadCount
#define SHARED_BYTES sizeof(multiply_all::SharedStorage)
