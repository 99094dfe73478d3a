/* SPDX-License-Identifier: Apache-2.0 */
/* block_sizes.c - cache sizes are read correctly from CPUID, the system and RUNG_CPU_CACHES, and block sizes fit them: for
 * the caches of five processors that this machine need not be. */
#define _GNU_SOURCE /* nftw */
#include "support/unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/kernel.h"
#include "cpu/kernels/cpu_kernels.h"

static void must(rung_status status)
{
    if (status != RUNG_OK)
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
}

/* Leaf 4 of Intel's processors, leaf 0x8000001D of AMD's, without the instruction caches' EDX. */
typedef struct processor {
    const char *name;
    rungi_isa isa;
    rungi_cpuid leaf[5];
    rungi_caches caches; /* as the leaf describes them */
    int64_t cores;       /* that share the L3, as the system reports them */
    const char *text;    /* for RUNG_CPU_CACHES */
    int64_t kc[2];       /* of 10_pipeline, for F32 and F64 */
} processor_t;

/* clang-format off */
static const processor_t processors[] = {
    {"Core i7-6700K", RUNGI_ISA_AVX2,
     {{0x1c004121, 0x01c0003f, 0x3f, 0}, {0x1c004122, 0x01c0003f, 0x3f, 0}, {0x1c004143, 0x00c0003f, 0x3ff, 0},
      {0x1c03c163, 0x03c0003f, 0x1fff, 6}, {0, 0, 0, 0}},
     {32 << 10, 256 << 10, 8 << 20, 8}, 4, "32K,256K,8M/4", {208, 160}},
    {"Xeon Platinum 8180", RUNGI_ISA_AVX512,
     {{0x7c004121, 0x01c0003f, 0x3f, 0}, {0x7c004122, 0x01c0003f, 0x3f, 0}, {0x7c004143, 0x03c0003f, 0x3ff, 0},
      {0x7c0fc163, 0x0280003f, 0xdfff, 4}, {0, 0, 0, 0}},
     {32 << 10, 1 << 20, 77 << 19, 32}, 28, "32K,1M,39424K/28", {336, 160}},
    {"Ryzen 7 3700X", RUNGI_ISA_AVX2,
     {{0x00004121, 0x01c0003f, 0x3f, 0}, {0x00004122, 0x01c0003f, 0x3f, 0}, {0x00004143, 0x01c0003f, 0x3ff, 2},
      {0x0001c163, 0x03c0003f, 0x3fff, 1}, {0, 0, 0, 0}},
     {32 << 10, 512 << 10, 16 << 20, 4}, 4, "32K,512K,16M/4", {336, 160}},
    {"Ryzen 9 7950X", RUNGI_ISA_DOT,
     {{0x00004121, 0x01c0003f, 0x3f, 0}, {0x00004122, 0x01c0003f, 0x3f, 0}, {0x00004143, 0x01c0003f, 0x7ff, 2},
      {0x0003c163, 0x03c0003f, 0x7fff, 1}, {0, 0, 0, 0}},
     {32 << 10, 1 << 20, 32 << 20, 8}, 8, "32768,1024K,32M/8", {336, 160}},
    {"Xeon Platinum 8592+", RUNGI_ISA_AMX,
     {{0xfc004121, 0x02c0003f, 0x3f, 0}, {0xfc004122, 0x01c0003f, 0x3f, 0}, {0xfc004143, 0x03c0003f, 0x7ff, 0},
      {0xfc1fc163, 0x04c0003f, 0x3ffff, 4}, {0, 0, 0, 0}},
     {48 << 10, 2 << 20, 320 << 20, 64}, 64, "48K,2M,320M/64", {512, 256}},
};
/* clang-format on */
enum { PROCESSORS = sizeof processors / sizeof *processors };

/* The processor that the fractions of block_sizes.c were measured on: two cores of a virtual machine. */
static const rungi_caches measured = {48 << 10, 2 << 20, 480 << 20, 2};

static rungi_caches caches_of(const processor_t *of)
{
    rungi_caches caches = of->caches;
    caches.l3_cores = of->cores;
    return caches;
}

static void expect_caches(rungi_caches found, rungi_caches expected)
{
    assert_int_equal(found.l1, expected.l1);
    assert_int_equal(found.l2, expected.l2);
    assert_int_equal(found.l3, expected.l3);
    assert_int_equal(found.l3_cores, expected.l3_cores);
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static void cpuid_is_decoded(void **state)
{
    static const rungi_cpuid here[] = {{0x04000121, 0x02c0003f, 0x3f, 0},
                                       {0x04000122, 0x03c0003f, 0x3f, 0},
                                       {0x04000143, 0x03c0003f, 0x7ff, 0},
                                       {0x04004163, 0x03c0003f, 0x77fff, 4}};
    static const rungi_cpuid largest = {0x61, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    (void)state;
    for (int i = 0; i < PROCESSORS; i++)
        expect_caches(rungi_caches_decode(processors[i].leaf, 5), processors[i].caches);
    expect_caches(rungi_caches_decode(here, 4), measured);
    expect_caches(rungi_caches_decode(here, 3), (rungi_caches){measured.l1, measured.l2, 0, 1});
    expect_caches(rungi_caches_decode(NULL, 0), (rungi_caches){0, 0, 0, 1});
    assert_true(rungi_caches_decode(&largest, 1).l3 >= 0);
}

static void write_text(const char *folder, int index, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/index%d", folder, index);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

static void write_cache(const char *folder, int index, const char *level, const char *type, const char *size,
                        const char *shared)
{
    write_text(folder, index, "level", level);
    write_text(folder, index, "type", type);
    write_text(folder, index, "size", size);
    write_text(folder, index, "shared_cpu_list", shared);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status, (void)kind, (void)position;
    return remove(path) == 0 || rmdir(path) == 0 ? 0 : -1;
}

static void system_is_read(void **state)
{
    char folder[] = "/tmp/rung-blocks-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    expect_caches(rungi_caches_read(folder), (rungi_caches){0, 0, 0, 1});
    write_cache(folder, 0, "1", "Data", "32K", "0,28");
    write_cache(folder, 1, "1", "Instruction", "64K", "0,28");
    write_cache(folder, 2, "2", "Unified", "1024K", "0,28");
    write_cache(folder, 3, "3", "Unified", "39424K", "0-27,56-83");
    expect_caches(rungi_caches_read(folder), caches_of(&processors[1]));
    write_cache(folder, 2, "2", "Unified", "nonsense", "");
    assert_int_equal(rungi_caches_read(folder).l2, 0);
    assert_int_equal(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void reports_are_merged(void **state)
{
    rungi_caches all = {48 << 10, 2 << 20, 8 << 20, 16}, none = {0, 0, 0, 1}, other = {32 << 10, 4 << 20, 0, 1};
    (void)state;
    expect_caches(rungi_caches_merge(all, none), all);
    expect_caches(rungi_caches_merge(none, all), all);
    expect_caches(rungi_caches_merge(all, other), (rungi_caches){32 << 10, 2 << 20, 8 << 20, 16});
    expect_caches(rungi_caches_merge(other, all), (rungi_caches){32 << 10, 2 << 20, 8 << 20, 16});
    rungi_caches here = rungi_caches_detect();
    assert_true(here.l1 > 0 && here.l2 > 0 && here.l3 >= 0 && here.l3_cores > 0);
}

static void values_are_parsed_strictly(void **state)
{
    static const char *const invalid[] = {"",
                                          "32K",
                                          "32K,",
                                          "32K,256K,",
                                          "32K,256K,8M/",
                                          "32K,256K,8M/0",
                                          "32K,256K,8M/x",
                                          "32K,256K,8M/4,",
                                          "32k,256k",
                                          "-32K,256K",
                                          " 32K,256K",
                                          "32K 256K",
                                          "0,256K",
                                          "32K,0",
                                          "256K,32K",
                                          "32KB,256K",
                                          "9999999999999999999,256K",
                                          "32K,99999G",
                                          "32K,256K,8M/9999",
                                          "1e6,2e6",
                                          "off"};
    rungi_caches caches = measured;
    (void)state;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        if (rungi_caches_parse(invalid[i], &caches))
            fail_msg("\"%s\" was accepted", invalid[i]);
    expect_caches(caches, measured);
    for (int i = 0; i < PROCESSORS; i++) {
        assert_true(rungi_caches_parse(processors[i].text, &caches));
        expect_caches(caches, caches_of(&processors[i]));
    }
    assert_true(rungi_caches_parse("32K,256K", &caches));
    expect_caches(caches, (rungi_caches){32 << 10, 256 << 10, 0, 1});
    assert_true(rungi_caches_parse("32K,256K,0", &caches));
}

/* ---- Block sizes ------------------------------------------------------------------------------ */

/* The sizes that were measured, on the processor where they were measured. */
static void measured_sizes_are_used(void **state)
{
    rungi_cpu_block_sizes blocks = rungi_cpu_block_sizes_derive(&measured);
    (void)state;
    assert_int_equal(blocks.packed_b, 3 << 19);
    assert_int_equal(blocks.a_panel, 512 * 9 * 4);
    assert_int_equal(blocks.cached_a, 20 << 20);
    assert_int_equal(blocks.cached_b, 16 << 20);
    assert_int_equal(blocks.amx_panel, 1024 * 32);
    assert_int_equal(blocks.l1_tiles, 8 * 32 * 128);
    assert_int_equal(blocks.l2_b, 2 << 20);
    assert_int_equal(blocks.few_rows_b, 512 << 10);
    assert_int_equal(blocks.in_place_b, 1 << 20);
    assert_int_equal(blocks.prefetch_c, 1 << 20);
    assert_int_equal(blocks.half_l2, 2048 * 512);
    assert_int_equal(blocks.small_operand, 256 << 10);
}

static void blocks_fit_the_caches(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSORS; i++) {
        rungi_caches caches = caches_of(&processors[i]);
        rungi_cpu_block_sizes blocks = rungi_cpu_block_sizes_derive(&caches);
        int64_t share = caches.l3 / caches.l3_cores > caches.l2 ? caches.l3 / caches.l3_cores : caches.l2;
        assert_true(blocks.packed_b < caches.l2 && blocks.packed_b >= caches.l2 / 2);
        assert_true(blocks.cached_a <= share && blocks.cached_a >= caches.l2);
        assert_true(blocks.cached_b <= share && blocks.cached_b >= caches.l2);
        assert_true(blocks.amx_panel < caches.l1 && blocks.l1_tiles <= caches.l1);
        assert_true(blocks.few_rows_b < blocks.in_place_b && blocks.in_place_b < caches.l2);
    }
}

static const rung_kernel *kernel_of(const char *name)
{
    rung_kernel *kernel;
    must(rung_kernel_find(NULL, "cpu", name, &kernel));
    return kernel;
}

/* The parameters of `kernel` on such a processor, checked against the constraints of its file. */
static rungi_parameter_values fitted_parameters(const rung_kernel *kernel, const rungi_cpu_kernel *table,
                                                const rungi_cpu_block_sizes *blocks, const char *preset,
                                                int64_t sum_bytes)
{
    rungi_parameter_values values, again;
    char text[RUNG_PARAMETERS_BYTES];
    must(rungi_kernel_parse_parameters(kernel, preset, sum_bytes, &values));
    table->fit(blocks, sum_bytes, values.value);
    rungi_kernel_format_parameters(kernel, &values, text, sizeof text);
    must(rungi_kernel_parse_tuned_parameters(kernel, text, sum_bytes, &again));
    return values;
}

static rungi_cpu_kernel_config configured_form(const rungi_cpu_kernel *table, const rungi_cpu_features *features,
                                               rung_type in, rung_type out, int64_t edge, const int64_t *parameters)
{
    rungi_cpu_job job = {.in = in,
                         .b_type = in,
                         .out = out,
                         .m = edge,
                         .n = edge,
                         .k = edge,
                         .alpha = 1,
                         .a = {NULL, edge, 1},
                         .b = {NULL, edge, 1},
                         .c = {NULL, edge, 1},
                         .features = features,
                         .parameters = parameters};
    rungi_cpu_kernel_config config = {.grain_m = 1, .grain_n = 1, .problem_n = edge};
    must(table->configure(&job, RUNG_COMPUTE_STRICT, &config));
    return config;
}

static void pipeline_fits(void **state)
{
    const rung_kernel *kernel = kernel_of("10_pipeline");
    (void)state;
    for (int i = 0; i < PROCESSORS; i++)
        for (int wide = 0; wide < 2; wide++) {
            rung_type type = wide ? RUNG_F64 : RUNG_F32;
            int64_t size = rung_type_size(type);
            rungi_caches caches = caches_of(&processors[i]);
            rungi_cpu_features features = {.isa = processors[i].isa, .blocks = rungi_cpu_block_sizes_derive(&caches)};
            rungi_parameter_values values = fitted_parameters(kernel, &rungi_cpu_10_pipeline, &features.blocks,
                                                              wide ? "f64" : "", size);
            assert_int_equal(values.value[0], processors[i].kc[wide]);
            rungi_cpu_kernel_config config = configured_form(&rungi_cpu_10_pipeline, &features, type, type, 8192,
                                                             values.value);
            assert_true(config.kc >= 64 && config.nc * size >= 512);
            assert_true(config.kc * config.nc * size < caches.l2);
            assert_true(config.max_cached >= 128);
            assert_true(config.max_cached * (config.kc * size + 64) <=
                        features.blocks.cached_a + 16 * (config.kc * size + 64));
            assert_true(config.scratch <= features.blocks.cached_a + 2 * caches.l2 + (1 << 20));
        }
}

static void warptile_fits(void **state)
{
    const rung_kernel *kernel = kernel_of("09_warptile");
    (void)state;
    for (int i = 0; i < PROCESSORS; i++)
        for (int64_t size = 4; size <= 8; size += 4) {
            rungi_caches caches = caches_of(&processors[i]);
            rungi_cpu_block_sizes blocks = rungi_cpu_block_sizes_derive(&caches);
            const int64_t *value = fitted_parameters(kernel, &rungi_cpu_09_warptile, &blocks, "", size).value;
            assert_true(value[0] * value[2] * size < caches.l2 && value[2] >= 64);
            assert_true(value[1] * value[2] * size <= blocks.l3_share);
        }
}

#if defined(__x86_64__)
static void matrix_fits(void **state)
{
    const rung_kernel *kernel = kernel_of("12_matrix");
    (void)state;
    for (int i = 0; i < PROCESSORS; i++) {
        rungi_caches caches = caches_of(&processors[i]);
        rungi_cpu_features features = {
            .isa = RUNGI_ISA_DOT, .has_vnni = true, .has_bf16 = true, .blocks = rungi_cpu_block_sizes_derive(&caches)};
        const rungi_parameter_values values = fitted_parameters(kernel, &rungi_cpu_12_matrix, &features.blocks, "", 4);
        int64_t kc = values.value[0], kd = values.value[1], mc = values.value[2], nc = values.value[3];
        assert_true(32 * kc < caches.l1);
        assert_true(kd * nc <= caches.l2 / 2 && mc * nc * 4 <= caches.l2 / 2);
        rungi_cpu_kernel_config config = configured_form(&rungi_cpu_12_matrix, &features, RUNG_I8, RUNG_I32, 4096,
                                                         values.value);
        assert_true(config.scratch <= features.blocks.cached_b + 2 * caches.l2);
    }
}
#endif

static void measured_parameters_are_used(void **state)
{
    static const struct {
        const char *name, *preset;
        const rungi_cpu_kernel *table;
        int64_t size;
    } kernels[] = {{"09_warptile", "", &rungi_cpu_09_warptile, 4},
                   {"09_warptile", "", &rungi_cpu_09_warptile, 8},
                   {"10_pipeline", "", &rungi_cpu_10_pipeline, 4},
                   {"10_pipeline", "f64", &rungi_cpu_10_pipeline, 8},
                   {"12_matrix", "", &rungi_cpu_12_matrix, 4}};
    rungi_cpu_block_sizes blocks = rungi_cpu_block_sizes_derive(&measured);
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        rungi_parameter_values before, after = fitted_parameters(kernel_of(kernels[i].name), kernels[i].table, &blocks,
                                                                 kernels[i].preset, kernels[i].size);
        must(rungi_kernel_parse_parameters(kernel_of(kernels[i].name), kernels[i].preset, kernels[i].size, &before));
        assert_memory_equal(before.value, after.value, sizeof before.value);
    }
}

/* ---- Plans ------------------------------------------------------------------------------------ */

enum { M = 70, N = 300, K = 700 };

/* What 10_pipeline makes of whole numbers, which are exact in any order of summation. */
static void expect_product(rung_device *device, const char *kernel_name, const char *parameters, const char *shown,
                           const char *origin)
{
    static float a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    memset(c, 0x7f, sizeof c);
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a), rung_matrix_of(RUNG_F32, K, N, b),
                                           rung_matrix_of(RUNG_F32, M, N, c));
    rung_queue *queue;
    rung_plan *plan;
    rung_plan_options options = {
        .size = sizeof(rung_plan_options), .kernel = kernel_of(kernel_name), .parameters = parameters};
    must(rung_plan_create(device, &problem, &options, &plan));
    must(rung_queue_create(device, &queue));
    assert_string_equal(rung_plan_describe(plan)->parameters, shown);
    assert_string_equal(rung_plan_describe(plan)->origin_text, origin);
    assert_int_equal(rung_plan_describe(plan)->origin, parameters ? RUNG_ORIGIN_GIVEN : RUNG_ORIGIN_DEFAULTS);
    must(rung_plan_run(plan, queue, &problem, NULL));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < K; p++)
                sum += a[i * K + p] * b[p * N + j];
            assert_true(c[i * N + j] == sum);
        }
    rung_plan_destroy(plan);
    rung_queue_destroy(queue);
}

static void plans_follow_the_environment(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSORS; i++) {
        char shown[64];
        rung_device *device;
        setenv("RUNG_CPU_CACHES", processors[i].text, 1);
        must(rung_device_open(NULL, "cpu", &device));
        snprintf(shown, sizeof shown, "KC=%lld,NC=1024", (long long)processors[i].kc[0]);
        expect_product(device, "10", NULL, shown,
                       processors[i].kc[0] < 512 ? "defaults, lowered to the caches" : "defaults");
        expect_product(device, "10", "KC=1024", "KC=1024,NC=1024", "given");
        rung_device_close(device);
    }
    unsetenv("RUNG_CPU_CACHES");
}

typedef struct blocking_log {
    int count;
    char last[512];
} blocking_log_t;

static void append_log_line(void *user, const char *line)
{
    blocking_log_t *lines = user;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

static int lines_of_a_context(const char *caches, blocking_log_t *lines)
{
    rung_context *context;
    lines->count = 0;
    setenv("RUNG_CPU_CACHES", caches, 1);
    must(rung_context_create(
        &(rung_context_options){
            .size = sizeof(rung_context_options), .verbose = 1, .log = append_log_line, .log_user = lines},
        &context));
    rung_context_destroy(context);
    unsetenv("RUNG_CPU_CACHES");
    return lines->count;
}

static void invalid_values_are_reported(void **state)
{
    blocking_log_t lines = {0, ""};
    (void)state;
    assert_int_equal(lines_of_a_context("48K;2M", &lines), 1);
    assert_non_null(strstr(lines.last, "RUNG_CPU_CACHES"));
    assert_non_null(strstr(lines.last, "48K;2M"));
    assert_int_equal(lines_of_a_context("", &lines), 0);
    assert_int_equal(lines_of_a_context("32K,256K,8M/4", &lines), 0);
}

int main(void)
{
    unsetenv("RUNG_CPU_CACHES");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpuid_is_decoded),
        cmocka_unit_test(system_is_read),
        cmocka_unit_test(reports_are_merged),
        cmocka_unit_test(values_are_parsed_strictly),
        cmocka_unit_test(measured_sizes_are_used),
        cmocka_unit_test(blocks_fit_the_caches),
        cmocka_unit_test(pipeline_fits),
        cmocka_unit_test(warptile_fits),
#if defined(__x86_64__)
        cmocka_unit_test(matrix_fits),
#endif
        cmocka_unit_test(measured_parameters_are_used),
        cmocka_unit_test(plans_follow_the_environment),
        cmocka_unit_test(invalid_values_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
