/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_cutlass.cu - a GEMM of CUTLASS 3 for sm_90 on the emulated driver: tensor copies, multicast, clusters, mbarrier
 * pipelines and wgmma, unmodified. hopper_cutlass.sh compiles it once per CONFIGURATION and passes the PTX file.
 * Elements are small integers, so that the result is exact. */
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"

using namespace cute;
using cutlass::layout::ColumnMajor;
using cutlass::layout::RowMajor;

/* ---- Configurations ------------------------------------------------------------------------------------------------ */

template <class Input_, class Output_, class Sum_, class Tile_, class Cluster_, class Schedule_, class Epilogue_, class LayoutA_,
          class LayoutB_>
struct configuration {
    using Input = Input_;
    using Output = Output_;
    using Sum = Sum_;
    using Tile = Tile_;
    using Cluster = Cluster_;
    using Schedule = Schedule_;
    using Epilogue = Epilogue_;
    using LayoutA = LayoutA_;
    using LayoutB = LayoutB_;
};

using Basic = cutlass::gemm::KernelTmaWarpSpecialized;
using BasicEpilogue = cutlass::epilogue::TmaWarpSpecialized;
using One = Shape<_1, _1, _1>;
#if CONFIGURATION == 0
using Config = configuration<cutlass::half_t, float, float, Shape<_64, _64, _64>, One, Basic, BasicEpilogue, RowMajor, ColumnMajor>;
#elif CONFIGURATION == 1
using Config = configuration<cutlass::half_t, float, float, Shape<_64, _64, _64>, Shape<_2, _1, _1>,
                             cutlass::gemm::KernelTmaWarpSpecializedPingpong, BasicEpilogue, RowMajor, ColumnMajor>;
#elif CONFIGURATION == 2
using Config = configuration<cutlass::bfloat16_t, cutlass::bfloat16_t, float, Shape<_128, _128, _64>, Shape<_2, _2, _1>,
                             cutlass::gemm::KernelTmaWarpSpecializedCooperative,
                             cutlass::epilogue::TmaWarpSpecializedCooperative, ColumnMajor, RowMajor>;
#elif CONFIGURATION == 3
using Config = configuration<cutlass::tfloat32_t, float, float, Shape<_64, _64, _32>, One, Basic, BasicEpilogue, RowMajor,
                             ColumnMajor>;
#elif CONFIGURATION == 4
using Config = configuration<int8_t, int32_t, int32_t, Shape<_64, _128, _128>, Shape<_1, _2, _1>, Basic, BasicEpilogue, RowMajor,
                             ColumnMajor>;
#else
using Config = configuration<cutlass::float_e4m3_t, cutlass::half_t, float, Shape<_64, _128, _128>, One, Basic, BasicEpilogue,
                             RowMajor, ColumnMajor>;
#endif

using Input = Config::Input;
using Output = Config::Output;
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Config::Tile, Config::Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, Config::Sum, Config::Sum, Output, RowMajor, 16 / sizeof(Output), Output,
    RowMajor, 16 / sizeof(Output), Config::Epilogue>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Input, Config::LayoutA, 16 / sizeof(Input), Input, Config::LayoutB,
    16 / sizeof(Input), Config::Sum, Config::Tile, Config::Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<(int)sizeof(typename Epilogue::SharedStorage)>,
    Config::Schedule>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
template __global__ void cutlass::device_kernel<Kernel>(CUTLASS_GRID_CONSTANT typename Kernel::Params const);

/* ---- The driver ---------------------------------------------------------------------------------------------------- */

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    std::printf("%s: error %d\n", call, (int)result);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

template <class T> static CUdeviceptr upload(const std::vector<T> &values)
{
    CUdeviceptr address;
    CHECK(cuMemAlloc(&address, values.size() * sizeof(T)));
    CHECK(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)));
    return address;
}

/* Loads the PTX file and returns its only kernel. */
static CUfunction load(const char *path)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::string ptx = text.str();
    size_t name = ptx.find_first_not_of(" \n\t", ptx.find(".entry") + 6);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr));
    CHECK(cuModuleGetFunction(&function, module, ptx.substr(name, ptx.find('(', name) - name).c_str()));
    return function;
}

static void launch(CUfunction function, const typename Kernel::Params &parameters)
{
    dim3 grid = Kernel::get_grid_shape(parameters), block = Kernel::get_block_shape();
    CUlaunchAttribute attribute = {};
    CUlaunchConfig config = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = size<0>(Config::Cluster{});
    attribute.value.clusterDim.y = size<1>(Config::Cluster{});
    attribute.value.clusterDim.z = 1;
    config.gridDimX = grid.x, config.gridDimY = grid.y, config.gridDimZ = grid.z;
    config.blockDimX = block.x, config.blockDimY = block.y, config.blockDimZ = block.z;
    config.sharedMemBytes = Kernel::SharedStorageSize;
    config.attrs = &attribute;
    config.numAttrs = 1;
    void *arguments[] = {(void *)&parameters};
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, Kernel::SharedStorageSize));
    CHECK(cuLaunchKernelEx(&config, function, arguments, nullptr));
    CHECK(cuCtxSynchronize());
}

/* ---- The product --------------------------------------------------------------------------------------------------- */

static int value_a(int row, int k)
{
    return (row * 7 + k * 3) % 5 - 2;
}
static int value_b(int column, int k)
{
    return (column * 5 + k * 11) % 7 - 3;
}
static int value_c(int index)
{
    return index % 9 - 4;
}

/* D = A * B + 2 * C. Returns the number of wrong elements. */
static long multiply(CUfunction function, int m, int n, int k)
{
    constexpr bool A_BY_ROWS = std::is_same<Config::LayoutA, RowMajor>::value, B_BY_ROWS = std::is_same<Config::LayoutB, RowMajor>::value;
    std::vector<Input> a(m * k), b(n * k);
    std::vector<Output> c(m * n), d(m * n);
    for (int i = 0; i < k; i++) {
        for (int row = 0; row < m; row++)
            a[A_BY_ROWS ? row * k + i : i * m + row] = Input(float(value_a(row, i)));
        for (int column = 0; column < n; column++)
            b[B_BY_ROWS ? i * n + column : column * k + i] = Input(float(value_b(column, i)));
    }
    for (int i = 0; i < m * n; i++)
        c[i] = Output(float(value_c(i)));
    CUdeviceptr device_a = upload(a), device_b = upload(b), device_c = upload(c), device_d = upload(d);
    cutlass::KernelHardwareInfo hardware;
    hardware.sm_count = 4;
    typename Kernel::Arguments arguments{
        cutlass::gemm::GemmUniversalMode::kGemm,
        {m, n, k, 1},
        {(Input *)device_a, cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1}), (Input *)device_b,
         cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1})},
        {{},
         (Output *)device_c,
         cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1}),
         (Output *)device_d,
         cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1})},
        hardware};
    arguments.epilogue.thread.alpha = 1;
    arguments.epilogue.thread.beta = 2;
    if (!Kernel::can_implement(arguments))
        return -1;
    launch(function, Kernel::to_underlying_arguments(arguments, nullptr));
    CHECK(cuMemcpyDtoH(d.data(), device_d, d.size() * sizeof(Output)));
    long wrong = 0;
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            float sum = 2.0f * value_c(row * n + column);
            for (int i = 0; i < k; i++)
                sum += value_a(row, i) * value_b(column, i);
            wrong += float(d[row * n + column]) != float(Output(sum));
        }
    return wrong;
}

int main(int count, char **arguments)
{
    if (count != 5) {
        std::printf("usage: hopper_cutlass FILE.ptx M N K\n");
        return 2;
    }
    int m = std::atoi(arguments[2]), n = std::atoi(arguments[3]), k = std::atoi(arguments[4]);
    long wrong = multiply(load(arguments[1]), m, n, k);
    std::printf("configuration %d, %d x %d x %d: %ld wrong\n", CONFIGURATION, m, n, k, wrong);
    return wrong != 0;
}
