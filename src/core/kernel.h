/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - a kernel as its file describes it, and parameters given to it. */
#ifndef RUNGI_KERNEL_H
#define RUNGI_KERNEL_H

#include "core/context.h"

/* Limits such that all parameters of a kernel fit one text, "NAME=value,...": a value has at most 10 digits. */
enum { RUNGI_PARAMETERS_MAX = 16, RUNGI_PARAMETER_NAME = 31 };
_Static_assert(RUNGI_PARAMETERS_MAX *(RUNGI_PARAMETER_NAME + 12) <= RUNG_PARAMETERS_BYTES,
               "the parameters of every kernel fit RUNG_PARAMETERS_BYTES");

/* A stretch of the kernel's own text. */
typedef struct rungi_slice {
    const char *text;
    size_t length;
} rungi_slice;

typedef struct rungi_macro {
    rungi_slice name, text;
} rungi_macro;

/* A line that includes a header by a name in quotes. */
typedef struct rungi_include {
    rungi_slice name;
    rungi_slice line; /* the whole of it, without its end */
    int64_t number;
} rungi_include;

enum { RUNGI_INCLUDES_MAX = 8 };

struct rung_kernel {
    rung_kernel_info info;
    rung_context *context;
    bool holds_context;    /* a caller's own */
    bool is_reduction;     /* the library's kernel that adds up slices of k */
    atomic_int references; /* of a caller's own */
    const rungi_backend *backend;
    const rungi_ladder_step *step;   /* NULL for a caller's own */
    char *text;                      /* the memory behind info.source and all slices */
    rungi_slice entry;               /* the function's name; empty in C files */
    rungi_slice threads;             /* an expression */
    unsigned products;               /* it multiplies, as bits: see product.h */
    int min_sm[RUNGI_PRODUCT_COUNT]; /* 80: on NVIDIA GPUs from sm_80 on; 0: on all */
    rung_parameter *parameters;
    rung_constraint *constraints;
    rung_preset *presets;
    rungi_include includes[RUNGI_INCLUDES_MAX];
    int64_t include_count;
    rungi_macro *macros;
    int64_t macro_count;
    char defaults[RUNG_PARAMETERS_BYTES];
    char *strings; /* names and reasons, cut out of the text */
    int64_t *choices;
};

/* The value of every parameter, in the kernel's order, and what IN_BYTES stands for in
 * the kernel's expressions: the size of an element of A and B. */
typedef struct rungi_values {
    int64_t value[RUNGI_PARAMETERS_MAX];
    int64_t in_bytes;
} rungi_values;

enum { RUNGI_USUAL_BYTES = 4 };

/* Reads what the text says of itself into a kernel that has context, backend and
 * step set. (kernel_text.c) */
rung_status rungi_kernel_read(rung_kernel *kernel, const char *file, const char *text);

void rungi_kernel_free(rung_kernel *kernel);

/* For plans, which keep a caller's kernel alive. rung_kernel_destroy gives back. */
const rung_kernel *rungi_kernel_retain(const rung_kernel *kernel);

bool rungi_kernel_has_preset(const rung_kernel *kernel, const char *name);

enum { RUNGI_PRESET_NAME = 32 };

/* The preset for an architecture, or for a kind of device and a type of sums, or for either:
 * "sm_75", "cpu_f64", "cpu", "f64"; "", which is the defaults, where there is none. Kind and
 * architecture may be NULL. */
void rungi_kernel_usual_preset(const rung_kernel *kernel, const char *kind, const char *architecture, rung_type sum,
                               char name[RUNGI_PRESET_NAME]);

/* The one for small problems: "cpu_small" of a kind, "sm_75_small" or else "small". False if
 * there is none. */
bool rungi_kernel_small_preset(const rung_kernel *kernel, const char *kind, const char *architecture,
                               char name[RUNGI_PRESET_NAME]);

/* "TILE=16" over the defaults, then every constraint. */
rung_status rungi_kernel_values(const rung_kernel *kernel, const char *text, int64_t in_bytes, rungi_values *values);

/* Whether each value lies from half the smallest to twice the largest that the kernel's file
 * lists for it, as default, choice or preset: constraints alone let through what a compiler
 * works on for hours. For parameters that no caller gave. */
rung_status rungi_kernel_check_range(const rung_kernel *kernel, const rungi_values *values);

/* An expression over the kernel's names, given their values. */
rung_status rungi_kernel_number(const rung_kernel *kernel, const rungi_values *values, rungi_slice expression,
                                int64_t *number);

/* All values as "TILE=16,UNROLL=4". */
void rungi_kernel_values_text(const rung_kernel *kernel, const rungi_values *values, char *text, size_t capacity);

static inline rungi_slice rungi_slice_of(const char *text, size_t length)
{
    return (rungi_slice){text, length};
}

#endif /* RUNGI_KERNEL_H */
