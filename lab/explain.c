/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - see explain.h: gathers what can be known of a kernel and predicts from it. */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

/* The same file as each backend sees it. */
typedef struct pair {
    rung_kernel *simt; /* of "opencl", which is looked at */
    rung_kernel *cuda; /* of "cuda", which is compiled; NULL in a library without it */
} pair_t;

static bool open_pair(const char *name, pair_t *pair, char *why, size_t capacity)
{
    *pair = (struct pair){NULL, NULL};
    if (!lab_kernel_open(NULL, "opencl", name, &pair->simt, why, capacity))
        return false;
    char ignored[LAB_WHY];
    if (!lab_kernel_open(NULL, "cuda", name, &pair->cuda, ignored, sizeof ignored))
        pair->cuda = NULL;
    return true;
}

static void close_pair(pair_t *pair)
{
    rung_kernel_destroy(pair->simt);
    rung_kernel_destroy(pair->cuda);
}

static int64_t evaluate(const pair_t *pair, const lab_explanation *explanation, rung_type in, const char *expression,
                        int64_t otherwise)
{
    return lab_kernel_number(pair->simt, explanation->parameters, in, expression, otherwise);
}

/* ---- The compiler ------------------------------------------------------------------------- */

static rung_problem problem_of(const lab_question *question)
{
    rung_type in = question->dtype.product.in, out = question->dtype.product.out;
    rung_problem problem = rung_problem_of(rung_matrix_of(in, question->m, question->k, NULL),
                                           rung_matrix_of(in, question->k, question->n, NULL),
                                           rung_matrix_of(out, question->m, question->n, NULL));
    problem.compute = question->dtype.compute;
    return problem;
}

/* Disassemblers drop old architectures. The loop of the oldest that they all read then stands in:
 * what is widened and unrolled is decided before an architecture's own part of the compiler. */
static const char readable[] = "sm_75";

static void take_apart(const lab_question *question, const pair_t *pair, const rung_code *code,
                       lab_explanation *explanation)
{
    rung_problem problem = problem_of(question);
    rung_code *other = NULL;
    char program[4096];
    if (!lab_code_find_disassembler(program, sizeof program))
        explanation->missing_tools |= 1u << LAB_TOOL_NVDISASM;
    snprintf(explanation->code_arch, sizeof explanation->code_arch, "%s", question->machine.arch);
    explanation->is_taken_apart = lab_code_take_apart(code->image, code->image_bytes, &explanation->code,
                                                      explanation->why_whole, LAB_WHY);
    if (!explanation->is_taken_apart && atoi(question->machine.arch + 3) < atoi(readable + 3) &&
        rung_kernel_compile(pair->cuda, &problem, code->parameters, readable, &other) == RUNG_OK) {
        snprintf(explanation->code_arch, sizeof explanation->code_arch, "%s", readable);
        explanation->is_taken_apart = lab_code_take_apart(other->image, other->image_bytes, &explanation->code,
                                                          explanation->why_whole, LAB_WHY);
        explanation->code.spill_count = 0; /* they are that architecture's */
    }
    rung_code_destroy(other);
    const lab_mix *loop = &explanation->code.loop;
    if (explanation->is_taken_apart && explanation->code.has_loop && loop->instructions > 0)
        explanation->math_share = (double)loop->math / (double)loop->instructions;
}

/* Why it did not compile. The commonest reason is one number on a page of the compiler's, which it does not
 * complain of there: "65536 bytes smem". */
static void tell_refusal(const char *text, char *why, size_t capacity)
{
    enum { DECLARED_MAX = 48 << 10 };
    const char *found = strstr(text, " bytes smem");
    while (found && found > text && found[-1] >= '0' && found[-1] <= '9')
        found--;
    if (found && atoi(found) > DECLARED_MAX)
        snprintf(why, capacity,
                 "too much shared memory: a block declares %d bytes, and CUDA gives it %d (48 KiB); make "
                 "the tiles smaller, or see LARGE_SHARED in dialect.h",
                 atoi(found), DECLARED_MAX);
    else
        snprintf(why, capacity, "%s", text);
}

/* False if the question makes no sense. */
static bool compile(const lab_question *question, const pair_t *pair, lab_explanation *explanation, char *why,
                    size_t capacity)
{
    rung_problem problem = problem_of(question);
    rung_code *code;
    if (!lab_look_parameters(pair->simt, question->dtype.product, question->parameters, explanation->parameters)) {
        snprintf(why, capacity, "the list of parameters is too long; the maximum is %d bytes, with CHECKED=0",
                 RUNG_PARAMETERS_BYTES - 1);
        return false;
    }
    if (!pair->cuda) {
        explanation->missing_tools |= 1u << LAB_TOOL_NVRTC;
        snprintf(explanation->why_uncompiled, LAB_WHY,
                 "this library was built without CUDA; configure it with "
                 "-DRUNG_CUDA=ON");
        return true;
    }
    rung_status status = rung_kernel_compile(pair->cuda, &problem, question->parameters, question->machine.arch, &code);
    if (status == RUNG_STATUS_NO_DEVICE) {
        explanation->missing_tools |= 1u << LAB_TOOL_NVRTC;
        snprintf(explanation->why_uncompiled, LAB_WHY, "%s", rung_error_text());
        return true;
    }
    if (status != RUNG_OK) {
        tell_refusal(rung_error_text(), why, capacity);
        return false;
    }
    explanation->is_compiled = true;
    explanation->threads = code->threads_per_block;
    explanation->registers = code->registers_per_thread;
    explanation->shared_bytes = code->shared_bytes_per_block;
    explanation->spill_bytes = code->spill_bytes;
    snprintf(explanation->parameters, sizeof explanation->parameters, "%s", code->parameters);
    snprintf(explanation->path, sizeof explanation->path, "%s", code->path);
    take_apart(question, pair, code, explanation);
    rung_code_destroy(code);
    return true;
}

/* ---- The microscope ------------------------------------------------------------------------ */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A stride that falls on the same banks, sectors and lines, of a matrix that is not too large to
 * be simulated. */
static int64_t alike(int64_t stride)
{
    enum { LARGE = 8192, PERIOD = 1024 };
    return stride <= LARGE ? stride : LARGE + stride % PERIOD;
}

/* One block of the problem, as far along k as is asked. */
static lab_look look_of(const lab_question *question, const lab_explanation *explanation, int64_t k)
{
    return (lab_look){.kernel = question->kernel,
                      .parameters = explanation->parameters,
                      .product = question->dtype.product,
                      .compute = question->dtype.compute,
                      .m = smaller(question->m, explanation->bm),
                      .n = smaller(question->n, explanation->bn),
                      .k = k,
                      .a_stride = alike(question->k),
                      .b_stride = alike(question->n),
                      .c_stride = alike(question->n),
                      .seconds = question->seconds};
}

static lab_block_counts count_block(const lab_sight *sight)
{
    lab_sight_line loads = lab_sight_sum(sight, 0, LAB_GLOBAL_LOAD, NULL);
    lab_sight_line stores = lab_sight_sum(sight, 0, LAB_GLOBAL_STORE, NULL);
    lab_sight_line shared = lab_sight_sum(sight, 0, LAB_SHARED_LOAD, NULL);
    lab_sight_line put = lab_sight_sum(sight, 0, LAB_SHARED_STORE, NULL);
    double blocks = sight->totals.blocks > 0 ? (double)sight->totals.blocks : 1;
    lab_block_counts counts = {
        .macs = (double)(sight->totals.multiply_adds + sight->totals.engine_products) / blocks,
        .barriers = (double)sight->totals.barriers / blocks,
        .waits = (double)sight->totals.waits / blocks,
        .global_requests = (double)(loads.requests + stores.requests) / blocks,
        .sectors = (double)(loads.sectors + stores.sectors) / blocks,
        .sectors_ideal = (double)(loads.sectors_ideal + stores.sectors_ideal) / blocks,
        .lines = (double)(loads.lines + stores.lines) / blocks,
        .shared_loads = (double)shared.requests / blocks,
        .shared_stores = (double)put.requests / blocks,
        .wavefronts = (double)(shared.wavefronts + put.wavefronts) / blocks,
        .wavefronts_ideal = (double)(shared.wavefronts_ideal + put.wavefronts_ideal) / blocks,
        .load_wavefronts = (double)shared.wavefronts / blocks,
        .load_bytes = (double)shared.distinct_bytes / blocks,
    };
    for (int64_t i = 0; i < sight->buffer_count; i++)
        counts.distinct_sectors += (double)(sight->buffers[i].block_sectors_read +
                                            sight->buffers[i].block_sectors_written) /
                                   blocks;
    return counts;
}

/* What a block comes to at k, from what it came to at two smaller ones. All fields are doubles. */
static lab_block_counts extend(const lab_block_counts *near, const lab_block_counts *far, double steps)
{
    enum { FIELDS = sizeof(lab_block_counts) / sizeof(double) };
    double a[FIELDS], b[FIELDS];
    lab_block_counts all;
    memcpy(a, near, sizeof a);
    memcpy(b, far, sizeof b);
    for (int i = 0; i < FIELDS; i++)
        a[i] += (b[i] - a[i]) * steps;
    memcpy(&all, a, sizeof all);
    return all;
}

/* The counts of a line at k, as those of the block; a line of the longer look that the shorter
 * one has not was reached by it alone. */
static void extend_lines(const lab_sight *near, lab_sight *far, double steps)
{
    for (int64_t i = 0; i < far->line_count; i++) {
        lab_sight_line *line = &far->lines[i], nothing = {0};
        const lab_sight_line *before = &nothing;
        for (int64_t j = 0; j < near->line_count && before == &nothing; j++)
            if (near->lines[j].line == line->line && near->lines[j].from == line->from &&
                near->lines[j].kind == line->kind && near->lines[j].width == line->width &&
                strcmp(near->lines[j].array, line->array) == 0)
                before = &near->lines[j];
#define X(name) line->name = before->name + llround((double)(line->name - before->name) * steps);
        LAB_SIGHT_COUNT_LIST(X)
#undef X
    }
}

/* A pair of looks, `step` of k apart, the first past the stages that are filled beforehand. False
 * if one of them failed, or if the kernel took no step between the two. */
static bool look_with_step(const lab_question *question, lab_explanation *explanation, int64_t step, int64_t stages,
                           bool *steps_too_short)
{
    int64_t first = smaller((stages + 1) * step, question->k), second = smaller(first + 2 * step, question->k);
    lab_look look = look_of(question, explanation, first);
    lab_sight near = {.line_count = 0};
    double needed = (double)look.m * (double)look.n;
    *steps_too_short = false;
    if (second > first && !lab_microscope_look(&look, &near, explanation->why_unseen, LAB_WHY))
        return false;
    look.k = second;
    if (!lab_microscope_look(&look, &explanation->sight, explanation->why_unseen, LAB_WHY)) {
        lab_sight_free(&near);
        return false;
    }
    lab_block_counts before = count_block(&near), after = count_block(&explanation->sight);
    double steps = second > first ? (double)(question->k - first) / (double)(second - first) : 1;
    *steps_too_short = second < question->k && after.macs - before.macs < needed * (double)(second - first) / 4;
    explanation->block = extend(&before, &after, steps);
    explanation->block.macs = fmax(explanation->block.macs, needed * (double)question->k); /* no less is needed */
    extend_lines(&near, &explanation->sight, steps);
    lab_sight_free(&near);
    return true;
}

/* Whole steps along k, and whole sectors of A's rows. A file that does not say what its steps are
 * may take longer ones than were tried. */
static void look_twice(const lab_question *question, const pair_t *pair, lab_explanation *explanation)
{
    enum { STEP_MAX = 1024 };
    rung_type in = question->dtype.product.in;
    int64_t step = evaluate(pair, explanation, in, "BK", 8), stages = evaluate(pair, explanation, in, "STAGES", 1);
    int64_t sector = 32 / rung_type_size(in);
    bool too_short = true;
    lab_microscope_parts parts;
    lab_microscope_find(&parts);
    if (!*parts.oclgrind || !*parts.plugin)
        explanation->missing_tools |= 1u << (*parts.oclgrind ? LAB_TOOL_COUNTERS : LAB_TOOL_OCLGRIND);
    step = (step + sector - 1) / sector * sector;
    for (; too_short && step <= STEP_MAX; step *= 2) {
        lab_sight_free(&explanation->sight);
        if (!look_with_step(question, explanation, step, stages, &too_short))
            return;
    }
    explanation->is_seen = !too_short;
    if (too_short)
        snprintf(explanation->why_unseen, LAB_WHY,
                 "it takes no step along k within %d; #define BK as long as its "
                 "step is",
                 STEP_MAX);
}

/* ---- The model ------------------------------------------------------------------------------ */

/* Of one instruction: IDP multiplies four bytes by four. */
static double macs_a_lane(const lab_mix *loop)
{
    bool is_dot = strncmp(loop->operation, "IDP", 3) == 0 && loop->math > 0;
    return is_dot ? (double)loop->multiply_adds / (double)(32 * loop->math) : 1;
}

static double lanes_of(const lab_question *question, const rung_kernel_info *info, const lab_mix *loop)
{
    const lab_machine *machine = &question->machine;
    rung_type in = question->dtype.product.in;
    if (info->engine != RUNG_ENGINE_NONE)
        return in == RUNG_I8 ? machine->engine_i8 : in == RUNG_F32 ? machine->engine_tf32 : machine->engine16;
    switch (lab_product_sum(question->dtype.product)) {
    case RUNG_F64: return machine->fp64;
    case RUNG_I32: return machine->int32 * macs_a_lane(loop);
    default: return machine->fp32;
    }
}

/* Whether the loop's multiply-adds are known: of whole numbers some may be for addresses. */
static bool knows_loop(const lab_explanation *explanation)
{
    const lab_mix *loop = &explanation->code.loop;
    return explanation->is_taken_apart && explanation->code.has_loop && !loop->is_integer && loop->multiply_adds > 0;
}

/* What the compiler made of loads from shared memory: how many a warp issues, and in how many
 * wavefronts. What it widened is taken to collide as it did before, a load, and to bring no less
 * than the words that were asked for. */
static void compiled_loads(const lab_explanation *explanation, double *requests, double *wavefronts)
{
    const lab_block_counts *block = &explanation->block;
    const lab_mix *loop = &explanation->code.loop;
    *requests = block->shared_loads;
    *wavefronts = block->load_wavefronts;
    if (!knows_loop(explanation))
        return;
    double loads = (double)(lab_mix_moves(loop, LAB_MOVE_SHARED_LOAD) + lab_mix_moves(loop, LAB_MOVE_MATRIX_LOAD));
    *requests = loads / (double)loop->multiply_adds * block->macs;
    if (*requests < 0.95 * block->shared_loads)
        *wavefronts = fmax(block->load_wavefronts * *requests / block->shared_loads, block->load_bytes / 128);
}

/* Instructions that warps issue for a block: those of the loop, or, where that is not known,
 * what is known to be needed. */
static double instructions_of(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    const lab_mix *loop = &explanation->code.loop;
    if (knows_loop(explanation))
        return (double)loop->instructions / (double)loop->multiply_adds * block->macs;
    return block->macs / 32 + block->global_requests + block->shared_loads + block->shared_stores;
}

/* How often a block's warps wait for loads. Without barriers each warp waits once a turn of
 * the loop, which the compiler unrolls. */
static double waits_of(const lab_explanation *explanation, double warps)
{
    const lab_block_counts *block = &explanation->block;
    const lab_mix *loop = &explanation->code.loop;
    if (block->barriers > 0)
        return block->waits;
    double turn = knows_loop(explanation) ? (double)loop->multiply_adds : 32;
    return block->macs / warps / turn;
}

static double dram_bytes_of(const lab_question *question, const pair_t *pair, const lab_explanation *explanation,
                            double held)
{
    rung_type in = question->dtype.product.in, out = question->dtype.product.out;
    lab_panels panels = {.m = (double)question->m,
                         .n = (double)question->n,
                         .k = (double)question->k,
                         .bm = (double)explanation->bm,
                         .bn = (double)explanation->bn,
                         .in_bytes = (double)rung_type_size(in),
                         .out_bytes = (double)rung_type_size(out),
                         .wave = question->machine.units * held,
                         .rows_in_order = (double)evaluate(pair, explanation, in, "GROUP", 1)};
    return lab_dram_bytes(&question->machine, &panels);
}

static void predict(const lab_question *question, const pair_t *pair, lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    double wavefronts, warps = ceil((double)explanation->threads / 32);
    double down = ceil((double)question->m / (double)explanation->bm);
    double across = ceil((double)question->n / (double)explanation->bn);
    compiled_loads(explanation, &explanation->shared_loads_compiled, &wavefronts);
    explanation->load = (lab_load){
        .blocks = down * across,
        .held = (double)explanation->occupancy.blocks,
        .warps = warps,
        .flops = 2.0 * (double)question->m * (double)question->n * (double)question->k,
        .macs = block->macs,
        .lanes = lanes_of(question, rung_kernel_describe(pair->simt), &explanation->code.loop),
        .instructions = instructions_of(explanation),
        .requests = block->global_requests + block->shared_stores + explanation->shared_loads_compiled,
        .wavefronts = block->wavefronts - block->load_wavefronts + wavefronts,
        .lines = block->lines,
        .sectors = block->sectors,
        .distinct_sectors = block->distinct_sectors,
        .barriers = block->barriers,
        .waits = waits_of(explanation, warps),
        .chain = (double)question->k,
        .dram_bytes = dram_bytes_of(question, pair, explanation, (double)explanation->occupancy.blocks),
    };
    explanation->counts_loop = knows_loop(explanation);
    explanation->prediction = lab_predict(&question->machine, &explanation->load);
}

/* ---- All of it -------------------------------------------------------------------------------- */

/* Occupancy, which needs the compiler's registers; the number of threads is known without them. */
static void hold(const lab_question *question, lab_explanation *explanation)
{
    const lab_limits *limits = lab_limits_of(question->machine.arch);
    if (!explanation->is_compiled && explanation->is_seen && explanation->sight.totals.blocks > 0)
        explanation->threads = explanation->sight.totals.threads / explanation->sight.totals.blocks;
    if (limits && explanation->is_compiled)
        explanation->occupancy = lab_occupancy_of(limits, explanation->threads, explanation->registers,
                                                  explanation->shared_bytes);
}

static void begin(const lab_question *question, const pair_t *pair, lab_explanation *explanation)
{
    const rung_kernel_info *info = rung_kernel_describe(pair->simt);
    const char *slash = strrchr(info->file, '/');
    snprintf(explanation->kernel, sizeof explanation->kernel, "%s", info->name);
    snprintf(explanation->file, sizeof explanation->file, "%s", slash ? slash + 1 : info->file);
    explanation->dtype = question->dtype.name;
    explanation->m = question->m, explanation->n = question->n, explanation->k = question->k;
    explanation->machine = question->machine;
}

static void explain_pair(const lab_question *question, const pair_t *pair, lab_explanation *explanation)
{
    rung_type in = question->dtype.product.in;
    explanation->bm = evaluate(pair, explanation, in, "BM", 16);
    explanation->bn = evaluate(pair, explanation, in, "BN", 16);
    look_twice(question, pair, explanation);
    hold(question, explanation);
    if (explanation->is_seen && explanation->is_compiled && explanation->is_taken_apart)
        predict(question, pair, explanation);
    lab_find_mistakes(explanation, rung_kernel_describe(pair->simt)->source);
}

bool lab_explain(const lab_question *question, lab_explanation *explanation, char *why, size_t capacity)
{
    pair_t pair;
    memset(explanation, 0, sizeof *explanation);
    if (!open_pair(question->kernel, &pair, why, capacity))
        return false;
    begin(question, &pair, explanation);
    bool good = lab_takes(pair.simt, &question->dtype);
    if (!good)
        snprintf(why, capacity, "%s does not take %s; rung kernels %s tells what it takes", explanation->kernel,
                 question->dtype.name, question->kernel);
    good = good && compile(question, &pair, explanation, why, capacity);
    if (good)
        explain_pair(question, &pair, explanation);
    close_pair(&pair);
    return good;
}

void lab_explanation_free(lab_explanation *explanation)
{
    lab_sight_free(&explanation->sight);
}

static const struct {
    const char *name, *gives, *missing;
} tools[] = {
#define X(name, word, gives) {word, gives, word " is missing"},
    LAB_TOOL_LIST(X)
#undef X
};

const char *lab_tool_name(lab_tool tool)
{
    return tools[tool].name;
}

const char *lab_tool_gives(lab_tool tool)
{
    return tools[tool].gives;
}

const char *lab_tool_advice(const lab_explanation *explanation, lab_tool tool)
{
    switch (tool) {
    case LAB_TOOL_NVRTC: return explanation->why_uncompiled;
    case LAB_TOOL_NVDISASM: return explanation->why_whole;
    default: return explanation->why_unseen;
    }
}

bool lab_may_compare(const lab_explanation *a, const lab_explanation *b)
{
    return a->prediction.runs && b->prediction.runs && a->counts_loop == b->counts_loop;
}

/* The first of the missing tools among `wanted`, NULL if all are installed. */
static const char *first_missing(const lab_explanation *explanation, unsigned wanted)
{
    for (int tool = 0; tool < LAB_TOOL_COUNT; tool++)
        if (explanation->missing_tools & wanted & 1u << tool)
            return tools[tool].missing;
    return NULL;
}

const char *lab_why_not_counted(const lab_explanation *explanation)
{
    const char *missing = first_missing(explanation, 1u << LAB_TOOL_OCLGRIND | 1u << LAB_TOOL_COUNTERS);
    return explanation->is_seen ? "" : missing ? missing : explanation->why_unseen;
}

const char *lab_why_not_predicted(const lab_explanation *explanation)
{
    const char *missing = first_missing(explanation, ~0u);
    if (explanation->prediction.runs)
        return "";
    if (missing)
        return missing;
    if (!explanation->is_seen)
        return explanation->why_unseen;
    if (!explanation->is_taken_apart)
        return explanation->why_whole;
    return explanation->prediction.peak_gflops > 0 ? "no multiprocessor holds a block of it"
                                                   : "this GPU has no matrix engine for this type";
}

static double ratio(double over, double under)
{
    return under > 0 ? over / under : 0;
}

double lab_sectors_per_request(const lab_explanation *explanation)
{
    return ratio(explanation->block.sectors, explanation->block.global_requests);
}

double lab_sectors_ideal(const lab_explanation *explanation)
{
    return ratio(explanation->block.sectors_ideal, explanation->block.global_requests);
}

double lab_wavefronts_per_request(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    return ratio(block->wavefronts, block->shared_loads + block->shared_stores);
}

double lab_wavefronts_ideal(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    return ratio(block->wavefronts_ideal, block->shared_loads + block->shared_stores);
}
