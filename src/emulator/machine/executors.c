/* SPDX-License-Identifier: Apache-2.0 */
/* executors.c - finds executors by name, in the tables for this processor's instruction set. */
#include <string.h>

#include "emulator/execute/execute.h"
#include "emulator/machine/emulator.h"

#define TABLES(X, variant) \
    X(integer, variant)    \
    X(bits, variant)       \
    X(compare, variant)    \
    X(float, variant)      \
    X(half, variant)       \
    X(convert, variant) X(memory, variant) X(atomic, variant) X(warp, variant) X(matrix, variant) X(wmma, variant)
#define DECLARE(file, variant) extern const ptx_executor_t rungi_ptx_executors_##file##_##variant[];
#define LIST(file, variant) rungi_ptx_executors_##file##_##variant,

TABLES(DECLARE, portable)
static const ptx_executor_t *const portable[] = {TABLES(LIST, portable) NULL};
#ifdef __x86_64__
TABLES(DECLARE, avx2)
TABLES(DECLARE, avx512)
static const ptx_executor_t *const avx2[] = {TABLES(LIST, avx2) NULL};
static const ptx_executor_t *const avx512[] = {TABLES(LIST, avx512) NULL};
#endif

static const ptx_executor_t *const *choose_tables(void)
{
#ifdef __x86_64__
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return avx512;
    if (has_avx2)
        return avx2;
#endif
    return portable;
}

ptx_execute_fn rungi_ptx_find_executor(const char *name)
{
    for (const ptx_executor_t *const *table = choose_tables(); *table; table++)
        for (const ptx_executor_t *executor = *table; executor->name; executor++)
            if (strcmp(executor->name, name) == 0)
                return executor->execute;
    return NULL;
}
