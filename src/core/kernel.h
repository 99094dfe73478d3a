/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - a kernel as its file declares it, and the values of its parameters. kernel_parse.c reads the file, kernel.c
 * has the rest. */
#pragma once

#include "base/string_view.h"
#include "core/context.h"

/* All parameters of a kernel fit one text, "NAME=value,...": a value has at most 10 digits. */
enum { RUNGI_PARAMETERS_MAX = 16, RUNGI_PARAMETER_NAME_MAX = 31 };
_Static_assert(RUNGI_PARAMETERS_MAX *(RUNGI_PARAMETER_NAME_MAX + 12) <= RUNG_PARAMETERS_BYTES,
               "the parameters of every kernel fit RUNG_PARAMETERS_BYTES");

typedef struct rungi_kernel_macro {
    rungi_string_view name, text;
} rungi_kernel_macro;

/* A line #include "name". */
typedef struct rungi_kernel_include {
    rungi_string_view name;
    rungi_string_view line; /* the whole line, without its line end */
    int64_t number;
} rungi_kernel_include;

enum { RUNGI_INCLUDES_MAX = 12 };

struct rung_kernel {
    rung_kernel_info info;
    rung_context *context;
    bool holds_context;    /* kernel of a caller */
    bool is_reduction;     /* the library's kernel that adds the slices of a split-K multiply */
    bool has_short_rows;   /* the file has the line "short: rows": see rungi_kernel_transposes() */
    atomic_int references; /* used for kernels of callers only */
    const rungi_backend *backend;
    const rungi_ladder_step *step; /* NULL for a kernel of a caller */
    char *text;                    /* memory of info.source and of all string views */
    rungi_string_view entry;       /* name of the function; empty in C files */
    rungi_string_view threads;     /* an expression */
    rungi_gemm_types_set types;
    unsigned computes;                  /* bit set of rung_compute */
    int min_sm[RUNGI_GEMM_TYPES_COUNT]; /* per type: 80 requires sm_80 or later on NVIDIA GPUs; 0: none */
    rung_parameter *parameters;
    rung_constraint *constraints;
    rung_preset *presets;
    rungi_kernel_include includes[RUNGI_INCLUDES_MAX];
    int64_t include_count;
    rungi_kernel_macro *macros;
    int64_t macro_count;
    char defaults[RUNG_PARAMETERS_BYTES];
    char *strings; /* memory of names and reasons */
    int64_t *choices;
};

/* Returns whether B of all problems that the kernel multiplies has another type than A. */
static inline bool rungi_kernel_has_narrow_b(const rung_kernel *kernel)
{
    return kernel->types != 0 && (kernel->types & RUNGI_GEMM_TYPES_SAME) == 0;
}

/* Returns whether a GPU kernel computes C as the transposed product B^T A^T. Most kernels need a row-major C. A kernel for few
 * rows needs a C with at most as many rows as columns, in any layout. A kernel for a narrow B cannot exchange A and B. */
static inline bool rungi_kernel_transposes(const rung_kernel *kernel, const rung_matrix *c)
{
    if (rungi_kernel_has_narrow_b(kernel))
        return false;
    return kernel->has_short_rows ? c->rows > c->cols : c->row_stride < c->col_stride;
}

/* The value of every parameter, in the kernel's order, and the value of IN_BYTES in the kernel's expressions: the size of
 * an element of A and B. */
typedef struct rungi_parameter_values {
    int64_t value[RUNGI_PARAMETERS_MAX];
    int64_t in_bytes;
} rungi_parameter_values;

enum { RUNGI_DEFAULT_IN_BYTES = 4 };

/* Parses a kernel file into a kernel whose context and backend are set. */
rung_status rungi_kernel_parse(rung_kernel *kernel, const char *file, const char *text);

void rungi_kernel_free(rung_kernel *kernel);

/* Adds a reference, for plans: they keep a kernel of a caller alive. rung_kernel_destroy() removes it. */
const rung_kernel *rungi_kernel_retain(const rung_kernel *kernel);

/* Returns the compute mode in which the kernel computes a problem; STRICT if it does not, and for types other than F32. */
rung_compute rungi_kernel_compute(const rung_kernel *kernel, const rung_problem *problem);

/* Returns the first NVIDIA architecture that has the kernel's instructions for a problem, 80 for sm_80; 0: any. */
int rungi_kernel_min_sm(const rung_kernel *kernel, const rung_problem *problem);

/* Returns the most precise mode of the kernel. */
rung_compute rungi_kernel_most_precise(const rung_kernel *kernel);

/* Returns whether the kernel computes a problem in another mode than info.compute. It is then compiled with -DCOMPUTE. */
bool rungi_kernel_needs_compute_macro(const rung_kernel *kernel, const rung_problem *problem);

/* Fails because the kernel, whose only_sm is set, belongs to a backend without these instructions. */
rung_status rungi_kernel_reject_backend(const rung_kernel *kernel);

bool rungi_kernel_has_preset(const rung_kernel *kernel, const char *name);

enum { RUNGI_PRESET_NAME_BYTES = 32 };

/* Writes the name of the default preset for an architecture, or for a kind of device and an accumulator type, or for one
 * of the two: "sm_75", "cpu_f64", "cpu", "f64". Writes "", the defaults, if the kernel has none of them. Kind and
 * architecture may be NULL. */
void rungi_kernel_default_preset(const rung_kernel *kernel, const char *kind, const char *architecture, rung_type sum,
                                 char name[RUNGI_PRESET_NAME_BYTES]);

/* Writes the name of the preset for C with up to `rows` rows, "rows4" for 3 rows, of a kernel for a narrow B. Returns false if
 * the kernel has none. */
bool rungi_kernel_rows_preset(const rung_kernel *kernel, int64_t rows, char name[RUNGI_PRESET_NAME_BYTES]);

/* Writes the name of the preset for small problems: "cpu_small" of a kind, "sm_75_small", or else "small". Returns false
 * if the kernel has none. */
bool rungi_kernel_small_preset(const rung_kernel *kernel, const char *kind, const char *architecture,
                               char name[RUNGI_PRESET_NAME_BYTES]);

/* Parses a list such as "TILE=16" over the defaults and checks every constraint. */
rung_status rungi_kernel_parse_parameters(const rung_kernel *kernel, const char *text, int64_t in_bytes,
                                          rungi_parameter_values *values);

/* Does the same for parameters of tuning files, and checks that each value is between half the smallest and twice the largest value that the kernel's file lists as a
 * default, choice or preset: constraints alone allow values that a compiler works on for hours. */
rung_status rungi_kernel_parse_tuned_parameters(const rung_kernel *kernel, const char *text, int64_t in_bytes,
                                                rungi_parameter_values *values);

/* Evaluates an expression over the kernel's names. */
rung_status rungi_kernel_evaluate(const rung_kernel *kernel, const rungi_parameter_values *values,
                                  rungi_string_view expression, int64_t *number);

/* Writes all values as "TILE=16,UNROLL=4". */
void rungi_kernel_format_parameters(const rung_kernel *kernel, const rungi_parameter_values *values, char *text,
                                    size_t capacity);
