/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - the compiled kernels that the library carries: each unpacks, parses, is what the
 * table calls it, and uses what the committed table of compiled kernels says. And damaged ones
 * are refused without a byte written out of bounds. */
#include "cuda_unit.h"

#include "cuda/embedded_images.h"
#include "base/lz4.h"
#include "cuda/emulated_driver/image.h"

static unsigned char *unpack(const rungi_cuda_image *image)
{
    unsigned char *code = malloc(image->bytes);
    assert_non_null(code);
    if (!rungi_lz4_decompress(rungi_cuda_image_data + image->offset, image->compressed_bytes, code, image->bytes))
        fail_msg("%s does not unpack", image->name);
    return code;
}

/* ---- What images say of themselves ------------------------------------------------------------- */

static void check_image(const rungi_cuda_image *image, const struct image *parsed)
{
    const image_function_t *function = &parsed->functions[0];
    assert_int_equal(parsed->function_count, 1);
    assert_string_equal(parsed->text, image->name);
    assert_int_equal(parsed->is_ptx, image->is_ptx);
    assert_int_equal(parsed->architecture, image->architecture);
    assert_false(parsed->only_architecture);
    if (image->is_ptx && parsed->ptx_version > 80)
        fail_msg("%s is PTX %d, which a driver of CUDA 12.0 does not take", image->name, parsed->ptx_version);
    assert_true(function->max_threads > 0);
    if (strncmp(image->name, "reduce.cu ", 10) == 0)
        assert_int_equal(function->parameter_count, 17);
    else
        assert_true(function->parameter_count == 11 || function->parameter_count == 16);
}

static void every_image_matches_its_name(void **state)
{
    static struct image parsed;
    int cubins = 0, texts = 0;
    (void)state;
    for (const rungi_cuda_image *image = rungi_cuda_images; image->name; image++) {
        unsigned char *code = unpack(image);
        if (image_parse(code, image->bytes, &parsed) != IMAGE_OK)
            fail_msg("%s sm_%d does not parse", image->name, image->architecture);
        check_image(image, &parsed);
        free(code);
        cubins += !image->is_ptx;
        texts += image->is_ptx;
    }
    print_message("%d cubins, %d PTX\n", cubins, texts);
    assert_true(cubins >= 10 * 30 && texts >= 100);
}

/* A file of the user's may have any path: what it is compiled with stands behind it, whole. */
static void a_long_path_leaves_room_for_defines(void **state)
{
    static char path[4000];
    char name[RUNGI_CUDA_IMAGE_NAME_BYTES];
    rung_context *context = fresh_context("cuda", -1);
    rung_kernel *kernel;
    rungi_parameter_values values;
    (void)state;
    memset(path, 'x', sizeof path - 1);
    memcpy(path + sizeof path - 9, "/long.cu", 8);
    assert_ok(rung_kernel_from_source(context, "cuda", path, "#ifndef STAGES\n#define STAGES 1\n#endif\n", &kernel));
    assert_ok(rungi_kernel_parse_parameters(kernel, "STAGES=12", RUNGI_DEFAULT_IN_BYTES, &values));
    rungi_cuda_image_name(kernel, &values, &(rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32, .bias = true}, name);
    assert_non_null(strstr(name, "/long.cu -DSTAGES=12 -DBIAS=1"));
    rung_kernel_destroy(kernel);
    rung_context_destroy(context);
}

/* ---- What they use ------------------------------------------------------------------------------- */

/* A line of the table. Its parameters may be a preset's, which leaves defaults unsaid. */
typedef struct image_row {
    char kernel[32], params[128], dtype[16], path[24];
    int architecture, registers, shared, spills;
} image_row_t;

enum { ROWS_MAX = 16384 };

static image_row_t rows[ROWS_MAX];
static int row_count;

static void read_table(void)
{
    char line[512];
    FILE *file = fopen(COMPILE_TABLE, "r");
    assert_non_null(file);
    while (row_count < ROWS_MAX && fgets(line, sizeof line, file)) {
        image_row_t *row = &rows[row_count];
        row_count += sscanf(line, "%31s %127s %15s %23s sm_%d %d %d %d", row->kernel, row->params, row->dtype,
                            row->path, &row->architecture, &row->registers, &row->shared, &row->spills) == 8;
    }
    fclose(file);
    assert_true(row_count > 1000 && row_count < ROWS_MAX);
}

/* Whether a name has this define, such as "WIDE=1" or "IN_F16". */
static bool has(const char *name, const char *define)
{
    char pattern[64];
    size_t length = (size_t)snprintf(pattern, sizeof pattern, " -D%s", define);
    for (const char *at = strstr(name, pattern); at; at = strstr(at + 1, pattern))
        if (at[length] == ' ' || at[length] == '\0')
            return true;
    return false;
}

static rung_type type_in(const char *name, const char *which)
{
    static const char *const words[] = {[RUNG_F32] = "F32", "F64", "F16", "BF16", "I8", "I32"};
    for (int type = RUNG_F32; type <= RUNG_I32; type++) {
        char define[32];
        snprintf(define, sizeof define, "%s_%s", which, words[type]);
        if (has(name, define))
            return (rung_type)type;
    }
    return RUNG_F32;
}

static const char *path_in(const char *name)
{
    if (has(name, "RUNTIME_FLAGS=1"))
        return "run_time";
    if (!has(name, "WIDE=1"))
        return "-";
    if (has(name, "B_MN_MAJOR=0"))
        return "wide_along_k";
    return has(name, "GUARDED=1") ? "wide_guarded" : "wide";
}

/* Whether the image was compiled with all of these, "BM=64,BN=64". */
static bool has_all(const char *name, const char *params)
{
    for (const char *at = params; *at && *at != '-'; at += strcspn(at, ","), at += *at == ',') {
        char define[64];
        snprintf(define, sizeof define, "%.*s", (int)strcspn(at, ","), at);
        if (!has(name, define))
            return false;
    }
    return true;
}

static const image_row_t *row_of(const rungi_cuda_image *image)
{
    const char *name = image->name, *path = path_in(name);
    const char *dtype = rungi_gemm_types_name(
        rungi_gemm_types_of(type_in(name, "IN"), type_in(name, "IN"), type_in(name, "OUT")));
    size_t length = strcspn(name, ".");
    for (const image_row_t *row = rows; row < rows + row_count; row++)
        if (row->architecture == image->architecture && strlen(row->kernel) == length &&
            strncmp(row->kernel, name, length) == 0 && strcmp(row->dtype, dtype) == 0 && strcmp(row->path, path) == 0 &&
            has_all(name, row->params))
            return row;
    return NULL;
}

/* The compiler's registers differ by a few from run to run. */
static bool agrees(const image_function_t *function, const image_row_t *row)
{
    return abs(function->registers - row->registers) <= 16 && function->shared == row->shared && function->frame == 0 &&
           row->spills == 0;
}

static void cubin_resources_match_the_table(void **state)
{
    static struct image parsed;
    int missing = 0, wrong = 0;
    (void)state;
    read_table();
    for (const rungi_cuda_image *image = rungi_cuda_images; image->name; image++) {
        if (image->is_ptx)
            continue;
        unsigned char *code = unpack(image);
        assert_int_equal(image_parse(code, image->bytes, &parsed), IMAGE_OK);
        free(code);
        const image_row_t *row = row_of(image);
        const image_function_t *function = &parsed.functions[0];
        if (!row && missing++ < 5)
            print_error("the table has no row of %s for sm_%d\n", image->name, image->architecture);
        if (row && !agrees(function, row) && wrong++ < 5)
            print_error("%s for sm_%d: %d registers, %d shared, frame %d; in the table %d, %d, %d\n", image->name,
                        image->architecture, function->registers, function->shared, function->frame, row->registers,
                        row->shared, row->spills);
    }
    if (missing + wrong > 0)
        fail_msg("%d rows are missing, %d are not what the images say", missing, wrong);
}

/* ---- Damage --------------------------------------------------------------------------------------- */

/* In memory of just the right size, so that a checker sees every byte beyond it. */
static bool unpacks(const unsigned char *packed, size_t packed_bytes, size_t bytes)
{
    unsigned char *in = malloc(packed_bytes ? packed_bytes : 1), *out = malloc(bytes ? bytes : 1);
    assert_true(in && out);
    memcpy(in, packed, packed_bytes);
    bool good = rungi_lz4_decompress(in, packed_bytes, out, bytes);
    free(in);
    free(out);
    return good;
}

static void damaged_images_are_refused(void **state)
{
    const rungi_cuda_image *image = rungi_cuda_images;
    uint64_t seed = 77;
    (void)state;
    while (image[1].name && image->compressed_bytes > 9000)
        image++;
    const unsigned char *packed = rungi_cuda_image_data + image->offset;
    assert_true(unpacks(packed, image->compressed_bytes, image->bytes));
    for (size_t i = 0; i < image->compressed_bytes; i += 1 + i / 64)
        assert_false(unpacks(packed, i, image->bytes)); /* cut short */
    assert_false(unpacks(packed, image->compressed_bytes, image->bytes - 1));
    assert_false(unpacks(packed, image->compressed_bytes, image->bytes + 1));
    unsigned char *copy = malloc(image->compressed_bytes);
    assert_non_null(copy);
    for (int i = 0; i < 2000; i++) { /* right or refused, in its bounds */
        memcpy(copy, packed, image->compressed_bytes);
        for (int flips = (int)unit_random(&seed, 4); flips >= 0; flips--)
            copy[unit_random(&seed, (int64_t)image->compressed_bytes)] ^= (unsigned char)(1 << unit_random(&seed, 8));
        unpacks(copy, image->compressed_bytes, image->bytes);
    }
    free(copy);
}

/* Blocks by hand: what an honest packer would never write. */
static void corrupt_compressed_blocks_are_rejected(void **state)
{
    static const struct {
        unsigned char bytes[12];
        size_t length, unpacked;
        bool good;
    } blocks[] = {
        {{0x30, 'a', 'b', 'c'}, 4, 3, true},
        {{0x10, 'a', 1, 0, 0x10, 'b'}, 6, 6, true},  /* a, aaaa, b: the copy overlaps itself */
        {{0x10, 'a', 0, 0, 0x10, 'b'}, 6, 6, false}, /* from no distance */
        {{0x10, 'a', 2, 0, 0x10, 'b'}, 6, 6, false}, /* from before the start */
        {{0x10, 'a', 255, 255, 0x10, 'b'}, 6, 6, false},
        {{0x10, 'a', 1}, 3, 5, false},                     /* half a distance */
        {{0x1f, 'a', 1, 0, 255, 255, 255}, 7, 800, false}, /* a length without end */
        {{0xf0, 255, 255}, 3, 600, false},
        {{0xf0, 0, 'a'}, 3, 15, false},             /* fewer literals than it says */
        {{0x1f, 'a', 1, 0, 200, 0}, 6, 100, false}, /* longer than there is room */
        {{0}, 0, 1, false},
        {{0}, 0, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (unpacks(blocks[i].bytes, blocks[i].length, blocks[i].unpacked) != blocks[i].good)
            fail_msg("block %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_image_matches_its_name),           cmocka_unit_test(a_long_path_leaves_room_for_defines),
        cmocka_unit_test(cubin_resources_match_the_table),        cmocka_unit_test(damaged_images_are_refused),
        cmocka_unit_test(corrupt_compressed_blocks_are_rejected),
    };
    if (!rungi_cuda_images->name) {
        puts("skipped: built without NVRTC, the library carries no images");
        return UNIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
