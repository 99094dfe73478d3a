/* SPDX-License-Identifier: Apache-2.0 */
/* explain_jobs.c - the list of kernels that `rung explain` explains: adds jobs and runs them on several threads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "common/lab_clock.h"
#include "explain/explain_internal.h"
#include "target/parameters.h"

lab_explain_jobs *lab_explain_jobs_create(const lab_explain_request *defaults, bool is_dtype_default)
{
    lab_explain_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs || pthread_mutex_init(&jobs->lock, NULL) != 0) {
        free(jobs);
        return NULL;
    }
    jobs->defaults = *defaults;
    jobs->is_dtype_default = is_dtype_default;
    return jobs;
}

void lab_explain_jobs_free(lab_explain_jobs *jobs)
{
    if (!jobs)
        return;
    for (int i = 0; i < jobs->count; i++)
        lab_explanation_free(&jobs->jobs[i].explanation);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

/* ---- Adding ---- */

lab_explain_job *lab_explain_jobs_add(lab_explain_jobs *jobs, const char *kernel)
{
    if (jobs->count == LAB_EXPLAIN_JOBS_MAX)
        return NULL;
    lab_explain_job *job = &jobs->jobs[jobs->count++];
    job->request = jobs->defaults;
    job->request.kernel = kernel;
    return job;
}

static const lab_dtype f16_type = {{RUNG_F16, RUNG_F32, RUNG_TYPE_NONE}, RUNG_COMPUTE_STRICT, "f16:f32"};

/* Selects f16 for a kernel of a matrix engine, which does not accept f32 without rounding, unless the user chose a type. */
static void choose_dtype(const lab_explain_jobs *jobs, lab_explain_job *job)
{
    rung_kernel *kernel;
    if (jobs->is_dtype_default && rung_kernel_find(NULL, "opencl", job->request.kernel, &kernel) == RUNG_OK &&
        !lab_kernel_accepts_dtype(kernel, &job->request.dtype) && lab_kernel_accepts_dtype(kernel, &f16_type))
        job->request.dtype = f16_type;
}

/* Returns whether the kernel has a type that is explained unless the user chooses one. A kernel for a quantized B has none. */
static bool has_default_dtype(const lab_explain_jobs *jobs, const rung_kernel *kernel)
{
    return !jobs->is_dtype_default || lab_kernel_accepts_dtype(kernel, &jobs->defaults.dtype) ||
           lab_kernel_accepts_dtype(kernel, &f16_type);
}

/* Gives the job the parameters that its kernel has. Returns false if they are too long. */
static bool choose_parameters(const lab_explain_jobs *jobs, const rung_kernel *kernel, lab_explain_job *job)
{
    if (!jobs->defaults.parameters)
        return true;
    if (!lab_parameters_select(kernel, jobs->defaults.parameters, job->params, sizeof job->params))
        return false;
    job->request.parameters = *job->params ? job->params : NULL;
    return true;
}

/* Returns whether the launches of a kernel can be counted. A kernel for one architecture copies with tensor maps, which
 * launches of the lab do not have. */
static bool can_be_counted(const rung_kernel *kernel)
{
    return rung_kernel_describe(kernel)->only_sm == 0;
}

const char *lab_explain_jobs_add_all(lab_explain_jobs *jobs, char *why, size_t capacity)
{
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    rung_kernel *kernel;
    int count = 0;
    rung_status status = RUNG_OK;
    for (int64_t i = 0; count < LAB_KERNELS_MAX && status == RUNG_OK; i++) {
        status = rung_kernel_at(NULL, "opencl", i, &kernel);
        if (status == RUNG_OK && rung_kernel_describe(kernel)->number > 0 && can_be_counted(kernel) &&
            has_default_dtype(jobs, kernel))
            kernels[count++] = kernel;
    }
    if (status == RUNG_STATUS_NO_MEMORY) {
        snprintf(why, capacity, "%s", rung_error_text());
        return why;
    }
    if (!lab_parameters_check(kernels, count, jobs->defaults.parameters, why, capacity))
        return why;
    for (int i = 0; i < count; i++) {
        lab_explain_job *job = lab_explain_jobs_add(jobs, rung_kernel_describe(kernels[i])->name);
        choose_dtype(jobs, job);
        if (!choose_parameters(jobs, kernels[i], job))
            return "--params is too long";
    }
    return NULL;
}

/* Checks the parameters against the named kernel. lab_explain() reports other errors of the kernel. */
static bool check_parameters(const lab_explain_jobs *jobs, const char *name, char *why, size_t capacity)
{
    rung_kernel *kernel;
    if (!jobs->defaults.parameters || !lab_kernel_open(NULL, "opencl", name, &kernel, why, capacity))
        return true;
    const rung_kernel *kernels[] = {kernel};
    bool good = lab_parameters_check(kernels, 1, jobs->defaults.parameters, why, capacity);
    rung_kernel_destroy(kernel);
    return good;
}

const char *lab_explain_jobs_add_kernel(lab_explain_jobs *jobs, const char *name, char *why, size_t capacity)
{
    rung_kernel *kernel, *next;
    if (!check_parameters(jobs, name, why, capacity))
        return why;
    lab_explain_job *first = lab_explain_jobs_add(jobs, name);
    choose_dtype(jobs, first);
    if (jobs->defaults.parameters || rung_kernel_find(NULL, "opencl", name, &kernel) != RUNG_OK)
        return NULL;
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &next) == RUNG_OK; i++)
        if (rung_kernel_describe(next)->number == rung_kernel_describe(kernel)->number + 1 &&
            lab_kernel_accepts_dtype(next, &first->request.dtype) && can_be_counted(next)) {
            lab_explain_job *job = lab_explain_jobs_add(jobs, rung_kernel_describe(next)->name);
            job->request.dtype = first->request.dtype;
            job->is_next_kernel = true;
            job->request.wants_trace = false;
        }
    return NULL;
}

/* ---- Running ---- */

/* The caller holds the lock. */
static void show_progress(const lab_explain_jobs *jobs, const char *kernel)
{
    lab_progress_show(&(lab_progress){.what = kernel, .done = jobs->done, .count = jobs->count, .units = "kernels"});
}

static void *run_jobs(void *opaque)
{
    lab_explain_jobs *jobs = opaque;
    for (;;) {
        pthread_mutex_lock(&jobs->lock);
        int index = lab_is_interrupted() ? jobs->count : jobs->next++;
        lab_explain_job *job = index < jobs->count ? &jobs->jobs[index] : NULL;
        if (job)
            show_progress(jobs, job->request.kernel);
        pthread_mutex_unlock(&jobs->lock);
        if (!job)
            return NULL;
        job->good = lab_explain(&job->request, &job->explanation, job->why, sizeof job->why);
        pthread_mutex_lock(&jobs->lock);
        jobs->done++;
        show_progress(jobs, job->request.kernel);
        pthread_mutex_unlock(&jobs->lock);
    }
}

/* Updates the progress line while the workers run. */
static void watch_progress(lab_explain_jobs *jobs)
{
    bool is_done = false;
    while (!is_done) {
        pthread_mutex_lock(&jobs->lock);
        is_done = jobs->done == jobs->count || lab_is_interrupted();
        int last = jobs->next < jobs->count ? jobs->next : jobs->count;
        if (!is_done && last > 0)
            show_progress(jobs, jobs->jobs[last - 1].request.kernel);
        pthread_mutex_unlock(&jobs->lock);
        if (!is_done)
            lab_sleep_ns(20000000);
    }
}

void lab_explain_jobs_run(lab_explain_jobs *jobs)
{
    enum { WORKERS_MAX = 16 };
    pthread_t workers[WORKERS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    while (started < processors && started < WORKERS_MAX && started < jobs->count &&
           pthread_create(&workers[started], NULL, run_jobs, jobs) == 0)
        started++;
    if (started == 0)
        run_jobs(jobs);
    else
        watch_progress(jobs);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
}

/* An invalid request is a usage error. A kernel that was not counted although the tools are installed is wrong. One
 * counted kernel of several is a success. */
int lab_explain_jobs_exit_code(const lab_explain_jobs *jobs)
{
    int counted = 0, rejected = 0, requested = 0;
    unsigned missing_tools = 0;
    for (int i = 0; i < jobs->count; i++) {
        const lab_explain_job *job = &jobs->jobs[i];
        if (job->is_next_kernel)
            continue;
        if (!job->good)
            fprintf(stderr, "rung: %s: %s\n", job->request.kernel, job->why);
        requested++;
        rejected += !job->good;
        counted += job->good && job->explanation.is_counted;
        missing_tools |= job->explanation.missing_tools & 1u << LAB_TOOL_NVRTC;
    }
    if (counted > 0)
        return LAB_EXIT_SUCCESS;
    return rejected == requested ? LAB_EXIT_USAGE : missing_tools ? LAB_EXIT_UNAVAILABLE : LAB_EXIT_WRONG;
}

void lab_explain_job_reason(const lab_explain_job *job, char *text, size_t capacity)
{
    const char *reason = job->good ? lab_explanation_why_not_predicted(&job->explanation) : job->why;
    snprintf(text, capacity, "%.*s", (int)strcspn(reason, "\n\t"), reason);
}
