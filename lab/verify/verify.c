/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - rung verify from options to exit code. */
#include "verify/verify.h"

#include "cli/interrupt.h"
#include "verify/verify_session.h"

static bool has_findings(const lab_verify_session *session)
{
    for (int i = 0; i < session->file_check_count; i++)
        if (session->file_checks[i].check.count > 0)
            return true;
    return false;
}

/* The document on standard output says why, too, but a script may look at the exit code and the message only. */
static int report_nothing_ran(const lab_verify_session *session)
{
    const char *why = "";
    for (int i = 0; i < session->variant_count && !*why; i++)
        why = session->variants[i].why_skipped;
    if (session->options->json)
        fprintf(stderr, "rung verify: no problem ran%s%s\n", *why ? ": " : "", why);
    return LAB_EXIT_UNAVAILABLE;
}

static int run_session(lab_verify_session *session)
{
    int code = lab_verify_parse_options(session);
    if (code == LAB_EXIT_SUCCESS)
        code = lab_verify_execute(session);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    lab_verify_print(session);
    if (!session->is_complete && lab_is_interrupted()) {
        lab_interrupt_report("the counts are those so far; run the command again for all cases");
        return LAB_EXIT_INTERRUPTED;
    }
    lab_verify_variant total = lab_verify_totals(session);
    if (total.wrong > 0 || session->failure_count > 0 || has_findings(session))
        return LAB_EXIT_WRONG;
    return total.skipped == total.cases ? report_nothing_ran(session) : LAB_EXIT_SUCCESS;
}

int lab_verify_run(const lab_options *options)
{
    lab_verify_session *session = lab_shared_memory_allocate(sizeof *session);
    if (!session) {
        fprintf(stderr, "rung verify: not enough memory\n");
        return LAB_EXIT_UNAVAILABLE;
    }
    session->options = options;
    session->kernels = options->argument ? options->argument : options->kernels;
    int code = run_session(session);
    lab_shared_memory_free(session, sizeof *session);
    return code;
}
