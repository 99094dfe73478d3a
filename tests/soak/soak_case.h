/* SPDX-License-Identifier: Apache-2.0 */
/* soak_case.h - one random problem of the soak test. A seed determines the whole case: devices, types, sizes, layouts, scalars,
 * epilogue, and the way the library is called. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/type_pair.h"
#include "rung/rung.h"
#include "verify/cases.h"

/* The bits of soak_case.devices. */
#define SOAK_DEVICE_LIST(X) X(cpu) X(opencl) X(cuda)
typedef enum soak_device {
#define X(name) SOAK_DEVICE_##name,
    SOAK_DEVICE_LIST(X)
#undef X
        SOAK_DEVICES
} soak_device;

const char *soak_device_name(soak_device device);

/* How the library is called: by rung_multiply; by a plan, on a GPU with buffers; by a plan whose B is packed; by
 * rung_group_multiply. */
#define SOAK_PATH_LIST(X) X(call) X(plan) X(packed) X(group)
typedef enum soak_path {
#define X(name) SOAK_PATH_##name,
    SOAK_PATH_LIST(X)
#undef X
        SOAK_PATHS
} soak_path;

/* The matrices of a problem that have memory. Scales and zero points follow their matrix. */
#define SOAK_OPERAND_LIST(X) \
    X(a) X(b) X(c) X(d) X(bias) X(residual) X(multiplier) X(a_scales) X(a_zeros) X(b_scales) X(b_zeros)
typedef enum soak_operand {
#define X(name) SOAK_OPERAND_##name,
    SOAK_OPERAND_LIST(X)
#undef X
        SOAK_OPERANDS
} soak_operand;

/* The overlaps that the library permits. */
#define SOAK_ALIAS_LIST(X)                                                                                \
    X(none)             /* each matrix has its own memory */                                              \
    X(d_is_c)           /* D is the same view as C */                                                     \
    X(b_is_a)           /* B is the transposed A */                                                       \
    X(residual_is_bias) /* two inputs are the same view */                                                \
    X(residual_is_c)    /* C is read only, because the result is stored in D, and is also the residual */ \
    X(c_beside_a)       /* blocks of one matrix: A has the first columns, C those that follow */
typedef enum soak_alias {
#define X(name) SOAK_ALIAS_##name,
    SOAK_ALIAS_LIST(X)
#undef X
        SOAK_ALIASES
} soak_alias;

/* Settings under which a CPU is opened: instruction sets that this processor has, and block sizes for small caches, which make
 * small problems take the paths of large ones. */
typedef struct soak_variant {
    const char *name, *isa, *caches; /* values of RUNG_CPU_ISA and RUNG_CPU_CACHES, or NULL */
} soak_variant;
extern const soak_variant soak_variants[];
enum { SOAK_VARIANTS = 7 };

/* The layout of an operand. `step` is the smaller stride; `gap` elements lie between lines, `offset` before the first element and
 * `batch_gap` between items. */
typedef struct soak_layout {
    bool is_column_major;
    bool repeats_rows, repeats_cols; /* stride 0: inputs only */
    bool shares_items;               /* all items of a batch are the same matrix: inputs only */
    bool is_interleaved;             /* line i of all items, then line i + 1 */
    bool is_aligned;                 /* the memory begins at a multiple of 64 bytes, else it ends where a page ends */
    int64_t step, gap, offset, batch_gap;
} soak_layout;

/* The scales and zero points of A or B (RUNG_TYPE_NONE: absent), and their block along k and across it. 0: all. */
typedef struct soak_format {
    rung_type scale_type, zero_type;
    int64_t block_k, block_across;
} soak_format;

enum { SOAK_MEMBERS_MAX = 3, SOAK_BATCH_MAX = 4 };

typedef struct soak_case {
    uint64_t seed;
    unsigned devices; /* bit d: device d */
    int variant;      /* index in soak_variants */
    soak_path path;
    int kernel; /* plan: index of a CPU kernel; -1: the library selects it */
    lab_type_pair product;
    rung_compute compute;
    int64_t m, n, k, batch;
    int members; /* problems of a group */
    bool has_offsets;
    bool has[SOAK_OPERANDS];
    soak_layout layouts[SOAK_OPERANDS];
    soak_format a_format, b_format;
    soak_alias alias;
    double alpha, beta;
    rung_activation activation;
    lab_content content;
} soak_case;

/* The next number of the splitmix64 sequence, and a number below `count`. */
uint64_t soak_next(uint64_t *state);
int64_t soak_below(uint64_t *state, int64_t count);

/* Draws a case. `devices` are those that take part: the CPU computes every case if it is one of them, other devices compute some
 * of the cases of the CPU, and all cases without it. */
soak_case soak_case_draw(uint64_t seed, unsigned devices);

/* Changes what the library does not permit together, after a field was changed. */
void soak_case_normalize(soak_case *subject);

/* Returns problem `index` of a group; the case itself for 0. */
soak_case soak_case_member(const soak_case *subject, int index);

/* Writes a description in one line. */
void soak_case_describe(const soak_case *subject, char *text, size_t capacity);

/* Reports whether elements of the type may have scales in another matrix. */
bool soak_type_is_narrow(rung_type type);

/* Reports whether A, or B, has the library's scales or zero points. */
bool soak_format_is_present(const soak_format *format);
