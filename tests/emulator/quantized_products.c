/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_products.c - compiles quantized_products.cu for compute_120a, runs it in the emulator with all checks, and compares
 * the quantized elements, the scales and the products with those of the host, bit by bit.
 *
 *     quantized_products --nvrtc LIBRARY --include FOLDER --source FILE
 *
 * FOLDER has cuda_fp4.h. The exit status is 1 if something differs. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc_program.h"
#include "rung/emulator.h"

enum { ROWS = 16, COLUMNS = 8, DEPTH = 256, VECTORS = ROWS + COLUMNS, TEXT_MAX = 1 << 16 };

/* A format without infinity. Codes of NaN are not finite. */
typedef struct format {
    int bits, fraction_bits, bias;
    bool has_nan; /* the largest magnitude */
} format_t;

static const format_t e4m3 = {8, 3, 7, true}, e3m2 = {6, 2, 3, false}, e2m1 = {4, 1, 1, false};

static double value_of(const format_t *format, int code)
{
    int magnitude = code & ((1 << (format->bits - 1)) - 1);
    int exponent = magnitude >> format->fraction_bits, fraction = magnitude & ((1 << format->fraction_bits) - 1);
    double value = exponent
                       ? ldexp((1 << format->fraction_bits) + fraction, exponent - format->bias - format->fraction_bits)
                       : ldexp(fraction, 1 - format->bias - format->fraction_bits);
    return code >> (format->bits - 1) & 1 ? -value : value;
}

/* Returns the code of the nearest number; of two, the even code. */
static int nearest(const format_t *format, float x)
{
    int sign = 1 << (format->bits - 1), count = sign - format->has_nan, best = 0;
    for (int code = 1; code < count; code++) {
        double distance = fabs(value_of(format, code) - fabs((double)x));
        double least = fabs(value_of(format, best) - fabs((double)x));
        if (distance < least || (distance == least && code % 2 == 0))
            best = code;
    }
    return signbit(x) ? best | sign : best;
}

/* One kernel. */
typedef struct product {
    const char *kernel;
    int block;
    const format_t *a, *b;
} product_t;

static const product_t products[] = {{"nvfp4", 16, &e2m1, &e2m1}, {"mxfp8_mxfp6", 32, &e4m3, &e3m2}};

static float scale_value(const product_t *product, int code)
{
    return product->block == 16 ? (float)value_of(&e4m3, code) : ldexpf(1, code - 127);
}

/* Returns the code of the scale of a block. */
static int scale_code(const product_t *product, const format_t *format, const float *x)
{
    float max = 0;
    int code = 0;
    for (int i = 0; i < product->block; i++)
        max = fmaxf(max, fabsf(x[i]));
    if (product->block == 16)
        return nearest(&e4m3, max / 6);
    max /= format == &e4m3 ? 448 : 28;
    while (code < 254 && ldexpf(1, code - 127) < max)
        code++;
    return code;
}

static void report(rung_emulator *emulator, const char *what)
{
    fprintf(stderr, "quantized_products: %s: %s\n", what, rung_error_text());
    for (int64_t i = 0; emulator && i < rung_emulator_finding_count(emulator); i++)
        fprintf(stderr, "%s\n", rung_emulator_finding_at(emulator, i)->text);
    exit(1);
}

/* Fills A and B: numbers of different sizes, and a block of zeros. */
static void draw(float *x, uint64_t state)
{
    for (int i = 0; i < VECTORS * DEPTH; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = ldexpf((float)(int32_t)(uint32_t)(state >> 32), (int)(state >> 20 & 7) - 34);
        if (i / 32 == 5)
            x[i] = 0;
    }
}

/* Compares what the kernel has stored. Returns the number of differences. */
static int compare(const product_t *product, const float *x, const unsigned char *elements, const unsigned char *scales,
                   const float *d)
{
    static float values[VECTORS][DEPTH];
    int wrong = 0, blocks = DEPTH / product->block;
    for (int vector = 0; vector < VECTORS; vector++)
        for (int k = 0; k < DEPTH; k++) {
            const format_t *format = vector < ROWS ? product->a : product->b;
            int index = vector * DEPTH + k, block = vector * blocks + k / product->block;
            int scale = scale_code(product, format, x + block * product->block);
            float unit = scale_value(product, scale);
            int code = nearest(format, unit > 0 ? x[index] / unit : 0);
            int stored = format->bits == 4 ? elements[index / 2] >> 4 * (index % 2) & 15 : elements[index];
            wrong += stored != code || scales[block] != scale;
            values[vector][k] = (float)value_of(format, code) * unit; /* exact */
        }
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            float sum = 0;
            for (int k = 0; k < DEPTH; k++)
                sum = fmaf(values[row][k], values[ROWS + column][k], sum);
            wrong += sum != d[row * COLUMNS + column];
        }
    return wrong;
}

static int run(rung_emulator *emulator, rung_emulator_module *module, const product_t *product, uint64_t seed)
{
    static float x[VECTORS * DEPTH], d[ROWS * COLUMNS];
    static unsigned char elements[VECTORS * DEPTH], scales[VECTORS * DEPTH / 16];
    const int64_t bytes[] = {sizeof x, sizeof elements, sizeof scales, sizeof d};
    uint64_t address[4], b;
    rung_emulator_kernel *kernel;
    draw(x, seed);
    for (int i = 0; i < 4; i++)
        if (rung_emulator_allocate(emulator, bytes[i], "array", &address[i]) != RUNG_OK)
            report(NULL, "allocating");
    b = address[0] + ROWS * DEPTH * sizeof *x;
    void *arguments[] = {&address[0], &b, &address[1], &address[2], &address[3]};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 32, arguments);
    if (rung_emulator_write(emulator, address[0], x, sizeof x) != RUNG_OK ||
        rung_emulator_kernel_find(module, product->kernel, &kernel) != RUNG_OK ||
        rung_emulator_launch_kernel(kernel, &launch) != RUNG_OK || rung_emulator_finding_count(emulator) > 0)
        report(emulator, product->kernel);
    int64_t used = product->a->bits == 4 ? sizeof elements / 2 : sizeof elements;
    if (rung_emulator_read(emulator, address[1], elements, used) != RUNG_OK ||
        rung_emulator_read(emulator, address[2], scales, VECTORS * DEPTH / product->block) != RUNG_OK ||
        rung_emulator_read(emulator, address[3], d, sizeof d) != RUNG_OK)
        report(emulator, "reading results");
    int wrong = compare(product, x, elements, scales, d);
    for (int i = 0; i < 4; i++)
        rung_emulator_free(emulator, address[i]);
    return wrong;
}

static char *read_file(const char *path)
{
    static char text[TEXT_MAX];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    return length > 0 && length < sizeof text - 1 ? text : NULL;
}

int main(int count, char **arguments)
{
    const char *library = NULL, *folder = NULL, *path = NULL;
    for (int i = 1; i + 1 < count; i += 2) {
        library = strcmp(arguments[i], "--nvrtc") == 0 ? arguments[i + 1] : library;
        folder = strcmp(arguments[i], "--include") == 0 ? arguments[i + 1] : folder;
        path = strcmp(arguments[i], "--source") == 0 ? arguments[i + 1] : path;
    }
    if (!library || !folder || !path) {
        fprintf(stderr, "usage: quantized_products --nvrtc LIBRARY --include FOLDER --source FILE\n");
        return 2;
    }
    const char *problem = nvrtc_load(library);
    char *source = read_file(path);
    if (problem || !source) {
        fprintf(stderr, "quantized_products: %s\n", problem ? problem : "the source cannot be read");
        return 1;
    }
    char include[4096];
    size_t bytes;
    int wrong = 0;
    snprintf(include, sizeof include, "--include-path=%s", folder);
    const char *options[] = {"--gpu-architecture=compute_120a", "--generate-line-info", include};
    char *ptx = nvrtc_compile("quantized_products.cu", source, 3, options, &bytes);
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_options settings = rung_emulator_options_default();
    settings.checks = RUNG_EMULATOR_CHECK_ALL;
    if (!ptx)
        return 1;
    if (rung_emulator_create(&settings, &emulator) != RUNG_OK ||
        rung_emulator_module_load(emulator, "quantized_products.ptx", ptx, bytes, &module) != RUNG_OK)
        report(NULL, "loading the PTX");
    for (int i = 0; i < 2; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            int differences = run(emulator, module, &products[i], seed);
            printf("%s, seed %d: %d differences\n", products[i].kernel, (int)seed, differences);
            wrong += differences;
        }
    rung_emulator_destroy(emulator);
    free(ptx);
    return wrong > 0;
}
