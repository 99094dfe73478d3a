/* SPDX-License-Identifier: Apache-2.0 */
/* cutlass_kernel.cu - one GEMM of CUTLASS and a small kernel that prepares its launch; see cutlass.sh.
 *
 * The macros say which GEMM: IN (element of A and B), OUT (of C and D), SUM (accumulator), LAYOUT_A and LAYOUT_B, OPERATOR
 * and ARCHITECTURE (CUTLASS's tags), BLOCK, WARP and INSTRUCTION (shapes), STAGES, ALIGNMENT (elements of A and B per
 * copy), STORED (elements of D per store), SPLIT (slices of k), MULTIPLY (CUTLASS's tag of the operation) and GEMM (Gemm or
 * SparseGemm).
 *
 * CUTLASS computes a kernel's parameters by constructors that exist for the host and for the device. `prepare` calls them
 * in the emulator, so that the test is free of C++ on the host. */
#include "cutlass/gemm/device/gemm.h"
#include "cutlass/gemm/device/gemm_sparse.h"

using cutlass::gemm::GemmShape;
using cutlass::layout::ColumnMajor;
using cutlass::layout::RowMajor;
using namespace cutlass::arch;

using gemm = cutlass::gemm::device::GEMM<IN, LAYOUT_A, IN, LAYOUT_B, OUT, RowMajor, SUM, OPERATOR, ARCHITECTURE, BLOCK,
                                         WARP, INSTRUCTION,
                                         cutlass::epilogue::thread::LinearCombination<OUT, STORED, SUM, SUM>,
                                         cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, STAGES,
                                         ALIGNMENT, ALIGNMENT, (SPLIT > 1), MULTIPLY>;
using kernel = gemm::GemmKernel;

template __global__ void cutlass::Kernel<kernel>(kernel::Params);

/* What prepare() is told and returns; cutlass.c has the same struct. */
struct launch_t {
    int m, n, k;
    unsigned long long a, b, c, d, metadata, workspace;
    double alpha, beta;
    int grid[3], threads, shared_bytes, parameter_bytes, is_column_major_a, is_column_major_b;
    char parameters[4096];
};

/* The two kinds of GEMM differ in one parameter, and in the columns of A in memory. */
template <class kernel_t> struct make_parameters {
    static __device__ typename kernel_t::Params of(const launch_t *launch, cutlass::gemm::GemmCoord size,
                                                   cutlass::gemm::GemmCoord grid, int stride_a, int stride_b)
    {
        return {size, grid, {(IN *)launch->a, stride_a}, {(IN *)launch->b, stride_b}, {(OUT *)launch->c, launch->n},
                {(OUT *)launch->d, launch->n}, {SUM(launch->alpha), SUM(launch->beta)}, (int *)launch->workspace};
    }
};

template <class mma_t, class epilogue_t, class swizzle_t, bool splits>
struct make_parameters<cutlass::gemm::kernel::SparseGemm<mma_t, epilogue_t, swizzle_t, splits>> {
    using kernel_t = cutlass::gemm::kernel::SparseGemm<mma_t, epilogue_t, swizzle_t, splits>;

    static __device__ typename kernel_t::Params of(const launch_t *launch, cutlass::gemm::GemmCoord size,
                                                   cutlass::gemm::GemmCoord grid, int stride_a, int stride_b)
    {
        using metadata_t = typename kernel_t::ElementE;
        return {size, grid, {(IN *)launch->a, stride_a / kernel_t::kSparse}, {(IN *)launch->b, stride_b},
                {(OUT *)launch->c, launch->n}, {(OUT *)launch->d, launch->n}, {(metadata_t *)launch->metadata, 2 * launch->m},
                {SUM(launch->alpha), SUM(launch->beta)}, (int *)launch->workspace};
    }
};

extern "C" __global__ void prepare(launch_t *launch)
{
    static_assert(sizeof(kernel::Params) <= sizeof launch->parameters, "make launch_t.parameters larger");
    cutlass::gemm::GemmCoord size(launch->m, launch->n, launch->k);
    cutlass::gemm::GemmCoord grid = gemm::ThreadblockSwizzle::get_tiled_shape(
        size, {BLOCK::kM, BLOCK::kN, BLOCK::kK}, SPLIT);
    bool is_column_a = cutlass::platform::is_same<LAYOUT_A, ColumnMajor>::value;
    bool is_column_b = cutlass::platform::is_same<LAYOUT_B, ColumnMajor>::value;
    kernel::Params parameters = make_parameters<kernel>::of(launch, size, grid, is_column_a ? launch->m : launch->k,
                                                            is_column_b ? launch->k : launch->n);
    dim3 blocks = gemm::ThreadblockSwizzle::get_grid_shape(grid);
    launch->grid[0] = blocks.x;
    launch->grid[1] = blocks.y;
    launch->grid[2] = blocks.z;
    launch->threads = kernel::kThreadCount;
    launch->shared_bytes = sizeof(kernel::SharedStorage);
    launch->parameter_bytes = sizeof parameters;
    launch->is_column_major_a = is_column_a;
    launch->is_column_major_b = is_column_b;
    *(kernel::Params *)launch->parameters = parameters;
}
