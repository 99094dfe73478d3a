/* SPDX-License-Identifier: Apache-2.0 */
/* entry_point.c - what every entry point begins and ends with: the lock, whether the driver was
 * started in this process, planted errors, the current context's health, and counts. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_injection.h"
#include "emulated_driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long started_in; /* the process that called cuInit, or 0 */
static atomic_long forked_calls;
static faults_t now = {.variable = "RUNG_EMULATED_FAULT"};
static faults_t late = {.variable = "RUNG_EMULATED_FAULT_ASYNC"};

void call_lock(void)
{
    pthread_mutex_lock(&lock);
}

void call_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- Counts ---------------------------------------------------------------------------------- */

enum { SYMBOLS_MAX = 128 };

/* Symbols are string literals of ours. */
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

/* A child of fork has the parent's memory and not its driver. */
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
        return here->context->sticky_error;
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
    CUresult fault = result == CUDA_SUCCESS ? (CUresult)faults_next(&now, symbol) : CUDA_SUCCESS;
    if (fault == CUDA_SUCCESS)
        return result;
    if (error_is_sticky(fault))
        context_finish_all();
    context_record_error(here->context, fault);
    return fault;
}

CUresult call_end(driver_call_t *here, CUresult result)
{
    if (!here->locked)
        return result;
    if (result == CUDA_SUCCESS && here->context && here->context->alive) {
        CUresult fault = (CUresult)faults_next(&late, here->symbol);
        if (fault != CUDA_SUCCESS)
            here->context->pending = fault;
    }
    call_unlock();
    return result;
}
