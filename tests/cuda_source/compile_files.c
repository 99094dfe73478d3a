/* SPDX-License-Identifier: Apache-2.0 */
/* compile_files.c - compiles the files that it is given and prints one line per file: path, way or status, and the first
 * error. results/plain_cuda/compiled_files.tsv was made with it, one file of a published repository per call. */
#include "cuda_source/cuda_compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 8 << 20 };

static const char *const way_names[] = {"whole", "helpers", "device", "nvcc"};
static const char *const status_names[] = {"compiled", "rejected", "no-compiler", "no-headers", "limit", "failed"};

/* Prints the first error of a log without its line end. */
static void print_error(const char *log)
{
    const char *error = log ? strstr(log, "error:") : NULL;
    while (error && error > log && error[-1] != '\n')
        error--;
    if (error)
        printf("%.*s", (int)strcspn(error, "\n\t"), error);
}

static int compile_file(const char *path, int architecture, int option_count, const char *const *options)
{
    static char text[FILE_BYTES_MAX];
    char why[2048];
    lab_cuda_code code;
    FILE *file = fopen(path, "re");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    lab_cuda_job job = {.file = path,
                        .text = text,
                        .bytes = bytes,
                        .architecture = architecture,
                        .options = options,
                        .option_count = option_count};
    lab_cuda_compile_status status = lab_cuda_compile(&job, &code, why, sizeof why);
    int kernels = 0;
    for (const char *at = code.ptx; at && (at = strstr(at, ".entry")); at++)
        kernels++;
    printf("%s\t%s\t%d\t", path, status == LAB_CUDA_COMPILED ? way_names[code.way] : status_names[status], kernels);
    if (status == LAB_CUDA_REJECTED && *why && strstr(code.log, "error:"))
        print_error(code.log);
    else if (status != LAB_CUDA_COMPILED)
        printf("%s", why);
    putchar('\n');
    if (getenv("COMPILE_FILES_LOG"))
        printf("%s\n", code.log);
    lab_cuda_code_free(&code);
    return 0;
}

int main(int argc, char **argv)
{
    int architecture = argc > 1 ? atoi(argv[1]) : 0, first = 2;
    while (first < argc && argv[first][0] == '-')
        first++;
    if (architecture < 50 || first >= argc) {
        fprintf(stderr, "usage: compile_files ARCHITECTURE [OPTION...] FILE...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        if (compile_file(argv[i], architecture, first - 2, (const char *const *)argv + 2) != 0)
            return 1;
    return 0;
}
