/* SPDX-License-Identifier: Apache-2.0 */
/* executors.c - finds executors by name, in the tables for this processor's instruction set. RUNG_EMULATOR_ISA selects
 * portable, avx2, avx512 or avx512vnni for tests, up to what the processor has. */
#define _GNU_SOURCE /* secure_getenv */
#include <stdlib.h>
#include <string.h>

#include "base/x86_features.h"
#include "emulator/execute/execute.h"
#include "emulator/machine/emulator.h"

#define TABLES(X, variant) \
    X(integer, variant)    \
    X(bits, variant)       \
    X(compare, variant)    \
    X(float, variant)      \
    X(half, variant)       \
    X(convert, variant)    \
    X(memory, variant)     \
    X(atomic, variant)     \
    X(warp, variant)       \
    X(matrix, variant)     \
    X(mma, variant)        \
    X(mma_forms, variant) X(mma_scaled, variant) X(wgmma, variant) X(wmma, variant) X(wmma_memory, variant)
#define DECLARE(file, variant) extern const ptx_executor_t rungi_ptx_executors_##file##_##variant[];
#define LIST(file, variant) rungi_ptx_executors_##file##_##variant,

#define COMMON_TABLES(X) X(mbarrier, common) X(bulk, common) X(undefined, common)
COMMON_TABLES(DECLARE)
static const ptx_executor_t *const common[] = {COMMON_TABLES(LIST) NULL};

TABLES(DECLARE, portable)
static const ptx_executor_t *const portable[] = {TABLES(LIST, portable) NULL};
#if defined(__x86_64__) && !defined(RUNGI_PORTABLE_EXECUTORS)
#define HAS_VARIANTS
TABLES(DECLARE, avx2)
TABLES(DECLARE, avx512)
static const ptx_executor_t *const avx2[] = {TABLES(LIST, avx2) NULL};
static const ptx_executor_t *const avx512[] = {TABLES(LIST, avx512) NULL};
DECLARE(mma, avx512vnni)
static const ptx_executor_t *const avx512vnni[] = {LIST(mma, avx512vnni) TABLES(LIST, avx512)
                                                       NULL}; /* first one wins */
#endif

static const ptx_executor_t *const *choose_tables(void)
{
#ifdef HAS_VARIANTS
    const char *wanted = secure_getenv("RUNG_EMULATOR_ISA");
    bool is_portable = wanted && strcmp(wanted, "portable") == 0, is_avx2 = wanted && strcmp(wanted, "avx2") == 0;
    bool is_avx512 = wanted && strcmp(wanted, "avx512") == 0;
    rungi_x86_features x86 = rungi_x86_features_detect();
    if (is_portable || !x86.has_avx2_fma)
        return portable;
    if (is_avx2 || !x86.has_avx512)
        return avx2;
    return is_avx512 || !x86.has_avx512_vnni ? avx512 : avx512vnni;
#else
    return portable;
#endif
}

static ptx_execute_fn find(const ptx_executor_t *const *table, const char *name)
{
    for (; *table; table++)
        for (const ptx_executor_t *executor = *table; executor->name; executor++)
            if (strcmp(executor->name, name) == 0)
                return executor->execute;
    return NULL;
}

ptx_execute_fn rungi_ptx_find_executor(const char *name)
{
    ptx_execute_fn execute = find(choose_tables(), name);
    return execute ? execute : find(common, name);
}
