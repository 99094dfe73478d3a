/* SPDX-License-Identifier: Apache-2.0 */
/* command_verify.c - rung verify: every kernel against the oracle, on a suite of
 * problems or on one. */
#include "conform.h"
#include "json.h"
#include "options.h"
#include "oracle.h"
#include "table.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTENDERS_MAX = 512, FAILURES_TOLD = 5, PARAMETERS_TEXT = 128 };

/* A kernel with one set of parameters, and how it fared. */
typedef struct contender {
    const rung_kernel *kernel; /* NULL: rung_gemm */
    rung_type          type;
    char               parameters[PARAMETERS_TEXT];
    lab_suite          suite;
    int64_t            cases, wrong, skipped;
    char               why_skipped[256];
} contender;

typedef struct failure {
    bool ran;
    char replay[768];
    char message[4096];
} failure;

typedef struct session {
    const lab_options *options;
    lab_target         target;
    const char        *kernels; /* the list that was given, NULL if none */
    unsigned           types;   /* bits */
    uint64_t           seed;
    int64_t            every;
    lab_suite          suite;
    lab_case           single; /* if options->m is given */
    contender          contenders[CONTENDERS_MAX];
    int                contender_count;
    failure            failures[FAILURES_TOLD];
    int64_t            failure_count;
} session;

static int usage(const char *message)
{
    return lab_usage("verify", message);
}

/* ---- Reading the options ---------------------------------------------------------------------- */

static bool read_suite(const char *text, lab_suite *suite)
{
    static const char *const names[] = {"full", "quick", "edges"};
    *suite = LAB_SUITE_FULL;
    for (int i = 0; text && i < 3; i++)
        if (strcmp(names[i], text) == 0) {
            *suite = (lab_suite)i;
            return true;
        }
    return !text;
}

/* "R,C" or "R,C,OFFSET" over the dense row-major default. */
static bool read_form(const char *text, int64_t rows, int64_t cols, lab_form *form)
{
    char copy[96], *rest = copy;
    int64_t *fields[] = {&form->row_stride, &form->col_stride, &form->offset};
    *form = lab_form_of(LAB_LAYOUT_rows, rows, cols);
    if (!text)
        return true;
    snprintf(copy, sizeof copy, "%s", text);
    int count = 0;
    while (rest && count < 3) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        if (!lab_read_integer(rest, fields[count]) || *fields[count] < 0)
            return false;
        count++;
        rest = comma ? comma + 1 : NULL;
    }
    return !rest && count >= 2;
}

static bool read_single(const lab_options *options, lab_case *single)
{
    *single = (lab_case){.alpha = 1, .beta = 0};
    if (!lab_read_integer(options->m, &single->m))
        return false;
    single->n = single->k = single->m;
    return (!options->n || lab_read_integer(options->n, &single->n)) &&
           (!options->k || lab_read_integer(options->k, &single->k)) &&
           (!options->alpha || lab_read_number(options->alpha, &single->alpha)) &&
           (!options->beta || lab_read_number(options->beta, &single->beta)) && single->m >= 0 &&
           single->n >= 0 && single->k >= 0 &&
           read_form(options->a_strides, single->m, single->k, &single->a) &&
           read_form(options->b_strides, single->k, single->n, &single->b) &&
           read_form(options->c_strides, single->m, single->n, &single->c);
}

static int read_options(session *session)
{
    const lab_options *options = session->options;
    int64_t seed = 1;
    session->every = 1;
    if (!lab_read_types(options->dtype, &session->types))
        return usage("--dtype is a list of types, like f32,i32; others are not taken yet");
    if (!read_suite(options->suite, &session->suite))
        return usage("--suite is full, quick or edges");
    if (options->every && (!lab_read_integer(options->every, &session->every) || session->every < 1))
        return usage("--every is a number from 1 on");
    if (options->seed && !lab_read_integer(options->seed, &seed))
        return usage("--seed is a whole number");
    session->seed = (uint64_t)seed;
    if (options->m ? !read_single(options, &session->single)
                   : options->n || options->k || options->a_strides || options->b_strides ||
                         options->c_strides || options->alpha || options->beta)
        return usage("one problem is given by --m, and then --n, --k, strides like --a-strides 64,1, "
                     "--alpha and --beta");
    if (options->m && session->types & 1u << RUNG_F32 &&
        !lab_oracle_takes_k(RUNG_F32, session->single.k))
        return usage("k is so large that rounding can explain any result");
    return LAB_GOOD;
}

/* ---- The contenders -------------------------------------------------------------------------------- */

/* One for each of the types. */
static void add_contender(session *session, const rung_kernel *kernel, const char *parameters,
                          lab_suite suite, unsigned types)
{
    for (int i = 0; i < RUNG_TYPE_COUNT; i++) {
        if (!(types & 1u << i) || session->contender_count == CONTENDERS_MAX)
            continue;
        contender *added = &session->contenders[session->contender_count++];
        added->kernel = kernel;
        added->type = (rung_type)i;
        added->suite = suite;
        snprintf(added->parameters, sizeof added->parameters, "%s", parameters ? parameters : "");
    }
}

/* The kernel as asked for; if nothing was, also its presets and each other choice of
 * each parameter, at the edges of its tiles and in the first type alone: each is
 * compiled anew. */
static void add_kernel(session *session, const rung_kernel *kernel)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    unsigned first_type = session->types & (~session->types + 1);
    add_contender(session, kernel, session->options->params, session->suite, session->types);
    if (session->options->params || session->suite != LAB_SUITE_FULL || session->options->m)
        return;
    for (int64_t i = 0; i < info->preset_count; i++)
        add_contender(session, kernel, info->presets[i].name, LAB_SUITE_EDGES, first_type);
    for (int64_t i = 0; i < info->parameter_count; i++)
        for (int64_t j = 0; j < info->parameters[i].choice_count; j++) {
            char parameters[PARAMETERS_TEXT];
            snprintf(parameters, sizeof parameters, "%s=%lld", info->parameters[i].name,
                     (long long)info->parameters[i].choices[j]);
            if (info->parameters[i].choices[j] != info->parameters[i].value &&
                rung_kernel_check(kernel, parameters) == RUNG_OK)
                add_contender(session, kernel, parameters, LAB_SUITE_EDGES, first_type);
        }
}

static int add_contenders(session *session)
{
    const char *list = session->kernels;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int count, code = lab_target_kernels(&session->target, list, kernels, &count);
    if (code != LAB_GOOD)
        return code;
    for (int i = 0; i < count; i++) {
        if (!kernels[i])
            add_contender(session, NULL, NULL, session->suite, session->types);
        else if (list || rung_kernel_describe(kernels[i])->number > 0) /* not the vendor's unasked */
            add_kernel(session, kernels[i]);
    }
    if (!list && !session->options->params)
        add_contender(session, NULL, NULL, session->suite, session->types);
    for (int i = 0; i < session->contender_count; i++) {
        contender *contender = &session->contenders[i];
        if (contender->kernel && rung_kernel_check(contender->kernel, contender->parameters) != RUNG_OK)
            return usage(rung_error_text());
    }
    return LAB_GOOD;
}

/* ---- Running ------------------------------------------------------------------------------------------ */

static void note(session *session, contender *contender, const lab_subject *subject,
                 const lab_case *problem, const lab_outcome *outcome)
{
    contender->cases++;
    switch (outcome->kind) {
    case LAB_RIGHT:
        return;
    case LAB_REFUSED:
        contender->skipped++;
        snprintf(contender->why_skipped, sizeof contender->why_skipped, "%.*s",
                 (int)sizeof contender->why_skipped - 1, outcome->message);
        return;
    case LAB_WRONG_RESULT:
    case LAB_FAILED:
        contender->wrong++;
        if (session->failure_count < FAILURES_TOLD) {
            failure *failure = &session->failures[session->failure_count];
            failure->ran = outcome->kind == LAB_WRONG_RESULT;
            lab_replay(subject, problem, failure->replay, sizeof failure->replay);
            snprintf(failure->message, sizeof failure->message, "%s", outcome->message);
        }
        session->failure_count++;
    }
}

/* The tile of a contender, for the edges of its problems. */
static int64_t tile(const contender *contender, const char *name, int64_t otherwise)
{
    int64_t size;
    if (!contender->kernel ||
        rung_kernel_evaluate(contender->kernel, contender->parameters, name, &size) != RUNG_OK ||
        size < 1 || size > 4096)
        return otherwise;
    return size;
}

static lab_case_list problems_of(const session *session, const contender *contender)
{
    if (!session->options->m)
        return lab_cases_of(contender->suite, tile(contender, "BM", 16), tile(contender, "BN", 16),
                            tile(contender, "BK", 8), contender->type == RUNG_I32);
    lab_case_list list = {.cases = calloc(LAB_CONTENT_COUNT, sizeof(lab_case)),
                          .count = LAB_CONTENT_COUNT};
    list.out_of_memory = !list.cases;
    for (int i = 0; list.cases && i < LAB_CONTENT_COUNT; i++) {
        list.cases[i] = session->single;
        list.cases[i].content = (lab_content)i;
        list.cases[i].guarded = i % 2 != 0;
        list.cases[i].rehearsed = i == 0;
    }
    return list;
}

static const char *name_of(const contender *contender)
{
    return contender->kernel ? rung_kernel_describe(contender->kernel)->name : "rung_gemm";
}

static void show_progress(const session *session, const contender *contender, int64_t done,
                          int64_t count)
{
    if (session->options->quiet || !isatty(STDERR_FILENO) || done % 20 != 0)
        return;
    fprintf(stderr, "\r%-16s %-16s %lld of %lld ", name_of(contender), contender->parameters,
            (long long)done, (long long)count);
}

static int run_contender(session *session, contender *contender)
{
    lab_outcome outcome;
    lab_subject subject = {
        .context = session->target.context, .device = session->target.device, .queue = session->target.queue,
        .kernel = contender->kernel, .parameters = contender->parameters, .type = contender->type,
        .seed = session->seed,
    };
    lab_case_list list = problems_of(session, contender);
    if (list.out_of_memory) {
        free(list.cases);
        fprintf(stderr, "rung: out of memory for the list of problems\n");
        return LAB_NOTHING;
    }
    for (int64_t i = 0; i < list.count; i += session->every) {
        show_progress(session, contender, i, list.count);
        lab_conform(&subject, &list.cases[i], &outcome);
        note(session, contender, &subject, &list.cases[i], &outcome);
        /* What does not compile or fit once never will. */
        if (outcome.kind == LAB_FAILED || (outcome.kind == LAB_REFUSED && contender->cases == 1))
            break;
    }
    free(list.cases);
    return LAB_GOOD;
}

/* ---- Telling -------------------------------------------------------------------------------------------- */

static contender total_of(const session *session)
{
    contender total = {0};
    for (int i = 0; i < session->contender_count; i++) {
        total.cases += session->contenders[i].cases;
        total.wrong += session->contenders[i].wrong;
        total.skipped += session->contenders[i].skipped;
    }
    return total;
}

static void print_json(const session *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    contender total = total_of(session);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-verify/1");
    lab_json_string(&json, "version", rung_version());
    lab_json_string(&json, "device", device->name);
    lab_json_string(&json, "title", device->title);
    lab_json_string(&json, "platform", device->platform);
    lab_json_integer(&json, "seed", (int64_t)session->seed);
    lab_json_integer(&json, "cases", total.cases);
    lab_json_integer(&json, "wrong", total.wrong);
    lab_json_integer(&json, "skipped", total.skipped);
    lab_json_begin(&json, "by_kernel", '[');
    for (int i = 0; i < session->contender_count; i++) {
        const contender *contender = &session->contenders[i];
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "kernel", name_of(contender));
        lab_json_string(&json, "params", contender->parameters);
        lab_json_string(&json, "dtype", rung_type_name(contender->type));
        lab_json_integer(&json, "cases", contender->cases);
        lab_json_integer(&json, "wrong", contender->wrong);
        lab_json_integer(&json, "skipped", contender->skipped);
        lab_json_string(&json, "why_skipped", contender->why_skipped);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_begin(&json, "failures", '[');
    for (int64_t i = 0; i < session->failure_count && i < FAILURES_TOLD; i++) {
        lab_json_begin(&json, NULL, '{');
        lab_json_true(&json, "ran", session->failures[i].ran);
        lab_json_string(&json, "message", session->failures[i].message);
        lab_json_string(&json, "replay", session->failures[i].replay);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

static void add_row(lab_table *table, const char *name, const char *type, const char *parameters,
                    const contender *counts)
{
    char cases[32], wrong[32], skipped[32];
    snprintf(cases, sizeof cases, "%lld", (long long)counts->cases);
    snprintf(wrong, sizeof wrong, "%lld", (long long)counts->wrong);
    snprintf(skipped, sizeof skipped, "%lld", (long long)counts->skipped);
    lab_table_add(table, 7, (const char *[]){name, type, parameters, cases, wrong, skipped,
                                             counts->why_skipped});
}

static void print_table(const session *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    contender total = total_of(session);
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%s: %s (%s)\n\n", device->name, device->title, device->platform);
    lab_table_add(table, 7, (const char *[]){"kernel", "type", "parameters", "cases", "wrong", "skipped",
                                             ""});
    for (int i = 0; i < session->contender_count; i++)
        add_row(table, name_of(&session->contenders[i]), rung_type_name(session->contenders[i].type),
                session->contenders[i].parameters, &session->contenders[i]);
    add_row(table, "all", "", "", &total);
    lab_table_print(table, "lllrrrl", stdout);
    free(table);
    for (int64_t i = 0; i < session->failure_count && i < FAILURES_TOLD; i++)
        printf("\n%s: %s\n  again: %s\n", session->failures[i].ran ? "wrong" : "did not run",
               session->failures[i].message, session->failures[i].replay);
    if (session->failure_count > FAILURES_TOLD)
        printf("\n... and %lld more\n", (long long)(session->failure_count - FAILURES_TOLD));
}

static int verify(session *session)
{
    int code = read_options(session);
    if (code == LAB_GOOD)
        code = lab_target_open(session->options, session->kernels, &session->target);
    if (code == LAB_GOOD)
        code = add_contenders(session);
    for (int i = 0; code == LAB_GOOD && i < session->contender_count; i++)
        code = run_contender(session, &session->contenders[i]);
    if (code != LAB_GOOD)
        return code;
    if (!session->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%60s\r", "");
    if (session->options->json)
        print_json(session);
    else
        print_table(session);
    contender total = total_of(session);
    if (total.wrong > 0)
        return LAB_WRONG;
    return total.skipped == total.cases ? LAB_NOTHING : LAB_GOOD;
}

int lab_command_verify(const lab_options *options)
{
    session *session = calloc(1, sizeof *session);
    if (!session)
        return LAB_NOTHING;
    session->options = options;
    session->kernels = options->argument ? options->argument : options->kernels;
    int code = verify(session);
    lab_target_close(&session->target);
    free(session);
    return code;
}
