/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensor_maps.c - cuTensorMapEncodeTiled of the emulated driver: valid and invalid arguments, and the tile that a kernel
 * copies with a map. */
#include "driver_unit.h"

enum { COLUMNS = 20, ROWS = 10, PITCH = 96, BOX_COLUMNS = 8, BOX_ROWS = 8 };

/* The arguments of cuTensorMapEncodeTiled. */
typedef struct tensor {
    CUtensorMap *map;
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    cuuint64_t sizes[5], strides[4];
    cuuint32_t box[5], steps[5];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
} tensor_t;

/* Returns a valid matrix of float. */
static tensor_t valid_tensor(CUtensorMap *map, CUdeviceptr address)
{
    return (tensor_t){.map = map,
                      .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                      .rank = 2,
                      .address = (void *)(uintptr_t)address,
                      .sizes = {COLUMNS, ROWS, 1, 1, 1},
                      .strides = {PITCH, PITCH * ROWS, PITCH * ROWS, PITCH * ROWS},
                      .box = {BOX_COLUMNS, BOX_ROWS, 1, 1, 1},
                      .steps = {1, 1, 1, 1, 1}};
}

static CUresult encode(const tensor_t *tensor)
{
    return cuTensorMapEncodeTiled(tensor->map, tensor->type, tensor->rank, tensor->address, tensor->sizes,
                                  tensor->strides, tensor->box, tensor->steps, tensor->interleave, tensor->swizzle,
                                  tensor->promotion, tensor->fill);
}

/* ---- Arguments ---------------------------------------------------------------------------------------------------- */

enum { ADDRESS = 1 << 20 };

static void valid_arguments_are_accepted(void **state)
{
    (void)state;
    CUtensorMap map;
    for (cuuint32_t rank = 1; rank <= 5; rank++) {
        tensor_t tensor = valid_tensor(&map, ADDRESS);
        tensor.rank = rank;
        assert_good(encode(&tensor));
    }
    for (int type = CU_TENSOR_MAP_DATA_TYPE_UINT8; type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ; type++) {
        tensor_t tensor = valid_tensor(&map, ADDRESS);
        tensor.type = (CUtensorMapDataType)type;
        tensor.box[0] = 16;
        assert_good(encode(&tensor));
    }
    for (int swizzle = CU_TENSOR_MAP_SWIZZLE_NONE; swizzle <= CU_TENSOR_MAP_SWIZZLE_128B; swizzle++) {
        tensor_t tensor = valid_tensor(&map, ADDRESS);
        tensor.swizzle = (CUtensorMapSwizzle)swizzle;
        assert_good(encode(&tensor));
    }
    tensor_t tensor = valid_tensor(&map, ADDRESS);
    tensor.sizes[0] = UINT64_C(1) << 32;
    tensor.strides[0] = (UINT64_C(1) << 40) - 16;
    tensor.box[0] = tensor.box[1] = 256;
    tensor.steps[1] = 8;
    tensor.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    tensor.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    assert_good(encode(&tensor));
    assert_good(cuTensorMapEncodeTiled(&map, tensor.type, 1, tensor.address, tensor.sizes, NULL, tensor.box,
                                       tensor.steps, tensor.interleave, tensor.swizzle, tensor.promotion, tensor.fill));
}

/* Makes a valid tensor invalid in one way. Returns false behind the last one. */
static bool spoil(tensor_t *tensor, int how)
{
    switch (how) {
    case 0: tensor->map = NULL; break;
    case 1: tensor->map = (CUtensorMap *)(void *)((char *)tensor->map + 16); break; /* aligned to 64 bytes */
    case 2: tensor->rank = 0; break;
    case 3: tensor->rank = 6; break;
    case 4: tensor->address = (void *)(uintptr_t)(ADDRESS + 8); break;
    case 5: tensor->address = NULL; break;
    case 6: tensor->sizes[1] = 0; break;
    case 7: tensor->sizes[0] = (UINT64_C(1) << 32) + 1; break;
    case 8: tensor->strides[0] = PITCH + 8; break;
    case 9: tensor->strides[0] = UINT64_C(1) << 40; break;
    case 10: tensor->box[1] = 0; break;
    case 11: tensor->box[1] = 257; break;
    case 12: tensor->box[0] = 3; break; /* 12 bytes: not a multiple of 16 */
    case 13: tensor->steps[1] = 0; break;
    case 14: tensor->steps[1] = 9; break;
    case 15: /* a row of 64 bytes is longer than the swizzle's */
        tensor->swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
        tensor->box[0] = 16;
        break;
    case 16: tensor->type = (CUtensorMapDataType)(CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B + 1); break;
    case 17: tensor->type = (CUtensorMapDataType)-1; break;
    case 18: tensor->interleave = (CUtensorMapInterleave)(CU_TENSOR_MAP_INTERLEAVE_32B + 1); break;
    case 19: tensor->swizzle = (CUtensorMapSwizzle)(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B + 1); break;
    case 20: tensor->promotion = (CUtensorMapL2promotion)(CU_TENSOR_MAP_L2_PROMOTION_L2_256B + 1); break;
    case 21: tensor->fill = (CUtensorMapFloatOOBfill)2; break;
    case 22: /* integers have no NaN */
        tensor->type = CU_TENSOR_MAP_DATA_TYPE_INT32;
        tensor->fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
        break;
    default: return false;
    }
    return true;
}

static void invalid_arguments_are_rejected(void **state)
{
    (void)state;
    CUtensorMap maps[2];
    tensor_t tensor = valid_tensor(maps, ADDRESS);
    for (int how = 0; spoil(&tensor, how); how++, tensor = valid_tensor(maps, ADDRESS))
        if (encode(&tensor) != CUDA_ERROR_INVALID_VALUE)
            fail_msg("case %d: %d instead of CUDA_ERROR_INVALID_VALUE", how, (int)encode(&tensor));
    for (int missing = 0; missing < 4; missing++)
        assert_cuda(cuTensorMapEncodeTiled(maps, tensor.type, 2, tensor.address, missing == 0 ? NULL : tensor.sizes,
                                           missing == 1 ? NULL : tensor.strides, missing == 2 ? NULL : tensor.box,
                                           missing == 3 ? NULL : tensor.steps, tensor.interleave, tensor.swizzle,
                                           tensor.promotion, tensor.fill),
                    CUDA_ERROR_INVALID_VALUE);
}

static void what_the_emulator_lacks_is_named(void **state)
{
    (void)state;
    CUtensorMap map;
    tensor_t tensor = valid_tensor(&map, ADDRESS);
    tensor.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
    assert_cuda(encode(&tensor), CUDA_ERROR_NOT_SUPPORTED);
    tensor = valid_tensor(&map, ADDRESS);
    tensor.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
    assert_cuda(encode(&tensor), CUDA_ERROR_NOT_SUPPORTED);
    tensor = valid_tensor(&map, ADDRESS);
    tensor.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
    assert_cuda(encode(&tensor), CUDA_ERROR_NOT_SUPPORTED);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------- */

/* Copies the box at (x, y) to shared memory and from there to `out`, with one thread. */
static const char tile_kernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
    ".shared .align 128 .b8 box[256];\n.shared .align 8 .b8 bar[8];\n"
    "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [out];\n"
    "ld.param.u32 %r1, [x];\nld.param.u32 %r2, [y];\nmov.u32 %r3, box;\nmov.u32 %r4, bar;\n"
    "mbarrier.init.shared.b64 [%r4], 1;\nfence.proxy.async.shared::cta;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 256;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r1, %r2}], [%r4];\n"
    "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;\n@!%p1 bra WAIT;\n"
    "mov.u32 %r5, 0;\nCOPY:\nld.shared.u32 %r6, [%r3];\nst.global.u32 [%rd2], %r6;\n"
    "add.u32 %r3, %r3, 4;\nadd.u64 %rd2, %rd2, 4;\nadd.u32 %r5, %r5, 1;\n"
    "setp.lt.u32 %p1, %r5, 64;\n@%p1 bra COPY;\nret;\n}\n";

static float element(int column, int row)
{
    bool is_inside = column >= 0 && column < COLUMNS && row >= 0 && row < ROWS;
    return is_inside ? (float)(1 + column + 100 * row) : 0.0f;
}

static void expect_tile(CUfunction function, CUdeviceptr from, CUdeviceptr out, CUtensorMapSwizzle swizzle, int x,
                        int y)
{
    CUtensorMap map;
    float tile[BOX_COLUMNS * BOX_ROWS];
    tensor_t tensor = valid_tensor(&map, from);
    tensor.swizzle = swizzle;
    assert_good(encode(&tensor));
    void *arguments[] = {&map, &out, &x, &y};
    assert_good(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    assert_good(cuMemcpyDtoH_v2(tile, out, sizeof tile));
    for (int row = 0; row < BOX_ROWS; row++)
        for (int column = 0; column < BOX_COLUMNS; column++) {
            int offset = 4 * (row * BOX_COLUMNS + column);
            if (swizzle == CU_TENSOR_MAP_SWIZZLE_32B)
                offset ^= (offset >> 7 & 1) << 4; /* the second 128 bytes exchange their chunks of 16 bytes */
            float found = tile[offset / 4];
            if (found != element(x + column, y + row))
                fail_msg("(%d, %d) of the box at (%d, %d) is %g, expected %g", column, row, x, y, (double)found,
                         (double)element(x + column, y + row));
        }
}

static void a_kernel_copies_the_tile(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction function;
    CUdeviceptr from, out;
    float rows[ROWS * PITCH / sizeof(float)];
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < PITCH / (int)sizeof(float); column++)
            rows[row * PITCH / (int)sizeof(float) + column] = column < COLUMNS ? element(column, row) : -1.0f;
    assert_good(cuModuleLoadData(&module, tile_kernel));
    assert_good(cuModuleGetFunction(&function, module, "tile"));
    assert_good(cuMemAlloc_v2(&from, sizeof rows));
    assert_good(cuMemAlloc_v2(&out, BOX_COLUMNS * BOX_ROWS * sizeof(float)));
    assert_good(cuMemcpyHtoD_v2(from, rows, sizeof rows));
    expect_tile(function, from, out, CU_TENSOR_MAP_SWIZZLE_NONE, 4, 3);
    expect_tile(function, from, out, CU_TENSOR_MAP_SWIZZLE_NONE, 16, 8); /* partly outside */
    expect_tile(function, from, out, CU_TENSOR_MAP_SWIZZLE_NONE, -3, -2);
    expect_tile(function, from, out, CU_TENSOR_MAP_SWIZZLE_32B, 8, 0);
    assert_good(cuMemFree_v2(from));
    assert_good(cuMemFree_v2(out));
    assert_good(cuModuleUnload(module));
}

#define fresh(test) cmocka_unit_test_setup_teardown(test, driver_begin, driver_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh(valid_arguments_are_accepted),
        fresh(invalid_arguments_are_rejected),
        fresh(what_the_emulator_lacks_is_named),
        fresh(a_kernel_copies_the_tile),
    };
    unit_clean_environment();
    setenv("RUNG_EMULATED_ARCH", "90", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
