/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_speed - writes the table from which the CUDA device chooses tile shapes, src/simt/kernel_speed.def.
 *
 *   kernel_speed write SOURCE FILE [ARCHITECTURE|KERNEL]   predicts all presets and writes FILE; needs NVRTC, nvdisasm
 *   kernel_speed check SOURCE FILE                         compares FILE with the kernels in the folder SOURCE
 *
 * SOURCE is src/simt/kernels. With an architecture, 86 for example, FILE has the rows of that one only. With a kernel,
 * 14_skinny for example, only its rows are predicted, and FILE keeps the rows of the other kernels.
 *
 * A row has the clocks that a multiprocessor needs per block, as the model of `rung explain` predicts them: for each number
 * of resident blocks and each k of rungi_speed_lengths, the clocks if L2 has the operands, and those added if it does not.
 * Each architecture is represented by the first GPU of lab/explain/gpus.def. A row depends on the text of the kernel and of
 * its headers, without comments; the table has a checksum of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xxh64.h"
#include "explain/preset_model.h"
#include "simt/kernel_speed.h"

static const int architectures[] = {60, 61, 70, 75, 80, 86, 89, 90, 100, 120};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* The forms of problems: what is missing to a multiple of the tile in m and n, and in k. */
typedef struct path {
    const char *name;
    int64_t tile_remainder, k_remainder;
} path_t;

static const path_t WIDE = {"WIDE", 0, 0}, GUARDED = {"GUARDED", 16, 0}, GENERAL = {"GENERAL", 1, 1};

/* The types of a kernel for which the table has rows, from one architecture to another. Of presets that are equally fast the
 * first one is chosen: if DRAM limits both, 14_skinny. */
static const struct line {
    const char *kernel, *type; /* the type of A and B */
    lab_dtype dtype;
    int from, to;
    const path_t *paths[4];
} lines[] = {
    /* clang-format off */
    {"14_skinny", "F32", {{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f32"}, 60, 120, {&WIDE, &GUARDED, &GENERAL}},
    {"14_skinny", "F64", {{.in = RUNG_F64, .out = RUNG_F64}, RUNG_COMPUTE_STRICT, "f64"}, 60, 120, {&WIDE, &GUARDED, &GENERAL}},
    {"14_skinny", "F16", {{.in = RUNG_F16, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f16:f32"}, 60, 120, {&WIDE, &GUARDED, &GENERAL}},
    /* The model does not count the products of I8 on the general path for sm_100 and later. */
    {"14_skinny", "I8", {{.in = RUNG_I8, .out = RUNG_I32}, RUNG_COMPUTE_STRICT, "i8"}, 60, 90, {&WIDE, &GUARDED, &GENERAL}},
    {"12_matrix", "F16", {{.in = RUNG_F16, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f16:f32"}, 75, 120, {&GUARDED, &GENERAL}},
    {"12_matrix", "F32", {{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_TF32, "tf32"}, 80, 120, {&GUARDED, &GENERAL}},
    {"12_matrix", "TF32X3", {{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_TF32X3, "tf32x3"}, 80, 120, {&GUARDED, &GENERAL}},
    {"12_matrix", "BF16X3", {{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_BF16X3, "bf16x3"}, 80, 120, {&GUARDED, &GENERAL}},
    {"12_matrix", "I8", {{.in = RUNG_I8, .out = RUNG_I32}, RUNG_COMPUTE_STRICT, "i8"}, 75, 120, {&GUARDED, &GENERAL}},
    {"12_matrix", "F64", {{.in = RUNG_F64, .out = RUNG_F64}, RUNG_COMPUTE_STRICT, "f64"}, 80, 120, {&GUARDED, &GENERAL}},
    {"11_wmma", "F16", {{.in = RUNG_F16, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f16:f32"}, 70, 70, {&GUARDED}},
    {"10_pipeline", "F32", {{.in = RUNG_F32, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f32"}, 60, 120, {&WIDE, &GUARDED, &GENERAL}},
    {"10_pipeline", "F64", {{.in = RUNG_F64, .out = RUNG_F64}, RUNG_COMPUTE_STRICT, "f64"}, 60, 120, {&GUARDED}},
    {"10_pipeline", "F16", {{.in = RUNG_F16, .out = RUNG_F32}, RUNG_COMPUTE_STRICT, "f16:f32"}, 60, 75, {&GUARDED}},
    {"10_pipeline", "I8", {{.in = RUNG_I8, .out = RUNG_I32}, RUNG_COMPUTE_STRICT, "i8"}, 60, 70, {&GUARDED}},
    /* clang-format on */
};
enum { LINES = sizeof lines / sizeof *lines };

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "kernel_speed: %s: %s\n", what, why);
    exit(1);
}

/* ---- Checksums ---- */

static char *read_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path, "cannot be read");
    long bytes = ftell(file);
    char *text = calloc(1, (size_t)bytes + 1);
    rewind(file);
    if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
        fail(path, "cannot be read");
    fclose(file);
    return text;
}

/* Removes comments, except lines with presets, and repeated white space. */
static void strip_comments(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        if (strncmp(from, "/*", 2) == 0) {
            const char *end = strstr(from + 2, "*/");
            from = end ? end + 2 : from + strlen(from);
        } else if (strncmp(from, "//", 2) == 0 && strncmp(from, "// preset", 9) != 0) {
            from += strcspn(from, "\n");
        } else if (strchr(" \t\n", *from)) {
            if (to > text && !strchr(" \n", to[-1]))
                *to++ = *from == '\n' ? '\n' : ' ';
            else if (*from == '\n' && to > text)
                to[-1] = '\n';
            from++;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* Returns the checksum of a kernel and of the headers that it includes. */
static unsigned long long checksum_of(const char *folder, const char *file)
{
    char *text = read_file(folder, file);
    rungi_xxh64 hash;
    rungi_xxh64_begin(&hash);
    strip_comments(text);
    unsigned long long sum = rungi_xxh64_end(&hash, text, strlen(text));
    for (const char *at = text; (at = strstr(at, "#include \"")) != NULL;) {
        char name[64];
        at += strlen("#include \"");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
        sum = sum * 31 + checksum_of(folder, name);
    }
    free(text);
    return sum;
}

static unsigned long long kernel_checksum(const char *folder, const char *kernel)
{
    char file[64];
    snprintf(file, sizeof file, "%s.cu", kernel);
    return checksum_of(folder, file);
}

/* ---- Presets ---- */

/* Returns whether a preset is a candidate: those of CPUs, of other types, modes and architectures are not. */
static bool is_candidate(const char *preset, const lab_dtype *dtype, int architecture)
{
    rung_type sum = lab_type_pair_accumulator(dtype->product);
    char own[16];
    snprintf(own, sizeof own, "sm_%d", architecture);
    if (strncmp(preset, "sm_", 3) == 0)
        return strncmp(preset, own, strlen(own)) == 0 && (preset[strlen(own)] == '\0' || preset[strlen(own)] == '_');
    bool has_large_fragments = strcmp(preset, "wide") == 0 || strcmp(preset, "large") == 0 ||
                               strcmp(preset, "deep") == 0;
    if (sum == RUNG_F64 && has_large_fragments) /* 64 or more sums per thread, which need 128 registers */
        return false;
    if (strcmp(preset, "f64") == 0 || strcmp(preset, "i32") == 0)
        return strcmp(preset, rung_type_name(sum)) == 0;
    if (strcmp(preset, "tf32x3") == 0 || strcmp(preset, "bf16x3") == 0)
        return strcmp(preset, rung_compute_name(dtype->compute)) == 0;
    return strncmp(preset, "cpu", 3) != 0;
}

/* Calls `visit` for each preset of a line and an architecture; "" are the defaults of the file. */
typedef void visit_preset_t(const struct line *line, int architecture, const char *preset, void *user);

static void visit_presets(const struct line *line, int architecture, visit_preset_t *visit, void *user)
{
    rung_kernel *kernel;
    if (rung_kernel_find(NULL, "cuda", line->kernel, &kernel) != RUNG_OK)
        fail(line->kernel, rung_error_text());
    visit(line, architecture, "", user);
    for (int64_t i = 0; i < rung_kernel_describe(kernel)->preset_count; i++)
        if (is_candidate(rung_kernel_preset(kernel, i)->name, &line->dtype, architecture))
            visit(line, architecture, rung_kernel_preset(kernel, i)->name, user);
}

static void visit_all(int only, visit_preset_t *visit, void *user)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        for (int j = 0; j < LINES; j++)
            if (architectures[i] >= lines[j].from && architectures[i] <= lines[j].to &&
                (only == 0 || only == architectures[i]))
                visit_presets(&lines[j], architectures[i], visit, user);
}

/* ---- Writing ---- */

/* The grids of blocks that are predicted. In a square grid, blocks share most of their operands in L2. In one row of tiles,
 * no two blocks load the same elements of B. */
typedef enum grid_form { SQUARE, ONE_ROW } grid_form;

/* Returns sizes whose tiles fill every multiprocessor with `resident` blocks once, as a grid of the given form. */
static lab_model_problem wave_of(const lab_preset_tile *tile, const path_t *path, int64_t sm_count, int resident,
                                 int64_t k, grid_form form)
{
    int64_t blocks = sm_count * resident, rows = 1;
    for (int64_t i = 1; form == SQUARE && i * i <= blocks; i++)
        if (blocks % i == 0)
            rows = i;
    int64_t less = path->tile_remainder, less_rows = less < tile->bm ? less : tile->bm - 1;
    return (lab_model_problem){rows * tile->bm - less_rows, blocks / rows * tile->bn - less, k - path->k_remainder, 1,
                               1};
}

/* What the rows of a preset are predicted with. */
typedef struct preset {
    lab_preset_model *model;
    const struct line *line;
    lab_gpu gpu;
    const path_t *path;
} preset_t;

/* A prediction for one wave: clocks per block, and the fraction of the operands that L2 does not have. */
typedef struct wave_prediction {
    double clocks, missed;
} wave_prediction_t;

static double missed_of(const preset_t *preset, int resident, const lab_model_problem *problem)
{
    lab_preset_tile tile = lab_preset_model_tile(preset->model);
    rungi_speed_row row = {
        .bm = (int)tile.bm, .bn = (int)tile.bn, .bk = (int)tile.bk, .group = (int)tile.group, .resident = resident};
    rungi_speed_gpu gpu = {.sm_count = preset->gpu.sm_count, .l2_bytes = preset->gpu.l2_kib * 1024};
    rungi_speed_problem speed_problem = {.m = (double)problem->m,
                                         .n = (double)problem->n,
                                         .k = (double)problem->k,
                                         .in_bytes = (double)rung_type_size(preset->line->dtype.product.in)};
    return rungi_speed_missed(&row, &gpu, &speed_problem, (double)problem->k);
}

/* Predicts a wave with `resident` blocks per multiprocessor at one k. */
static wave_prediction_t predict_wave(const preset_t *preset, int resident, int64_t k, grid_form form)
{
    lab_preset_tile tile = lab_preset_model_tile(preset->model);
    lab_model_problem problem = wave_of(&tile, preset->path, (int64_t)preset->gpu.sm_count, resident, k, form);
    lab_prediction prediction;
    char why[4096];
    if (!lab_preset_model_predict(preset->model, &problem, &prediction, NULL, why, sizeof why))
        fail("a prediction failed", why);
    return (wave_prediction_t){prediction.busy + prediction.clocks[LAB_BOTTLENECK_LATENCY],
                               missed_of(preset, resident, &problem)};
}

static void write_numbers(FILE *file, const double numbers[RUNGI_SPEED_LENGTHS])
{
    for (int i = 0; i < RUNGI_SPEED_LENGTHS; i++)
        fprintf(file, "%s%.5g", i ? ", " : "{", numbers[i]);
    fputc('}', file);
}

/* Writes the clocks with `resident` blocks. For each k, a line through the predictions for two grids gives the clocks if L2
 * has all operands and if it has none. */
static void write_clocks(FILE *file, const preset_t *preset, int resident)
{
    double hit[RUNGI_SPEED_LENGTHS], missed[RUNGI_SPEED_LENGTHS];
    for (int i = 0; i < RUNGI_SPEED_LENGTHS; i++) {
        int64_t k = (int64_t)rungi_speed_lengths[i];
        wave_prediction_t square = predict_wave(preset, resident, k, SQUARE);
        wave_prediction_t row = predict_wave(preset, resident, k, ONE_ROW);
        double more_missed = row.missed - square.missed;
        missed[i] = more_missed > 0 ? fmax(0, row.clocks - square.clocks) / more_missed : 0;
        hit[i] = fmax(0, square.clocks - missed[i] * square.missed);
    }
    fputs(", {", file);
    write_numbers(file, hit);
    fputs(", ", file);
    write_numbers(file, missed);
    fputc('}', file);
}

static void write_row(FILE *file, const preset_t *preset, int architecture, const char *name)
{
    enum { ANY_K = 1024 };
    lab_preset_tile tile = lab_preset_model_tile(preset->model);
    lab_model_problem one = wave_of(&tile, preset->path, (int64_t)preset->gpu.sm_count, 1, ANY_K, SQUARE);
    lab_prediction prediction;
    int64_t resident = 0;
    char why[4096];
    bool runs = lab_preset_model_predict(preset->model, &one, &prediction, &resident, why, sizeof why);
    if (!runs && resident > 0)
        fail(preset->line->kernel, why);
    fprintf(file, "SPEED(%d, \"%s\", \"%s\", %s, %s, %lld, %lld, %lld, %lld, %lld", architecture, preset->line->kernel,
            name, preset->line->type, preset->path->name, (long long)tile.bm, (long long)tile.bn, (long long)tile.bk,
            (long long)tile.group, (long long)resident);
    for (int r = 1; r <= resident && r <= RUNGI_SPEED_RESIDENT_MAX; r++)
        write_clocks(file, preset, r);
    fprintf(file, "%s)\n", resident == 0 ? ", {{0}, {0}}" : "");
}

/* The table that is written. */
typedef struct table {
    FILE *file;
    const char *only_kernel; /* whose rows are predicted; NULL: all */
    const char *old;         /* text with the rows of the other kernels */
} table_t;

/* Copies the rows of the old table that begin with `start`. */
static void copy_rows(const table_t *table, const char *start)
{
    const char *at = table->old;
    int count = 0;
    for (; (at = strstr(at, start)) != NULL; at++, count++)
        fprintf(table->file, "%.*s\n", (int)strcspn(at + 1, "\n"), at + 1);
    if (count == 0)
        fail(start + 1, "the old table has no such row; write the whole table");
}

static void write_preset(const struct line *line, int architecture, const char *preset, void *user)
{
    const table_t *table = user;
    char arch[16], why[4096];
    if (table->only_kernel && strcmp(table->only_kernel, line->kernel) != 0) {
        snprintf(why, sizeof why, "\nSPEED(%d, \"%s\", \"%s\", %s, ", architecture, line->kernel, preset, line->type);
        copy_rows(table, why);
        return;
    }
    rung_kernel *kernel;
    snprintf(arch, sizeof arch, "sm_%d", architecture);
    if (rung_kernel_find(NULL, "cuda", line->kernel, &kernel) != RUNG_OK)
        fail(line->kernel, rung_error_text());
    /* Without parameters, the compiler would use those of the architecture or of the type. */
    const char *parameters = *preset ? preset : rung_kernel_describe(kernel)->defaults;
    lab_explain_request request = {.kernel = line->kernel, .parameters = parameters, .dtype = line->dtype};
    if (!lab_gpu_of_arch(arch, &request.machine))
        fail(arch, "has no GPU in lab/explain/gpus.def");
    lab_preset_model *model = lab_preset_model_create(&request, why, sizeof why);
    if (!model)
        fail(line->kernel, why);
    for (int i = 0; line->paths[i]; i++)
        write_row(table->file, &(preset_t){model, line, request.machine, line->paths[i]}, architecture, preset);
    lab_preset_model_free(model);
    fprintf(stderr, "\rsm_%d %s %s %s          ", architecture, line->kernel, line->type, preset);
}

static const char HEAD[] =
    "/* kernel_speed.def - predicted clocks per block of the kernels that the CUDA device chooses from. Generated by\n"
    " * tools/kernel_speed.c; docs/reference/choosing.md has the command. Do not edit.\n"
    " *\n"
    " * KERNEL(kernel, checksum of its file and headers)\n"
    " * SPEED(architecture, kernel, preset, type of A and B, path, BM, BN, BK, rows of tiles per group, blocks per\n"
    " *       multiprocessor, then for 1, 2, ... resident blocks: clocks for each k of rungi_speed_lengths if L2 has the\n"
    " *       operands, and those added if it has none of them) */\n";

static bool is_first_line_of_kernel(int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(lines[i].kernel, lines[index].kernel) == 0)
            return false;
    return true;
}

/* Writes the line with the checksum of a kernel. */
static void write_checksum(const table_t *table, const char *folder, const char *kernel)
{
    char start[64];
    if (!table->only_kernel || strcmp(table->only_kernel, kernel) == 0) {
        fprintf(table->file, "KERNEL(\"%s\", 0x%016llx)\n", kernel, kernel_checksum(folder, kernel));
        return;
    }
    snprintf(start, sizeof start, "\nKERNEL(\"%s\", ", kernel);
    copy_rows(table, start);
}

static void write_table(const char *folder, const char *path, int only, const char *only_kernel)
{
    char unfinished[4096];
    snprintf(unfinished, sizeof unfinished, "%s.part", path);
    table_t table = {fopen(unfinished, "w"), only_kernel, only_kernel ? read_file(".", path) : NULL};
    if (!table.file)
        fail(unfinished, "cannot be written");
    fputs(HEAD, table.file);
    for (int i = 0; i < LINES; i++)
        if (is_first_line_of_kernel(i))
            write_checksum(&table, folder, lines[i].kernel);
    visit_all(only, write_preset, &table);
    fputc('\n', stderr);
    if (fclose(table.file) != 0 || rename(unfinished, path) != 0)
        fail(path, "cannot be written");
}

/* ---- Checking ---- */

typedef struct table_check {
    const char *text, *path;
    int missing;
} table_check_t;

static void check_preset(const struct line *line, int architecture, const char *preset, void *user)
{
    table_check_t *check = user;
    for (int i = 0; line->paths[i]; i++) {
        char row[256];
        snprintf(row, sizeof row, "\nSPEED(%d, \"%s\", \"%s\", %s, %s, ", architecture, line->kernel, preset,
                 line->type, line->paths[i]->name);
        if (!strstr(check->text, row)) {
            fprintf(stderr, "%s has no row%s\n", check->path, row);
            check->missing++;
        }
    }
}

static int check_table(const char *folder, const char *path)
{
    table_check_t check = {.text = read_file(".", path), .path = path};
    int stale = 0;
    for (int i = 0; i < LINES; i++) {
        char row[256];
        snprintf(row, sizeof row, "\nKERNEL(\"%s\", 0x%016llx)\n", lines[i].kernel,
                 kernel_checksum(folder, lines[i].kernel));
        if (is_first_line_of_kernel(i) && !strstr(check.text, row)) {
            fprintf(stderr, "%s is older than %s\n", path, lines[i].kernel);
            stale++;
        }
    }
    visit_all(0, check_preset, &check);
    if (stale + check.missing > 0)
        fprintf(stderr, "generate the table again: build/release/tools/kernel_speed write src/simt/kernels "
                        "src/simt/kernel_speed.def\n");
    return stale + check.missing > 0;
}

int main(int argc, char **argv)
{
    bool is_check = argc == 4 && strcmp(argv[1], "check") == 0;
    if (!is_check && (argc < 4 || argc > 5 || strcmp(argv[1], "write") != 0)) {
        fprintf(stderr, "usage: kernel_speed write|check SOURCE FILE [ARCHITECTURE|KERNEL]\n");
        return 2;
    }
    if (is_check)
        return check_table(argv[2], argv[3]);
    bool is_kernel = argc == 5 && strchr(argv[4], '_') != NULL;
    write_table(argv[2], argv[3], argc == 5 && !is_kernel ? atoi(argv[4]) : 0, is_kernel ? argv[4] : NULL);
    return 0;
}
