/* SPDX-License-Identifier: Apache-2.0 */
/* driver_entry_point.c - the start and the end of every exported function: the lock, the check that cuInit was called in this
 * process, planted errors, the errors of the current context, and counts of calls. */
#include <string.h>
#include <unistd.h>

#include "emulator/driver/driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long started_in; /* the process that called cuInit, or 0 */
static atomic_long forked_calls;

void call_lock(void)
{
    pthread_mutex_lock(&lock);
}

void call_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- Counts ---------------------------------------------------------------------------------- */

enum { SYMBOLS_MAX = 512 };

/* Symbols are string literals. */
static struct {
    const char *symbol;
    long calls;
} counts[SYMBOLS_MAX];

static long *count_of(const char *symbol)
{
    int i = 0;
    while (i < SYMBOLS_MAX - 1 && counts[i].symbol && strcmp(counts[i].symbol, symbol) != 0)
        i++;
    return &counts[i].calls;
}

static void count_call(const char *symbol)
{
    for (int i = 0; i < SYMBOLS_MAX; i++) {
        if (!counts[i].symbol)
            counts[i].symbol = symbol;
        if (strcmp(counts[i].symbol, symbol) == 0) {
            counts[i].calls++;
            return;
        }
    }
}

long rung_emulated_call_count(const char *symbol)
{
    if (strcmp(symbol, "forked") == 0)
        return atomic_load(&forked_calls);
    call_lock();
    long calls = *count_of(symbol);
    call_unlock();
    return calls;
}

/* ---- Entry points ---------------------------------------------------------------------------- */

/* A child of fork has the parent's memory, but not its threads: the driver does not work there. */
static bool is_forked(void)
{
    long pid = atomic_load(&started_in);
    return pid != 0 && pid != (long)getpid();
}

CUresult call_init(void)
{
    if (emulated_device_count() < 1)
        return CUDA_ERROR_NO_DEVICE;
    atomic_store(&started_in, (long)getpid());
    return CUDA_SUCCESS;
}

static CUresult check_need(driver_call_t *here, call_need_t need)
{
    if (need >= NEEDS_INIT && atomic_load(&started_in) == 0)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (need >= NEEDS_CONTEXT && !here->context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (need >= NEEDS_CONTEXT && !here->context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (need >= NEEDS_NO_STICKY_ERROR && here->context->sticky_error)
        return (CUresult)here->context->sticky_error;
    return CUDA_SUCCESS;
}

CUresult call_begin(driver_call_t *here, const char *symbol, call_need_t need)
{
    *here = (driver_call_t){.symbol = symbol};
    if (is_forked()) {
        atomic_fetch_add(&forked_calls, 1);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    call_lock();
    here->locked = true;
    here->context = context_current();
    count_call(symbol);
    CUresult result = check_need(here, need);
    CUresult fault = result == CUDA_SUCCESS ? (CUresult)rungi_driver_fault(symbol, false) : CUDA_SUCCESS;
    if (fault == CUDA_SUCCESS)
        return result;
    if (error_is_sticky(fault))
        context_finish_all();
    context_record_error(here->context, fault);
    return fault;
}

CUresult call_begin_on(driver_call_t *here, const char *symbol, call_need_t need, object_kind_t kind,
                       const void *handle)
{
    CUresult result = call_begin(here, symbol, need);
    return result == CUDA_SUCCESS && !object_is(kind, handle) ? CUDA_ERROR_INVALID_HANDLE : result;
}

CUresult call_end(driver_call_t *here, CUresult result)
{
    if (!here->locked)
        return result;
    if (result == CUDA_SUCCESS && here->context && here->context->alive) {
        CUresult fault = (CUresult)rungi_driver_fault(here->symbol, true);
        if (fault != CUDA_SUCCESS)
            here->context->pending = fault;
    }
    call_unlock();
    return result;
}
