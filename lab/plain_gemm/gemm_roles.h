/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_roles.h - what the parameters of a plain CUDA kernel mean for a matrix multiplication, by their names and types. */
#pragma once

#include <stdbool.h>

#include "base/string_view.h"
#include "rung/rung.h"

/* Roles: name, and the word that messages and --args use. */
/* clang-format off */
#define LAB_ROLE_LIST(X)                                        \
    X(UNKNOWN,  "?")                                            \
    X(A,        "A")                                            \
    X(B,        "B")                                            \
    X(C,        "C")        /* the result, or with D the addend */ \
    X(D,        "D")        /* the result */                    \
    X(BIAS,     "bias")                                         \
    X(ALPHA,    "alpha")                                        \
    X(BETA,     "beta")                                         \
    X(M,        "M")                                            \
    X(N,        "N")                                            \
    X(K,        "K")                                            \
    X(SIZE,     "size")     /* M = N = K */                     \
    X(LDA,      "lda")                                          \
    X(LDB,      "ldb")                                          \
    X(LDC,      "ldc")                                          \
    X(LDD,      "ldd")                                          \
    X(BATCH,    "batch")                                        \
    X(BATCH_A,  "strideA")                                      \
    X(BATCH_B,  "strideB")                                      \
    X(BATCH_C,  "strideC")                                      \
    X(VALUE,    "value")    /* a number that the host code or --args gives */ \
    X(ZEROS,    "zeros")    /* an array of zeros for each launch: a counter of tiles, a semaphore */
/* clang-format on */

typedef enum lab_role {
#define X(name, word) LAB_ROLE_##name,
    LAB_ROLE_LIST(X)
#undef X
        LAB_ROLE_COUNT
} lab_role;

const char *lab_role_name(lab_role role);

/* Finds a role by its word. Returns LAB_ROLE_UNKNOWN if the word is unknown. */
lab_role lab_role_find(rungi_string_view word);

/* A type as the compiler names it: "const float *". */
typedef struct lab_cuda_type {
    rung_type element; /* RUNG_TYPE_NONE if it is not a number that rung knows */
    int lanes;         /* 4 for float4 */
    int pointers;      /* 1 for float *, 2 for float ** */
    bool is_const;     /* the memory that a pointer points to */
    bool is_integer;   /* with no pointer: a parameter that may be a size */
    bool is_struct;
} lab_cuda_type;

lab_cuda_type lab_cuda_type_parse(rungi_string_view text);

/* Returns the role that the name of an integer suggests: a size, a leading dimension or a batch. */
lab_role lab_role_of_integer(rungi_string_view name);

/* Returns the role that the name of a floating-point scalar suggests. */
lab_role lab_role_of_scalar(rungi_string_view name);

/* One pointer among the parameters. */
typedef struct lab_pointer_parameter {
    rungi_string_view name;
    bool is_const;
    bool may_count;  /* points to integers that the kernel may change */
    bool is_written; /* the kernel stores to it or uses it in atomic operations, as far as its tokens tell */
    lab_role role;   /* filled by lab_roles_of_pointers() */
} lab_pointer_parameter;

/* Gives each pointer a role, by names if they are known, otherwise by const and by order. */
void lab_roles_of_pointers(lab_pointer_parameter *pointers, int count);
