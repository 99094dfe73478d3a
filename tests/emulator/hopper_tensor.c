/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_tensor.c - tensor copies of hopper_tensor.cu against a reference that follows the pictures of the PTX manual: boxes of
 * one to five dimensions, steps, elements outside of the tensor, and every swizzle. */
#include "hopper_run.h"

#include "emulator/machine/tensor_map.h"

/* A tensor, its box and where the box is. Unused dimensions have size 1. */
typedef struct shape {
    const char *name;
    uint32_t rank, type, swizzle;
    uint64_t sizes[5], strides[4]; /* strides in bytes */
    uint32_t box[5], steps[5];
    int32_t at[5];
    bool fills_nan;
} shape_t;

static const shape_t shapes[] = {
    {"1d", 1, PTX_TENSOR_S32, 0, {100, 1, 1, 1, 1}, {0}, {64, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {20}, false},
    {"1d, end", 1, PTX_TENSOR_U8, 0, {100, 1, 1, 1, 1}, {0}, {64, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {70}, false},
    {"2d", 2, PTX_TENSOR_F16, 0, {100, 40, 1, 1, 1}, {208}, {64, 16, 1, 1, 1}, {1, 1, 1, 1, 1}, {16, 8}, false},
    {"2d, 32B", 2, PTX_TENSOR_F16, 1, {100, 40, 1, 1, 1}, {208}, {16, 32, 1, 1, 1}, {1, 1, 1, 1, 1}, {16, 3}, false},
    {"2d, 64B", 2, PTX_TENSOR_F16, 2, {100, 40, 1, 1, 1}, {208}, {32, 32, 1, 1, 1}, {1, 1, 1, 1, 1}, {16, 3}, false},
    {"2d, 128B", 2, PTX_TENSOR_F16, 3, {100, 40, 1, 1, 1}, {208}, {64, 32, 1, 1, 1}, {1, 1, 1, 1, 1}, {16, 3}, false},
    {"2d, 128B, f32",
     2,
     PTX_TENSOR_F32,
     3,
     {100, 40, 1, 1, 1},
     {400},
     {32, 24, 1, 1, 1},
     {1, 1, 1, 1, 1},
     {1, 3},
     false},
    {"2d, outside",
     2,
     PTX_TENSOR_F16,
     3,
     {100, 40, 1, 1, 1},
     {208},
     {64, 32, 1, 1, 1},
     {1, 1, 1, 1, 1},
     {-7, 20},
     false},
    {"2d, outside",
     2,
     PTX_TENSOR_F16,
     2,
     {100, 40, 1, 1, 1},
     {208},
     {32, 32, 1, 1, 1},
     {1, 1, 1, 1, 1},
     {90, -5},
     false},
    {"2d, NaN", 2, PTX_TENSOR_F16, 0, {100, 40, 1, 1, 1}, {208}, {64, 16, 1, 1, 1}, {1, 1, 1, 1, 1}, {80, 36}, true},
    {"2d, steps", 2, PTX_TENSOR_S32, 3, {100, 40, 1, 1, 1}, {400}, {32, 16, 1, 1, 1}, {1, 3, 1, 1, 1}, {4, 5}, false},
    {"3d", 3, PTX_TENSOR_U8, 3, {200, 10, 9, 1, 1}, {208, 2080}, {128, 4, 5, 1, 1}, {1, 1, 1, 1, 1}, {9, 8, 2}, false},
    {"4d",
     4,
     PTX_TENSOR_BF16,
     2,
     {40, 5, 6, 7, 1},
     {80, 400, 2400},
     {32, 3, 2, 4, 1},
     {1, 1, 1, 1, 1},
     {3, 1, 4, 5},
     false},
    {"5d",
     5,
     PTX_TENSOR_F64,
     1,
     {8, 3, 4, 5, 3},
     {64, 192, 768, 3840},
     {4, 2, 3, 2, 2},
     {1, 1, 1, 2, 1},
     {1, 0, -1, 2, 2},
     false},
};

/* Chunks of 16 bytes in rows of 128 bytes, from the manual's pictures of the swizzling modes. */
static const uint8_t pictures[4][8][8] = {{{0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {0, 1, 2, 3, 4, 5, 6, 7}},
                                          {{0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6}},
                                          {{0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6},
                                           {2, 3, 0, 1, 6, 7, 4, 5},
                                           {3, 2, 1, 0, 7, 6, 5, 4},
                                           {0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6},
                                           {2, 3, 0, 1, 6, 7, 4, 5},
                                           {3, 2, 1, 0, 7, 6, 5, 4}},
                                          {{0, 1, 2, 3, 4, 5, 6, 7},
                                           {1, 0, 3, 2, 5, 4, 7, 6},
                                           {2, 3, 0, 1, 6, 7, 4, 5},
                                           {3, 2, 1, 0, 7, 6, 5, 4},
                                           {4, 5, 6, 7, 0, 1, 2, 3},
                                           {5, 4, 7, 6, 1, 0, 3, 2},
                                           {6, 7, 4, 5, 2, 3, 0, 1},
                                           {7, 6, 5, 4, 3, 2, 1, 0}}};

enum { TENSOR_BYTES = 32768, BOX_BYTES = 8192 };

static int element_bytes(const shape_t *shape)
{
    return rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)shape->type);
}

/* Positions of the box in dimension i. */
static uint32_t count_of(const shape_t *shape, int i)
{
    return i == 0 ? shape->box[0] : (shape->box[i] + shape->steps[i] - 1) / shape->steps[i];
}

static uint32_t box_elements(const shape_t *shape)
{
    uint32_t count = 1;
    for (int i = 0; i < 5; i++)
        count *= count_of(shape, i);
    return count;
}

/* Returns the byte offset in the tensor of element `index` of the box, or -1 outside. */
static int64_t tensor_offset(const shape_t *shape, uint32_t index)
{
    int64_t offset = 0;
    for (int i = 0; i < 5; i++) {
        int64_t at = shape->at[i] + (int64_t)(index % count_of(shape, i)) * (i == 0 ? 1 : shape->steps[i]);
        if (at < 0 || at >= (int64_t)shape->sizes[i])
            return -1;
        offset += at * (i == 0 ? element_bytes(shape) : i < (int)shape->rank ? (int64_t)shape->strides[i - 1] : 0);
        index /= count_of(shape, i);
    }
    return offset;
}

/* Returns the byte offset in shared memory of element `index` of the box: chunk c of the picture's row is at the column where
 * the picture shows c. */
static uint32_t shared_offset(const shape_t *shape, uint32_t index)
{
    uint32_t plain = index * (uint32_t)element_bytes(shape), row = plain / 128, chunk = plain % 128 / 16, column = 0;
    while (pictures[shape->swizzle][row % 8][column] != chunk)
        column++;
    return row * 128 + column * 16 + plain % 16;
}

/* The arguments of both kernels. */
typedef struct arguments {
    ptx_tensor_map_t map;
    int32_t at[5];
    uint64_t address;
    int32_t bytes, rank;
} arguments_t;

static void launch(const hopper_t *hopper, const shape_t *shape, const char *kernel, int bug, uint64_t tensor,
                   uint64_t memory)
{
    const hopper_case_t test = {kernel, bug, RUNG_EMULATOR_ASYNC_COPY, 64, {1}, {0}, false};
    const ptx_tensor_t description = {.address = tensor,
                                      .sizes = shape->sizes,
                                      .strides = shape->strides,
                                      .box = shape->box,
                                      .steps = shape->steps,
                                      .rank = shape->rank,
                                      .type = shape->type,
                                      .swizzle = shape->swizzle,
                                      .fills_nan = shape->fills_nan};
    arguments_t values = {.address = memory, .rank = (int32_t)shape->rank};
    assert_true(rungi_ptx_tensor_is_valid(&description));
    rungi_ptx_tensor_encode(&description, &values.map);
    memcpy(values.at, shape->at, sizeof values.at);
    values.bytes = (int32_t)box_elements(shape) * element_bytes(shape);
    void *arguments[] = {&values.map, values.at, &values.address, &values.bytes, &values.rank};
    hopper_launch(hopper, &test, arguments, BOX_BYTES);
    if (bug != 2)
        hopper_judge(hopper, &test);
}

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 8 & 0x3f); /* finite in every type */
}

static void loads_are_right(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int checks = 0; checks < 2; checks++) {
            const shape_t *shape = &shapes[s];
            unsigned char tensor[TENSOR_BYTES], out[BOX_BYTES], zeros[8] = {0};
            int size = element_bytes(shape);
            hopper_t hopper = hopper_create("hopper_tensor", checks ? RUNG_EMULATOR_CHECK_ALL : 0, 1);
            fill(tensor, sizeof tensor, (unsigned)s);
            uint64_t from = hopper_allocate(&hopper, "tensor", tensor, sizeof tensor);
            uint64_t to = hopper_allocate(&hopper, "out", NULL, sizeof out);
            launch(&hopper, shape, "load_box", 0, from, to);
            assert_int_equal(rung_emulator_read(hopper.emulator, to, out, sizeof out), RUNG_OK);
            for (uint32_t i = 0; i < box_elements(shape); i++) {
                int64_t offset = tensor_offset(shape, i);
                const unsigned char nan[] = {0xff, 0x7f}, *expected = offset >= 0        ? tensor + offset
                                                                      : shape->fills_nan ? nan
                                                                                         : zeros;
                if (memcmp(out + shared_offset(shape, i), expected, (size_t)size) != 0)
                    fail_msg("%s: element %u is wrong", shape->name, i);
            }
            hopper_destroy(&hopper);
        }
}

static void stores_are_right(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const shape_t *shape = &shapes[s];
        unsigned char tensor[TENSOR_BYTES], expected[TENSOR_BYTES], box[BOX_BYTES];
        size_t size = (size_t)element_bytes(shape);
        hopper_t hopper = hopper_create("hopper_tensor", RUNG_EMULATOR_CHECK_ALL, 1);
        fill(expected, sizeof expected, 7);
        fill(box, sizeof box, (unsigned)s);
        uint64_t to = hopper_allocate(&hopper, "tensor", expected, sizeof expected);
        uint64_t from = hopper_allocate(&hopper, "in", box, sizeof box);
        for (uint32_t i = 0; i < box_elements(shape); i++)
            if (tensor_offset(shape, i) >= 0)
                memcpy(expected + tensor_offset(shape, i), box + shared_offset(shape, i), size);
        launch(&hopper, shape, "store_box", 0, to, from);
        assert_int_equal(rung_emulator_read(hopper.emulator, to, tensor, sizeof tensor), RUNG_OK);
        for (size_t i = 0; i < sizeof tensor; i++)
            if (tensor[i] != expected[i])
                fail_msg("%s: byte %zu of the tensor is wrong", shape->name, i);
        hopper_destroy(&hopper);
    }
}

/* Variant 2 stores the box and adds it again. */
static void sums_are_right(void **state)
{
    (void)state;
    const shape_t shape = {"sum",           2,       PTX_TENSOR_S32, 3, {64, 16, 1, 1, 1}, {256}, {32, 8, 1, 1, 1},
                           {1, 1, 1, 1, 1}, {40, 4}, false};
    int32_t box[BOX_BYTES / 4], tensor[TENSOR_BYTES / 4];
    hopper_t hopper = hopper_create("hopper_tensor", 0, 1);
    for (int i = 0; i < BOX_BYTES / 4; i++)
        box[i] = 3 * i - 100;
    uint64_t to = hopper_allocate(&hopper, "tensor", NULL, sizeof tensor);
    uint64_t from = hopper_allocate(&hopper, "in", box, sizeof box);
    launch(&hopper, &shape, "store_box", 2, to, from);
    assert_int_equal(rung_emulator_read(hopper.emulator, to, tensor, sizeof tensor), RUNG_OK);
    for (uint32_t i = 0; i < box_elements(&shape); i++)
        if (tensor_offset(&shape, i) >= 0)
            assert_int_equal(tensor[tensor_offset(&shape, i) / 4], 2 * box[shared_offset(&shape, i) / 4]);
    hopper_destroy(&hopper);
}

static void bugs_are_found(void **state)
{
    (void)state;
    static const char *const kernels[] = {"load_box", "store_box"};
    for (int i = 0; i < 2; i++) {
        unsigned char tensor[TENSOR_BYTES];
        hopper_t hopper = hopper_create("hopper_tensor", RUNG_EMULATOR_CHECK_ALL, 1);
        fill(tensor, sizeof tensor, 1);
        uint64_t first = hopper_allocate(&hopper, "tensor", tensor, sizeof tensor);
        uint64_t second = hopper_allocate(&hopper, "memory", tensor, BOX_BYTES);
        launch(&hopper, &shapes[5], kernels[i], 1, first, second);
        hopper_destroy(&hopper);
    }
}

/* Each byte of the 16 rows of 128 bytes is counted once. */
static void loads_are_counted(void **state)
{
    (void)state;
    const shape_t shape = {
        "2d", 2, PTX_TENSOR_F16, 3, {128, 40, 1, 1, 1}, {256}, {64, 16, 1, 1, 1}, {1, 1, 1, 1, 1}, {64, 8}, false};
    static unsigned char tensor[TENSOR_BYTES];
    hopper_t hopper = hopper_create("hopper_tensor", 0, 1);
    assert_int_equal(rung_emulator_set_checks(hopper.emulator, 0, true), RUNG_OK);
    uint64_t from = hopper_allocate(&hopper, "tensor", tensor, sizeof tensor);
    uint64_t to = hopper_allocate(&hopper, "out", NULL, BOX_BYTES);
    launch(&hopper, &shape, "load_box", 0, from, to);
    const rung_emulator_totals *totals = rung_emulator_get_totals(hopper.emulator, NULL);
    assert_non_null(totals);
    assert_int_equal(totals->global_bytes_read, 16 * 128);
    hopper_destroy(&hopper);
}

/* A map that cuTensorMapEncodeTiled has not written ends the launch. */
static void invalid_maps_are_found(void **state)
{
    (void)state;
    hopper_t hopper = hopper_create("hopper_tensor", 0, 1);
    arguments_t values = {.bytes = 64, .rank = 2};
    void *arguments[] = {&values.map, values.at, &values.address, &values.bytes, &values.rank};
    const hopper_case_t test = {"load_box", 0, 0, 64, {1}, {0}, true};
    hopper_launch(&hopper, &test, arguments, BOX_BYTES);
    assert_non_null(strstr(rung_error_text(), "tensor map"));
    hopper_destroy(&hopper);
}

int main(void)
{
    unit_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_are_right), cmocka_unit_test(stores_are_right),
        cmocka_unit_test(sums_are_right),  cmocka_unit_test(loads_are_counted),
        cmocka_unit_test(bugs_are_found),  cmocka_unit_test(invalid_maps_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
