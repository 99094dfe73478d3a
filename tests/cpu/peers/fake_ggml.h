/* SPDX-License-Identifier: Apache-2.0 */
/* fake_ggml.h - what the fake GGML library records. */
#ifndef FAKE_GGML_H
#define FAKE_GGML_H

#include <stdint.h>

typedef struct fake_ggml_record {
    int64_t computed, threads;            /* multiplications, and the threads of the last one */
    int64_t backends, contexts, buffers;  /* that exist */
    int64_t messages;                     /* that the function of ggml_log_set() received */
    const void *weights, *input, *result; /* of the last multiplication */
} fake_ggml_record_t;

#endif /* FAKE_GGML_H */
