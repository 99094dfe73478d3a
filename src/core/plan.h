/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - a plan as core and device share it. */
#ifndef RUNGI_PLAN_H
#define RUNGI_PLAN_H

#include "core/device.h"
#include "core/kernel.h"

/* How the operands of a problem begin: A, B and C at multiples of four elements, A and B at
 * multiples of 16 bytes, A and B at multiples of four elements. */
typedef enum rungi_alignment { RUNGI_AT_FOURS = 1, RUNGI_AT_16_BYTES = 2, RUNGI_INPUTS_AT_FOURS = 4 } rungi_alignment;

struct rung_plan {
    rung_device *device;
    rung_problem problem; /* its form alone */
    const rung_kernel *kernel;
    rungi_values values;
    bool has_values;            /* values are those of this kernel */
    int64_t block_threads;      /* that a block of the kernel needs, as far as the device has determined */
    int64_t block_shared_bytes; /* them, also if it rejects the kernel for them; else 0 */
    rung_plan_info info;
    char parameters[RUNG_PARAMETERS_BYTES];
    char origin_text[256];
    char rejected[1024];
    bool is_open;              /* the kernel is the library's choice, */
    bool skips_records;        /* not by tuning records */
    int64_t splits_asked;      /* 0: as many as seem good, ... */
    int64_t workspace_offered; /* ... within so many bytes */
    int64_t carveout;          /* see rung_plan_options, as for ... */
    int64_t threads_asked;     /* ... this one */
    bool packed_b;             /* B comes packed */
    unsigned aligned;          /* the problem it was made for: of rungi_alignment */
    unsigned needs_aligned;    /* the device's choice of those */
    bool is_plain;             /* one multiply with no epilogue, of something, on a device that
                                * reaches this process's memory, ... */
    int64_t spans[3];          /* ... whose A, B and C have so many elements, gaps counted */
    rung_plan *unread;         /* of a vendor's plan: runs with alpha = 0, which read neither A nor B; NULL if no
                                * kernel of the library takes the problem */
    void *state;               /* the device's own */
};

/* Checks what rung_plan_create() checks first and creates a plan that has no kernel yet and does not hold its device.
 * rungi_release() frees it. */
rung_status rungi_plan_prepare(rung_device *device, const rung_problem *problem, const rung_plan_options *options,
                               rung_plan **plan);

/* rung_plan_create() as if there were no tuning records. */
rung_status rungi_plan_create_untuned(rung_device *device, const rung_problem *problem,
                                      const rung_plan_options *options, rung_plan **plan);

/* Fills a plan, zeroed but for its device, with a problem's form. */
void rungi_plan_begin(rung_plan *plan, const rung_problem *problem);

/* Whether the plan is what would be made for this problem, a settled one, on its device: if a
 * store has not changed, and options are the same. */
bool rungi_plan_suits(const rung_plan *plan, const rung_problem *settled);

/* Whether the plan is what would be created for a call with so many threads, 0: the device's number. A plan that has
 * fewer threads than it might have, because the problem is small, serves every call that allows these. */
bool rungi_plan_suits_threads(const rung_plan *plan, int64_t threads);

/* CPU: returns the number of threads of a run. */
static inline int64_t rungi_plan_threads(const rung_plan *plan, const rung_run_options *options)
{
    int64_t threads = plan->info.threads;
    return options->threads > 0 && options->threads < threads ? options->threads : threads;
}

/* rung_plan_run without a look at what was looked at: a settled problem that the plan suits, in
 * memory that its device reaches, and options with the workspace that it needs. */
rung_status rungi_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *settled,
                           const rung_run_options *options);

/* Whether it is seen at a glance that the plan runs this problem, as it stands, and that nothing is
 * wrong with it: one multiply of matrices in memory whose ranges lie apart. Then it may be run
 * without another question, with options that have a packed B and a number of threads at most. */
bool rungi_plan_sees_through(const rung_plan *plan, const rung_queue *queue, const rung_problem *problem);
rung_status rungi_plan_run_seen(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                const rung_run_options *options);

/* Checks that the plan takes a packed B, that the queue belongs to its device, and that `packed`, unless it is NULL, is a
 * buffer that can hold the plan's packed B. */
rung_status rungi_plan_check_packing(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed);

/* A rung_code and the memory behind it. The backend fills all but parameters and context. */
struct rungi_code {
    rung_code code;
    rung_context *context;
    char parameters[RUNG_PARAMETERS_BYTES];
    char path[64];
    void *image;
};

#endif /* RUNGI_PLAN_H */
