/* SPDX-License-Identifier: Apache-2.0 */
/* software_instructions.c - the software versions of ldmatrix, mma, wmma, cvt.rna.tf32 and cp.async, which OpenCL devices
 * run, give the same results as the PTX instructions that NVRTC compiles and the emulator executes, register by register and
 * element by element. */
#include "support/opencl_unit.h"

#include <math.h>

#include "cuda/nvrtc.h"
#include "instruction_kernels.h"
#include "rung/emulator.h"
#include "sources.h"

enum {
    ROWS = 2,
    COLS = 4,
    BLOCKS = 16,
    THREADS = 64,
    TILE_MAX = 32768,   /* bytes */
    SCRATCH_WORDS = 64, /* per thread */
    STEPS = 5,          /* groups of copies */
    OPERANDS_MAX = 8,
    DRIVER_VERSION = 12090
};

typedef enum element_type { F16, BF16, I8, F32, F64 } element_type_t;

typedef struct variant {
    const char *options;
    element_type_t type;
    int architecture;
} variant_t;

static const variant_t engines[] = {
    {"-DIN_F16 -DEMULATED=80", F16, 80},
    {"-DIN_BF16 -DEMULATED=80", BF16, 80},
    {"-DIN_I8 -DEMULATED=80", I8, 80},
    {"-DEMULATED=80", F32, 80},
    {"-DIN_F16 -DEMULATED=75", F16, 75},
    {"-DIN_I8 -DEMULATED=75", I8, 75},
    {"-DCOMPUTE=4 -DEMULATED=80", F32, 80},
    {"-DCOMPUTE=1 -DEMULATED=80", F32, 80}, /* tf32x3, bf16x3 */
    {"-DIN_F64 -DOUT_F64 -DEMULATED=80", F64, 80},
    {"-DIN_F64 -DOUT_F64 -DEMULATED=90", F64, 90},
};

enum { ENGINES = sizeof engines / sizeof *engines };

static rungi_nvrtc nvrtc;
static rung_emulator *emulator;

/* ---- Sources ------------------------------------------------------------------------------------------------------- */

/* Copies of STEPS groups. After the first wait, the last two groups may be in flight. */
static const char copy_kernels[] =
    "#define CHUNK (16 / IN_BYTES)\n"
    "KERNEL(32)\n"
    "copy(GLOBAL const in_t *from, GLOBAL const uint *inside, GLOBAL uint *to, uint mode)\n{\n"
    "    __shared__ __align__(16) in_t tile[STEPS * 32 * CHUNK];\n"
    "    copies_t copies;\n    copies_init(&copies);\n"
    "    for (uint step = 0; step < STEPS; step++) {\n"
    "        const uint at = step * 32 + threadIdx.x;\n"
    "        if (mode == 0)\n"
    "            copy16_async(&copies, &tile[at * CHUNK], &from[at * CHUNK], (int)(inside[at] % (CHUNK + 1)));\n"
    "        else if (mode == 1 && CHUNK >= 4)\n"
    "            for (uint i = 0; i < CHUNK; i += 4)\n"
    "                copy4_async(&copies, &tile[at * CHUNK + i], &from[at * CHUNK + i]);\n"
    "        else\n"
    "            for (uint i = 0; i < CHUNK; i++)\n"
    "                copy_async(&copies, &tile[at * CHUNK + i], &from[at * CHUNK + i], (int)(inside[at] >> i & 1));\n"
    "        copies_commit(&copies);\n"
    "    }\n"
    "    copies_wait(&copies, 2);\n"
    "    __syncthreads();\n"
    "    SHARED const uint *words = (SHARED const uint *)tile;\n"
    "    for (uint i = threadIdx.x; i < (STEPS - 2) * 128; i += 32) to[i] = words[i];\n"
    "    copies_wait(&copies, 0);\n"
    "    __syncthreads();\n"
    "    for (uint i = threadIdx.x; i < STEPS * 128; i += 32) to[STEPS * 128 + i] = words[i];\n"
    "}\n";

static const char *const engine_texts[] = {rungi_source_dialect,
                                           rungi_source_epilogue,
                                           rungi_source_swizzle,
                                           rungi_source_engine,
                                           rungi_source_mma,
                                           rungi_source_f32_terms,
                                           before_wmma,
                                           rungi_source_wmma,
                                           after_wmma,
                                           instruction_kernels,
                                           NULL};
static const char *const copy_texts[] = {rungi_source_dialect, rungi_source_epilogue, rungi_source_tile,
                                         rungi_source_async,   copy_kernels,          NULL};

/* One source for both devices. */
typedef struct program {
    const char *const *texts;
    const variant_t *variant;
    const char *software_options; /* added for OpenCL */
    cl_program software;
    rung_emulator_module *ptx;
} program_t;

static void build_software(program_t *program)
{
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    char options[512], log[4096] = "";
    cl_uint count = 0;
    cl_int error;
    while (program->texts[count])
        count++;
    snprintf(options, sizeof options, "-cl-std=CL1.2 -w -DROWS=%d -DCOLS=%d -DTILE_MAX=%d %s%s", ROWS, COLS, TILE_MAX,
             program->variant->options, program->software_options);
    program->software = own->cl->CreateProgramWithSource(own->context, count, (const char **)program->texts, NULL,
                                                         &error);
    assert_int_equal(error, CL_SUCCESS);
    if (own->cl->BuildProgram(program->software, 1, &own->id, options, NULL, NULL) != CL_SUCCESS) {
        own->cl->GetProgramBuildInfo(program->software, own->id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail_msg("%s: %s", options, log);
    }
}

static void build_ptx(program_t *program)
{
    static char source[1 << 20], defines[512];
    size_t used = 0, bytes;
    void *code;
    for (int i = 0; program->texts[i]; i++)
        used += (size_t)snprintf(source + used, sizeof source - used, "%s", program->texts[i]);
    assert_true(used < sizeof source);
    snprintf(defines, sizeof defines, "-DROWS=%d -DCOLS=%d -DTILE_MAX=%d %s", ROWS, COLS, TILE_MAX,
             program->variant->options);
    rungi_nvrtc_job job = {.file = "instructions.cu",
                           .source = source,
                           .defines = defines,
                           .architecture = program->variant->architecture,
                           .to_ptx = true};
    if (rungi_nvrtc_compile(context, &nvrtc, &job, &code, &bytes) != RUNG_OK)
        fail_msg("%s: %s", defines, rung_error_text());
    if (rung_emulator_module_load(emulator, "instructions", code, bytes - 1, &program->ptx) != RUNG_OK)
        fail_msg("%s: %s", defines, rung_error_text());
    rungi_release(context, code);
}

static program_t build(const char *const *texts, const variant_t *variant, const char *software_options)
{
    program_t program = {.texts = texts, .variant = variant, .software_options = software_options};
    build_software(&program);
    build_ptx(&program);
    return program;
}

static void destroy(program_t *program)
{
    rungi_opencl_device_of(device)->cl->ReleaseProgram(program->software);
    rung_emulator_module_unload(program->ptx);
}

/* ---- Running both -------------------------------------------------------------------------------------------------- */

/* An argument: words of memory, which both devices get a copy of and which differ afterwards, or a number. */
typedef struct operand {
    uint32_t *words, *ptx_words; /* the second: the result of the instructions */
    int64_t count;
    uint32_t number; /* if there are no words */
} operand_t;

static operand_t words_of(int64_t count)
{
    operand_t operand = {calloc((size_t)count, 4), calloc((size_t)count, 4), count, 0};
    assert_non_null(operand.words);
    assert_non_null(operand.ptx_words);
    return operand;
}

static void free_words(operand_t *operand)
{
    free(operand->words);
    free(operand->ptx_words);
}

static void run_ptx_kernel(const program_t *program, const char *name, operand_t *operands, int count, uint32_t blocks,
                           uint32_t threads)
{
    rung_emulator_kernel *kernel;
    uint64_t addresses[OPERANDS_MAX];
    void *arguments[OPERANDS_MAX];
    assert_int_equal(rung_emulator_kernel_find(program->ptx, name, &kernel), RUNG_OK);
    for (int i = 0; i < count; i++) {
        arguments[i] = operands[i].words ? (void *)&addresses[i] : (void *)&operands[i].number;
        if (!operands[i].words)
            continue;
        assert_int_equal(rung_emulator_allocate(emulator, 4 * operands[i].count, NULL, &addresses[i]), RUNG_OK);
        assert_int_equal(rung_emulator_write(emulator, addresses[i], operands[i].words, 4 * operands[i].count),
                         RUNG_OK);
    }
    rung_emulator_launch launch = rung_emulator_launch_of(blocks, threads, arguments);
    if (rung_emulator_launch_kernel(kernel, &launch) != RUNG_OK || rung_emulator_finding_count(emulator) > 0)
        fail_msg("%s, %s: %s", name, program->variant->options,
                 rung_emulator_finding_count(emulator) > 0 ? rung_emulator_finding_at(emulator, 0)->text
                                                           : rung_error_text());
    for (int i = 0; i < count; i++)
        if (operands[i].words) {
            assert_int_equal(rung_emulator_read(emulator, addresses[i], operands[i].ptx_words, 4 * operands[i].count),
                             RUNG_OK);
            rung_emulator_free(emulator, addresses[i]);
        }
}

static void run_software_kernel(const program_t *program, const char *name, operand_t *operands, int count,
                                uint32_t blocks, uint32_t threads)
{
    rungi_cl *cl = rungi_opencl_device_of(device)->cl;
    rung_buffer *buffers[OPERANDS_MAX + 1] = {NULL};
    size_t all = (size_t)blocks * threads, block = threads;
    cl_int error;
    cl_kernel kernel = cl->CreateKernel(program->software, name, &error);
    assert_int_equal(error, CL_SUCCESS);
    for (int i = 0; i <= count; i++) { /* the last is the scratch memory, if the kernel has such an argument */
        const operand_t scratch = {.words = NULL, .count = (int64_t)all * SCRATCH_WORDS};
        const operand_t *operand = i < count ? &operands[i] : &scratch;
        bool is_memory = i == count || operand->words;
        if (i == count && program->texts != engine_texts)
            break;
        if (is_memory)
            assert_int_equal(rung_buffer_create(device, 4 * operand->count, &buffers[i]), RUNG_OK);
        if (operand->words)
            assert_int_equal(rung_buffer_write(queue, buffers[i], 0, 4 * operand->count, operand->words, NULL),
                             RUNG_OK);
        void *native = is_memory ? rung_buffer_native(buffers[i]) : NULL;
        error = cl->SetKernelArg(kernel, (cl_uint)i, is_memory ? sizeof native : 4,
                                 is_memory ? (const void *)&native : (const void *)&operand->number);
        assert_true(error == CL_SUCCESS || i == count);
    }
    assert_int_equal(cl->EnqueueNDRangeKernel(rung_queue_native(queue), kernel, 1, NULL, &all, &block, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i <= count; i++) {
        if (i < count && operands[i].words)
            assert_int_equal(rung_buffer_read(queue, buffers[i], 0, 4 * operands[i].count, operands[i].words, NULL),
                             RUNG_OK);
        assert_int_equal(rung_queue_finish(queue), RUNG_OK);
        rung_buffer_destroy(buffers[i]);
    }
    cl->ReleaseKernel(kernel);
}

static void run_both(const program_t *program, const char *name, operand_t *operands, int count, uint32_t blocks,
                     uint32_t threads)
{
    run_ptx_kernel(program, name, operands, count, blocks, threads);
    run_software_kernel(program, name, operands, count, blocks, threads);
}

static void expect_equal(const program_t *program, const char *what, const operand_t *result)
{
    for (int64_t i = 0; i < result->count; i++)
        if (result->words[i] != result->ptx_words[i])
            fail_msg("%s, %s%s: word %lld is %#x in software and %#x by the instruction", what,
                     program->variant->options, program->software_options, (long long)i, (unsigned)result->words[i],
                     (unsigned)result->ptx_words[i]);
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

static float as_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t as_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns a word of elements of the type: integers from -4 to 4, whose sums are exact, or fractions. */
static uint32_t random_word(uint64_t *seed, element_type_t type, bool is_exact)
{
    uint32_t word = 0;
    if (type == I8)
        return (uint32_t)unit_random(seed, 1 << 16) << 16 | (uint32_t)unit_random(seed, 1 << 16);
    for (int i = 0; i < (type == F32 ? 1 : 2); i++) {
        float value = (float)unit_random(seed, 9) - 4;
        if (!is_exact)
            value = (float)unit_random(seed, 1 << 20) / (1 << 19) - 1;
        word |= type == F32   ? as_bits(value)
                : type == F16 ? (uint32_t)rung_f16_from_f32(value) << 16 * i
                              : (uint32_t)rung_bf16_from_f32(value) << 16 * i;
    }
    return word;
}

static void fill_doubles(operand_t *operand, uint64_t seed, bool is_exact)
{
    for (int64_t i = 0; i + 1 < operand->count; i += 2) {
        double value = is_exact ? (double)unit_random(&seed, 9) - 4
                                : (double)unit_random(&seed, INT64_C(1) << 50) / (double)(INT64_C(1) << 49) - 1;
        memcpy(&operand->words[i], &value, sizeof value);
    }
}

static void fill(operand_t *operand, uint64_t seed, element_type_t type, bool is_exact)
{
    if (type == F64) {
        fill_doubles(operand, seed, is_exact);
        return;
    }
    for (int64_t i = 0; i < operand->count; i++)
        operand->words[i] = random_word(&seed, type, is_exact);
}

/* Sums of integers are equal, and so are doubles, which are added in the order of k. Other sums of fractions differ by the order of additions, which is not defined. */
static void expect_sums(const program_t *program, const char *what, const operand_t *sums, bool is_exact)
{
    if (is_exact) {
        expect_equal(program, what, sums);
        return;
    }
    for (int64_t i = 0; i < sums->count; i++)
        if (!(fabsf(as_float(sums->words[i]) - as_float(sums->ptx_words[i])) < 1e-4f))
            fail_msg("%s, %s: sum %lld is %g in software and %g by the instruction", what, program->variant->options,
                     (long long)i, (double)as_float(sums->words[i]), (double)as_float(sums->ptx_words[i]));
}

/* ---- Tests --------------------------------------------------------------------------------------------------------- */

static void compare_ldmatrix(const program_t *program)
{
    operand_t from = words_of(TILE_MAX / 4), to = words_of(TILE_MAX / 4);
    fill(&from, 1, program->variant->type, false);
    for (uint32_t mn = 32; mn <= 256; mn *= 2)
        for (uint32_t bytes = 64; bytes <= 256 && mn * bytes <= TILE_MAX; bytes *= 2)
            for (uint32_t i = 0; i < 4; i++) {
                operand_t operands[] = {
                    from, to, {.number = mn}, {.number = bytes}, {.number = i / 2}, {.number = i % 2}};
                run_both(program, "take", operands, 6, 1, 32);
                expect_equal(program, i / 2 ? "ldmatrix, MN-major" : "ldmatrix, K-major", &to);
            }
    free_words(&from);
    free_words(&to);
}

static void compare_mma(const program_t *program, bool is_exact)
{
    int64_t threads = BLOCKS * THREADS;
    element_type_t type = program->variant->type;
    operand_t operands[] = {words_of(threads * 4 * ROWS), words_of(threads * 2 * COLS),
                            words_of(threads * 4 * ROWS * COLS * (type == F64 ? 2 : 1))};
    fill(&operands[0], 2, type, is_exact);
    fill(&operands[1], 3, type, is_exact);
    fill(&operands[2], 4, type == I8 || type == F64 ? type : F32, is_exact);
    run_both(program, "multiply", operands, 3, BLOCKS, THREADS);
    expect_sums(program, "mma", &operands[2], is_exact || type == I8 || type == F64);
    for (int i = 0; i < 3; i++)
        free_words(&operands[i]);
}

static void compare_wmma(const program_t *program, bool is_exact)
{
    int64_t warps = BLOCKS * THREADS / 32;
    element_type_t type = program->variant->type;
    operand_t operands[] = {words_of(warps * 32 * 16), words_of(warps * 32 * 16), words_of(warps * 256)};
    fill(&operands[0], 5, type, is_exact);
    fill(&operands[1], 6, type, is_exact);
    run_both(program, "multiply_boxes", operands, 3, BLOCKS, THREADS);
    expect_sums(program, "wmma", &operands[2], is_exact || type == I8);
    for (int i = 0; i < 3; i++)
        free_words(&operands[i]);
}

static void engines_are_equal(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++) {
        program_t program = build(engine_texts, &engines[i], "");
        compare_ldmatrix(&program);
        for (int is_exact = 0; is_exact < 2; is_exact++) {
            compare_mma(&program, is_exact);
            if (engines[i].type != F64)
                compare_wmma(&program, is_exact);
        }
        destroy(&program);
    }
}

/* Every exponent and sign with fractions around the ties. The bits of a NaN are not defined. */
static void rounding_to_tf32_is_equal(void **state)
{
    static const uint32_t fractions[] = {0,      1,      0xfff,    0x1000,   0x1001,  0x1fff,
                                         0x2000, 0x3000, 0x7fefff, 0x7ff000, 0x7fffff};
    enum { FRACTIONS = sizeof fractions / sizeof *fractions, COUNT = 512 * FRACTIONS };
    program_t program = build(engine_texts, &engines[3], "");
    operand_t bits = words_of((COUNT + 31) / 32 * 32);
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        uint32_t exponent = (uint32_t)(i / FRACTIONS);
        bits.words[i] = exponent << 23 | (exponent % 256 == 255 ? 0 : fractions[i % FRACTIONS]);
    }
    run_both(&program, "round_all", &bits, 1, (uint32_t)(bits.count / 32), 32);
    expect_equal(&program, "cvt.rna.tf32", &bits);
    free_words(&bits);
    destroy(&program);
}

static void copies_are_equal(void **state)
{
    static const variant_t types[] = {
        {"-DSTEPS=5 -DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=1", F32, 80},
        {"-DIN_F64 -DOUT_F64 -DSTEPS=5 -DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=1", F32, 80},
        {"-DIN_F16 -DSTEPS=5 -DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=1", F16, 80},
        {"-DIN_I8 -DSTEPS=5 -DWIDE=1 -DGUARDED=1 -DA_MN_MAJOR=0 -DB_MN_MAJOR=1", I8, 80},
    };
    (void)state;
    for (int i = 0; i < 8; i++) {
        program_t program = build(copy_texts, &types[i / 2], i % 2 ? " -DCHECKED=1" : "");
        for (uint32_t mode = 0; mode < 3; mode++) {
            operand_t operands[] = {
                words_of(STEPS * 128), words_of(STEPS * 32), words_of(2 * STEPS * 128), {.number = mode}};
            fill(&operands[0], 7 + mode, I8, true);
            fill(&operands[1], 17 + mode, I8, true);
            run_both(&program, "copy", operands, 4, 1, 32);
            expect_equal(&program, mode == 0 ? "copy16_async" : mode == 1 ? "copy4_async" : "copy_async", &operands[2]);
            for (int j = 0; j < 3; j++)
                free_words(&operands[j]);
        }
        destroy(&program);
    }
}

static int open_both(void **state)
{
    rung_emulator_options options = rung_emulator_options_default();
    options.checks = RUNG_EMULATOR_CHECK_ALL & ~RUNG_EMULATOR_CHECK_UNINITIALIZED;
    options.compute_capability = 90;
    return open_device(state) != 0 || rung_emulator_create(&options, &emulator) != RUNG_OK ? -1 : 0;
}

static int close_both(void **state)
{
    rung_emulator_destroy(emulator);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_are_equal),
        cmocka_unit_test(rounding_to_tf32_is_equal),
        cmocka_unit_test(copies_are_equal),
    };
    rungi_nvrtc_load(&nvrtc, DRIVER_VERSION, 86);
    if (!nvrtc.library) {
        puts("NVRTC was not found; run tools/install-test-tools");
        return 77;
    }
    return opencl_is_available() ? cmocka_run_group_tests(tests, open_both, close_both) : 77;
}
