/* SPDX-License-Identifier: Apache-2.0 */
/* context_create.c - creates contexts from options and environment variables, and destroys them.
 *
 * Apart from context.c, because a context's end releases devices, kernels and tuning records, all of which depend on
 * context.h. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cancellation.h"
#include "base/try.h"
#include "base/versioned_struct.h"
#include "core/choose/tuning_store.h"
#include "core/device.h"
#include "core/device_pool.h"
#include "core/environment.h"
#include "core/kernel.h"

/* ---- Settings ------------------------------------------------------------------------------------- */

/* Returns the level of RUNG_VERBOSE if the caller leaves it open: 0 to 2. A word that is not a number is level 1. */
static int verbose_setting(int requested)
{
    const char *value = getenv("RUNG_VERBOSE");
    if (requested != 0)
        return requested > 0 ? requested : 0;
    if (!value || !*value)
        return 0;
    if (*value < '0' || *value > '9')
        return 1;
    long level = strtol(value, NULL, 10);
    return level > 2 ? 2 : (int)level;
}

/* Smaller operands move in a few milliseconds, and staging them in panels does not pay. */
static const int64_t default_overlap_bytes = (int64_t)32 << 20;

/* Returns the value of an environment variable, or `otherwise` if it is unset or invalid. */
static int64_t number_setting(const char *name, int64_t otherwise)
{
    const char *value = rungi_environment_value(name);
    return value ? strtoll(value, NULL, 10) : otherwise;
}

/* ---- Creating and destroying ------------------------------------------------------------------------ */

static void destroy_context(rung_context *context)
{
    rungi_fork_unregister(context);
    rungi_device_pool_drop_device(context, context->device);
    for (int i = 0; rungi_backends[i]; i++) {
        RUNGI_ASSERT(i < RUNGI_BACKENDS_MAX && rungi_backends[i]->ladder_count <= RUNGI_LADDER_MAX);
        for (int64_t j = 0; j < rungi_backends[i]->ladder_count; j++)
            rungi_kernel_free(atomic_load(&context->backends[i].kernels[j]));
        if (context->backends[i].is_loaded && context->backends[i].load_status == RUNG_OK)
            rungi_backends[i]->unload(context, context->backends[i].state);
    }
    rungi_tuning_records_free(context, context->tuning_records);
    pthread_mutex_destroy(&context->lock);
    rungi_allocator allocator = context->allocator;
    rungi_allocator_release(&allocator, context);
}

/* Validates the options and fills a context that has no memory of its own yet. */
static rung_status apply_options(const rung_context_options *options, rung_context *context)
{
    if (!options->allocate != !options->release)
        return rungi_invalid("rung_context_options sets %s without %s; set both or neither",
                             options->allocate ? "allocate" : "release", options->allocate ? "release" : "allocate");
    TRY(rungi_threads_check(options->threads, "the number of available CPUs"));
    *context = (rung_context){
        .destroy = destroy_context,
        .logger = {.function = options->log, .user = options->log_user, .verbose = verbose_setting(options->verbose)},
        .allocator = rungi_allocator_default(),
        .span = options->span,
        .span_user = options->span_user,
        .parallel_for = options->parallel_for,
        .parallel_for_user = options->parallel_for_user,
        .overlap = number_setting("RUNG_OVERLAP", default_overlap_bytes),
        .threads = options->threads > 0 ? options->threads : number_setting("RUNG_THREADS", 0),
    };
    context->logger.has_warnings = context->logger.verbose > 0 || (options->log && options->verbose == 0);
    if (options->allocate)
        context->allocator = (rungi_allocator){options->allocate, options->release, options->memory_user};
    const char *variable = getenv("RUNG_DEVICE"), *device = options->device;
    if (!device) /* an invalid RUNG_DEVICE makes the call fail, instead of using another device unnoticed */
        device = variable && *variable ? variable : "cpu";
    if (strlen(device) >= sizeof context->device_name)
        return rungi_invalid("\"%.80s...\" is not the name of a device; rung_device_list_create() lists the devices",
                             device);
    strcpy(context->device_name, device);
    return RUNG_OK;
}

rung_status rung_context_create(const rung_context_options *options, rung_context **out)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(rungi_clear_result(out, true, "rung_context_create: context is NULL; pass the address of a pointer"));
    rung_context_options copy;
    rung_context initial;
    TRY(rungi_versioned_options_read(options, &copy, sizeof copy, "rung_context_options",
                                     "rung_context_options_default"));
    TRY(apply_options(&copy, &initial));

    rung_context *context = rungi_allocate_zeroed(&initial, sizeof *context);
    TRY(rungi_allocated(context));
    *context = initial;
    atomic_init(&context->references, 1);
    if (pthread_mutex_init(&context->lock, NULL) != 0 || !rungi_fork_register(context)) {
        rungi_release(&initial, context);
        return rungi_fail(RUNG_STATUS_NO_MEMORY,
                          "out of memory: the system could not create a mutex or register a fork handler");
    }
    rungi_environment_warn_invalid(&context->logger);
    *out = context;
    return RUNG_OK;
}

void rung_context_destroy(rung_context *context)
{
    RUNGI_DISABLE_CANCELLATION;
    if (context)
        rungi_context_release(context);
}
