/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kernels.c - rung bench: finds the kernels, lists the contenders of a problem, and remembers how fast they were. */
#include <string.h>

#include "bench/bench_session.h"

const char *lab_contender_name(const lab_contender *contender)
{
    return contender->kernel ? rung_kernel_describe(contender->kernel)->name : "rung_gemm";
}

/* ---- Kernels ------------------------------------------------------------------------------------------- */

/* Puts the vendor's library in front of a kernel given as KERNEL. A list of --kernels may leave it out on purpose. */
static void add_vendor(lab_bench_session *session)
{
    rung_kernel *vendor;
    if (!session->options->argument || session->kernel_count == LAB_KERNELS_MAX ||
        rung_kernel_find(session->target.context, session->result.device->backend, "00", &vendor) != RUNG_OK)
        return;
    memmove(session->kernels + 1, session->kernels, (size_t)session->kernel_count * sizeof *session->kernels);
    session->kernels[0] = vendor;
    session->kernel_count++;
}

/* Checks --params against the kernels that will be timed. */
static int check_parameters(lab_bench_session *session)
{
    const rung_kernel *timed[LAB_KERNELS_MAX];
    char why[2048];
    int count = 0;
    for (int i = 0; i < session->kernel_count; i++)
        if (!session->kernels[i] || session->kernel_list || !lab_kernel_is_emulated(session->kernels[i]))
            timed[count++] = session->kernels[i];
    return lab_sweep_check(timed, count, session->options->params, why, sizeof why) ? LAB_EXIT_SUCCESS
                                                                                    : lab_bench_usage_error("%s", why);
}

/* Returns NULL, or why the options do not suit the device and the kernels. */
static const char *find_conflict(lab_bench_session *session)
{
    const lab_options *options = session->options;
    const char *error = NULL;
    if ((options->peers || options->threads) && !lab_bench_is_cpu(&session->result))
        return "--peers and --threads require --device cpu";
    if (options->packed && !lab_bench_is_cpu(&session->result))
        return "--packed requires --device cpu";
    if (options->packed && (options->cache || options->inputs || options->calls || options->batch))
        return "--packed cannot be combined with --cache, --inputs, --calls or --batch";
    if (options->peers)
        error = lab_peers_add(session->target.context, options->peers, session->kernels, LAB_KERNELS_MAX,
                              &session->kernel_count);
    for (int i = 0; !error && i < session->kernel_count; i++)
        if (!session->kernels[i] && options->threads)
            error = "--threads does not apply to rung_gemm, which uses the threads of its context; use a kernel's name";
        else if (!session->kernels[i] && session->result.is_cold)
            error = "--cache cold does not apply to rung_gemm, which copies its matrices; use a kernel's name";
    return error;
}

int lab_bench_find_kernels(lab_bench_session *session)
{
    int code = lab_target_kernels(&session->target, session->kernel_list, session->kernels, &session->kernel_count);
    if (code == LAB_EXIT_SUCCESS)
        code = check_parameters(session);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    add_vendor(session);
    const char *error = find_conflict(session);
    if (error)
        return lab_bench_usage_error("%s", error);
    if (lab_bench_is_cpu(&session->result))
        lab_peers_prepare(session->kernels, session->kernel_count, session->threads, &session->result.settings);
    return LAB_EXIT_SUCCESS;
}

/* ---- Contenders ---------------------------------------------------------------------------------------- */

static int add_contender(lab_bench_session *session, const rung_kernel *kernel, const char *parameters, bool is_packed)
{
    if (session->contender_count == LAB_CONTENDERS_MAX)
        return lab_bench_usage_error("--kernels and --params make more than %d rows per problem; give fewer of them",
                                     LAB_CONTENDERS_MAX);
    lab_contender *added = &session->contenders[session->contender_count++];
    lab_contender_init(added, kernel, parameters);
    added->row.is_packed = is_packed;
    return LAB_EXIT_SUCCESS;
}

/* Adds a kernel with every combination of --params, and with --packed each of them twice. */
static int add_combinations(lab_bench_session *session, const rung_kernel *kernel)
{
    static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES];
    int code = LAB_EXIT_SUCCESS, count = lab_sweep_parameters(kernel, session->options->params, texts);
    bool can_pack = session->options->packed && rung_kernel_describe(kernel)->abilities & RUNG_ABILITY_PACKED_B;
    if (count < 0)
        return lab_bench_usage_error(
            "--params is \"%s\"; give values like TILE=16,32,UNROLL=4, or the name of a preset: "
            "at most %d combinations of at most %d bytes",
            session->options->params, LAB_SWEEP_MAX, LAB_PARAMETERS_BYTES - 1);
    if (count == 0)
        return lab_bench_usage_error("%s", rung_error_text());
    for (int i = 0; code == LAB_EXIT_SUCCESS && i < count; i++) {
        code = add_contender(session, kernel, texts[i], false);
        if (code == LAB_EXIT_SUCCESS && can_pack)
            code = add_contender(session, kernel, texts[i], true);
    }
    return code;
}

/* Reports whether a library multiplies the types, but only in mode q8, which is less precise than the requested one. */
static bool computes_only_q8(const rung_kernel *kernel, const lab_dtype *dtype)
{
    lab_dtype q8 = {dtype->product, RUNG_COMPUTE_Q8, dtype->name};
    return lab_kernel_peer_name(kernel) && lab_type_pair_is_mixed(dtype->product) &&
           !lab_kernel_accepts_dtype(kernel, dtype) && lab_kernel_accepts_dtype(kernel, &q8);
}

/* Adds a library with a quantized B. It arranges B before the runs, if it can, as programs that use it do when they load a
 * network. Its results are verified with the error bound of the mode that it has. */
static int add_quantized_peer(lab_bench_session *session, const rung_kernel *kernel, bool computes_q8)
{
    bool can_pack = rung_kernel_describe(kernel)->abilities & RUNG_ABILITY_PACKED_B && session->result.batch == 1 &&
                    !session->result.is_cold && session->result.inputs == LAB_INPUTS_WHOLE && !session->options->calls;
    int code = add_contender(session, kernel, "", can_pack);
    if (code == LAB_EXIT_SUCCESS)
        session->contenders[session->contender_count - 1].computes_q8 = computes_q8;
    return code;
}

int lab_bench_collect_contenders(lab_bench_session *session, const lab_dtype *dtype)
{
    int code = LAB_EXIT_SUCCESS;
    session->contender_count = 0;
    for (int i = 0; code == LAB_EXIT_SUCCESS && i < session->kernel_count; i++) {
        const rung_kernel *kernel = session->kernels[i];
        if (!kernel)
            code = add_contender(session, NULL, "", false);
        else if (lab_kernel_is_emulated(kernel) && session->kernel_list)
            code = lab_bench_usage_error(
                "%s needs a matrix engine, which this device emulates in software: its time would "
                "be meaningless; check its results with rung verify",
                rung_kernel_describe(kernel)->name);
        else if (computes_only_q8(kernel, dtype))
            code = add_quantized_peer(session, kernel, true);
        else if (lab_kernel_peer_name(kernel) && lab_type_pair_is_mixed(dtype->product)) {
            if (lab_kernel_accepts_dtype(kernel, dtype))
                code = add_quantized_peer(session, kernel, false);
        } else if (!lab_kernel_is_emulated(kernel) && lab_kernel_accepts_dtype(kernel, dtype))
            code = add_combinations(session, kernel);
    }
    return code;
}

/* ---- Known speeds -------------------------------------------------------------------------------------- */

/* Returns the best nanoseconds per multiply-add of a contender on earlier problems of this type; 0: unknown. All problems
 * of a type have the same contenders. */
static double *known_speed(lab_bench_session *session, const lab_contender *contender)
{
    return &session->ns_per_product[contender - session->contenders];
}

void lab_bench_record_speed(lab_bench_session *session, const lab_contender *contender,
                            const lab_bench_problem *problem, int64_t nanoseconds)
{
    double *known = known_speed(session, contender);
    double ns_per_product = (double)nanoseconds / lab_bench_problem_products(problem);
    if (*known == 0 || ns_per_product < *known)
        *known = ns_per_product;
}

double lab_bench_predict_ns(lab_bench_session *session, const lab_contender *contender,
                            const lab_bench_problem *problem)
{
    return *known_speed(session, contender) * lab_bench_problem_products(problem);
}
