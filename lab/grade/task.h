/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - a task for students, as its folder describes it: the kernel with its arguments, the shapes on which a submission
 * is run, and what it gets points for. docs/reference/tasks.md describes the file task.toml. */
#pragma once

#include "check/element_type.h"
#include "check/integer_expression.h"
#include "io/toml_reader.h"

enum {
    LAB_TASK_ARGUMENTS_MAX = 16,
    LAB_TASK_SIZES_MAX = 8,
    LAB_TASK_SHAPES_MAX = 16, /* entries [[shape]] and [[hidden]] of the file */
    LAB_TASK_PARTS_MAX = 16,
    LAB_TASK_KINDS_MAX = 8, /* of findings per part */
    LAB_TASK_VARIABLES_MAX = 6,
    LAB_TASK_VALUES_MAX = 16, /* of one variable */
    LAB_TASK_PATH_BYTES = 4096
};

/* What an argument is for. */
/* clang-format off */
#define LAB_ROLE_LIST(X)                                                       \
    X(IN,     "in")     /* an array that the kernel reads */                   \
    X(OUT,    "out")    /* an array that the kernel writes completely */       \
    X(INOUT,  "inout")  /* an array that the kernel changes */                 \
    X(SIZE,   "size")   /* a number that follows from the shape */             \
    X(SCALAR, "scalar") /* a random number */
/* clang-format on */

typedef enum lab_role {
#define X(name, word) LAB_ROLE_##name,
    LAB_ROLE_LIST(X)
#undef X
        LAB_ROLE_COUNT
} lab_role;

typedef struct lab_task_argument {
    const char *name;
    lab_element_type type;
    lab_role role;
    const char *count;     /* of an array: an expression of the sizes */
    const char *value;     /* of a size: an expression of the sizes */
    double low, high;      /* range of random values; integers include both ends */
    const char *roundings; /* of a result: its error bound in units of rounding; an expression. "" for integers */
} lab_task_argument;

/* One shape, or a range from which hidden shapes are drawn. */
typedef struct lab_task_shape {
    bool is_hidden, is_measured;
    int64_t count;                    /* of hidden shapes to draw */
    int64_t low[LAB_TASK_SIZES_MAX];  /* by size */
    int64_t high[LAB_TASK_SIZES_MAX]; /* equal to `low` if the size is fixed */
    int64_t step[LAB_TASK_SIZES_MAX];
} lab_task_shape;

/* What a part of the points is for. */
typedef enum lab_part_kind {
    LAB_PART_SHAPES,   /* correct results */
    LAB_PART_FINDINGS, /* no findings of these kinds */
    LAB_PART_METRIC    /* a count of the emulator or the compiler */
} lab_part_kind;

/* Metrics: name in task.toml, unit for people. */
/* clang-format off */
#define LAB_METRIC_LIST(X)                                                                                             \
    X(GLOBAL_SECTOR_RATIO,    "global_sector_ratio",    "times the fewest sectors of the global memory requests")      \
    X(GLOBAL_SECTORS,         "global_sectors",         "sectors of global memory")                                    \
    X(GLOBAL_LOAD_SECTORS,    "global_load_sectors",    "sectors loaded from global memory")                           \
    X(GLOBAL_STORE_SECTORS,   "global_store_sectors",   "sectors stored to global memory")                             \
    X(GLOBAL_REQUESTS,        "global_requests",        "requests of warps to global memory")                          \
    X(GLOBAL_ATOMICS,         "global_atomics",         "atomic requests of warps to global memory")                   \
    X(SHARED_REQUESTS,        "shared_requests",        "requests of warps to shared memory")                          \
    X(SHARED_WAVEFRONT_RATIO, "shared_wavefront_ratio", "times the fewest wavefronts of the shared memory requests")   \
    X(LOCAL_REQUESTS,         "local_requests",         "requests of warps to local memory")                           \
    X(MATRIX_INSTRUCTIONS,    "matrix_instructions",    "matrix instructions of warps")                                \
    X(WARP_INSTRUCTIONS,      "warp_instructions",      "instructions of warps")                                       \
    X(LAUNCHES,               "launches",               "launches of kernels")                                         \
    X(OCCUPANCY,              "occupancy",              "percent of the warps that fit on a multiprocessor")           \
    X(REGISTERS,              "registers",              "registers per thread")                                        \
    X(BLOCK_THREADS,          "block_threads",          "threads per block")
/* clang-format on */

typedef enum lab_metric {
#define X(name, word, unit) LAB_METRIC_##name,
    LAB_METRIC_LIST(X)
#undef X
        LAB_METRIC_COUNT
} lab_metric;

typedef struct lab_task_part {
    const char *name;
    int64_t points;
    lab_part_kind kind;
    bool public_shapes, hidden_shapes;     /* LAB_PART_SHAPES */
    const char *kinds[LAB_TASK_KINDS_MAX]; /* LAB_PART_FINDINGS */
    int kind_count;
    lab_metric metric; /* LAB_PART_METRIC: the count, divided by `ideal`, is within the limits */
    const char *ideal; /* an expression of the sizes */
    double at_least, at_most;
    const char *hint; /* what to do if the part is not reached; may be "" */
} lab_task_part;

/* A number that differs between the variants of a task; see variant.h. */
typedef struct lab_task_variable {
    const char *name;
    int64_t values[LAB_TASK_VALUES_MAX];    /* the first one is that of the task without a variant */
    const char *texts[LAB_TASK_VALUES_MAX]; /* what a value means for the student; {} is the value */
    int count;
    int chosen; /* index of the value */
} lab_task_variable;

typedef struct lab_task {
    char folder[LAB_TASK_PATH_BYTES];
    char name[128]; /* of the folder */
    const char *title, *kernel, *reference, *architecture_text;
    int architecture;
    int64_t order; /* among the tasks of a folder */
    lab_task_argument arguments[LAB_TASK_ARGUMENTS_MAX];
    int argument_count;
    const char *sizes[LAB_TASK_SIZES_MAX];
    int size_count;
    lab_task_shape shapes[LAB_TASK_SHAPES_MAX];
    int shape_count;
    lab_task_part parts[LAB_TASK_PARTS_MAX];
    int part_count;
    lab_task_variable variables[LAB_TASK_VARIABLES_MAX];
    int variable_count;
    int64_t variant_seed;        /* decides which student gets which variant */
    int64_t points;              /* of all parts */
    int64_t million_per_warp;    /* limit of instructions of one warp, in millions */
    int64_t threads_max;         /* of one launch */
    int64_t memory_mib;          /* limit of all arrays */
    lab_toml_document *document; /* owns the texts */
} lab_task;

/* Reads task.toml of a folder. Returns false with a sentence that names the file; the task is then empty. */
bool lab_task_read(const char *folder, lab_task *task, char *why, size_t capacity);
void lab_task_free(lab_task *task);

/* Returns a metric's name in task.toml, and its unit for people. */
const char *lab_metric_name(lab_metric metric);
const char *lab_metric_unit(lab_metric metric);

/* Evaluates an expression of the sizes and the variables. */
bool lab_task_evaluate(const lab_task *task, const int64_t *sizes, const char *expression, int64_t *value, char *why,
                       size_t capacity);

/* Returns the value of a variable. */
static inline int64_t lab_task_value(const lab_task_variable *variable)
{
    return variable->values[variable->chosen];
}

/* Returns whether an argument is an array, and whether it is a result. */
static inline bool lab_role_is_array(lab_role role)
{
    return role <= LAB_ROLE_INOUT;
}

static inline bool lab_role_is_result(lab_role role)
{
    return role == LAB_ROLE_OUT || role == LAB_ROLE_INOUT;
}

/* Writes "n = 33, k = 5". */
void lab_task_describe_shape(const lab_task *task, const int64_t *sizes, char *text, size_t capacity);
