/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_main.c - rung-cluster, which rung bench --cluster runs on each rank: times rung_cluster_gemm and ScaLAPACK.
 *
 * A separate program, because rung itself does not link MPI and must start without it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/mpi/cluster_benchmark.h"
#include "bench/bench.h"
#include "cli/options.h"
#include "verify/verify.h"
#include "io/output_file.h"
#include "io/run_info.h"
#include "target/sweep.h"
#include "target/target.h"

typedef struct cluster_session {
    lab_options options;
    lab_cluster_environment environment;
    lab_cluster_benchmark benchmark;
    lab_shape shapes[LAB_SWEEP_MAX];
    int shape_count;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int dtype_count;
    int64_t block;
    bool wants_cyclic, wants_grid;
    bool any_wrong, any_right;
    lab_json json; /* its stream is NULL if only a table is printed */
    char *text;    /* written to --output at the end, so that the file is complete or unchanged */
    size_t length;
    lab_conditions before;
} cluster_session_t;

/* ---- Options ---------------------------------------------------------------------------------- */

static const char *read_sizes(cluster_session_t *session)
{
    const lab_options *options = &session->options;
    lab_shape *shape = &session->shapes[0];
    if (!options->m) {
        session->shape_count = lab_sweep_shapes(options->sizes ? options->sizes : "1024", session->shapes);
        return session->shape_count > 0 ? NULL : "give sizes as --sizes 1024,2048,1x4096x512 or --m 1024 --n 64";
    }
    session->shape_count = 1;
    if (!lab_parse_integer(options->m, &shape->m) || (options->n && !lab_parse_integer(options->n, &shape->n)) ||
        (options->k && !lab_parse_integer(options->k, &shape->k)))
        return "with --cluster, --m, --n and --k take one integer each";
    shape->n = options->n ? shape->n : shape->m;
    shape->k = options->k ? shape->k : shape->m;
    return shape->m > 0 && shape->n > 0 && shape->k > 0 ? NULL : "--m, --n and --k must be at least 1";
}

/* Returns NULL or an error. */
static const char *read_options(cluster_session_t *session)
{
    const lab_options *options = &session->options;
    rung_compute compute;
    const char *error = lab_parse_dtypes(options, &compute, session->dtypes, &session->dtype_count);
    double budget = 2;
    session->environment.threads = 1;
    if (!error)
        error = read_sizes(session);
    if (error)
        return error;
    for (int i = 0; i < session->shape_count; i++)
        for (int j = 0; j < session->dtype_count; j++)
            if (16.0 * (double)session->shapes[i].k > lab_type_exact_integer_max(session->dtypes[j].product.out))
                return "with --cluster, results are checked exactly, and the type of C does not represent all sums of this "
                       "k; use f64 or f16:f32";
    if (options->block &&
        (!lab_parse_integer(options->block, &session->block) || session->block < 1 || session->block > 1 << 20))
        return "--block must be an integer from 1 to 1048576";
    int64_t *threads = &session->environment.threads;
    if (options->threads && (!lab_parse_integer(options->threads, threads) || *threads < 1))
        return "--threads must be an integer of at least 1";
    if (options->budget && (!lab_parse_number(options->budget, &budget) || !(budget > 0)))
        return "--budget must be a number of seconds above 0";
    session->benchmark.budget_ns = (int64_t)(budget * 1e9);
    if (options->csv)
        return "--csv cannot be combined with --cluster; use --json";
    session->wants_cyclic = !options->layout || strcmp(options->layout, "cyclic") == 0;
    session->wants_grid = !options->layout || strcmp(options->layout, "grid") == 0;
    return session->wants_cyclic || session->wants_grid ? NULL : "with --cluster, --layout must be grid or cyclic";
}

/* ---- Environment -------------------------------------------------------------------------------------- */

/* Selects one BLAS with the same number of threads for ScaLAPACK and rung. Must run before a BLAS is loaded and before MPI
 * starts threads. */
static void prepare_blas(cluster_session_t *session)
{
    lab_cluster_environment *environment = &session->environment;
    rung_kernel *vendor = NULL;
    char threads[32];
    snprintf(threads, sizeof threads, "%lld", (long long)environment->threads);
    setenv("OPENBLAS_NUM_THREADS", threads, 0);
    setenv("OMP_NUM_THREADS", threads, 0);
    setenv("MKL_NUM_THREADS", threads, 0);
    environment->has_scalapack = lab_scalapack_find_blas(environment->blas_path, sizeof environment->blas_path,
                                                         environment->reason, sizeof environment->reason);
    if (environment->has_scalapack)
        setenv("RUNG_CPU_VENDOR", environment->blas_path, 1);
    if (rung_kernel_find(NULL, "cpu", "00", &vendor) == RUNG_OK)
        lab_peers_prepare((const rung_kernel *const[]){vendor}, 1, environment->threads, &environment->settings);
}

/* Returns false and sets rung_error_text() on failure. */
static bool open_environment(cluster_session_t *session)
{
    lab_cluster_environment *environment = &session->environment;
    const char *device = session->options.device ? session->options.device : "cpu";
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = device, .threads = environment->threads};
    if (rung_context_create(&options, &environment->context) != RUNG_OK ||
        rung_device_open(environment->context, device, &environment->device) != RUNG_OK ||
        rung_queue_create(environment->device, &environment->queue) != RUNG_OK)
        return false;
    if (strcmp(rung_device_describe(environment->device)->backend, "cpu") == 0 &&
        rung_kernel_find(environment->context, "cpu", "00", &environment->blas_kernel) != RUNG_OK)
        environment->blas_kernel = NULL;
    return true;
}

static void close_environment(lab_cluster_environment *environment)
{
    lab_scalapack_close(&environment->scalapack);
    for (int i = 0; i < LAB_CLUSTER_MAX_PLANS; i++)
        rung_plan_destroy(environment->plans[i].plan);
    rung_queue_destroy(environment->queue);
    rung_device_close(environment->device);
    rung_context_destroy(environment->context);
}

/* Uses ScaLAPACK only if all ranks have it; otherwise ranks with it would wait for ranks without. */
static void open_scalapack(const lab_cluster_problem *problem, lab_cluster_environment *environment)
{
    int own = environment->has_scalapack && lab_scalapack_load(&environment->scalapack), all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (own && !all)
        snprintf(environment->reason, sizeof environment->reason,
                 "ScaLAPACK is not installed on the machines of all ranks");
    environment->has_scalapack = all != 0;
    if (all)
        lab_scalapack_begin(problem, &environment->scalapack);
}

/* Chooses the most square process grid. */
static void choose_processes(lab_cluster_problem *problem, int ranks)
{
    problem->process_rows = 1;
    for (int64_t rows = 1; rows * rows <= ranks; rows++)
        if (ranks % rows == 0)
            problem->process_rows = rows;
    problem->process_cols = ranks / problem->process_rows;
}

/* ---- Output --------------------------------------------------------------------------------------------- */

static bool begin_json(cluster_session_t *session)
{
    const lab_options *options = &session->options;
    if (session->environment.rank != 0 || !(options->json || options->output))
        return true;
    const char *error = options->output ? lab_output_check(options->output) : NULL;
    FILE *out = stdout;
    if (options->output)
        out = error ? NULL : open_memstream(&session->text, &session->length);
    if (!out) {
        fprintf(stderr, "rung: %s\n", error ? error : "out of memory");
        return false;
    }
    session->json = lab_json_open(out, "rung-cluster/1");
    lab_run_info_print(&session->json, rung_device_describe(session->environment.device));
    LAB_JSON_INTEGERS(&session->json, {"ranks", session->environment.ranks}, {"threads", session->environment.threads});
    lab_json_string(&session->json, "blas", session->environment.blas_path);
    lab_json_begin(&session->json, "settings", '[');
    for (int i = 0; i < session->environment.settings.count; i++) {
        lab_json_begin(&session->json, NULL, '{');
        LAB_JSON_STRINGS(&session->json, {"name", session->environment.settings.list[i].name},
                         {"value", session->environment.settings.list[i].value});
        lab_json_end(&session->json, '}');
    }
    lab_json_end(&session->json, ']');
    lab_json_begin(&session->json, "results", '[');
    return true;
}

static bool save_json(cluster_session_t *session)
{
    lab_output_file file;
    bool good = fclose(session->json.out) == 0 && lab_output_open(session->options.output, &file);
    if (good) {
        fwrite(session->text, 1, session->length, file.stream); /* lab_output_commit() checks for errors */
        good = lab_output_commit(&file);
    }
    if (!good)
        fprintf(stderr, "rung: cannot write %s: %s; an existing file is unchanged\n", session->options.output,
                strerror(errno));
    free(session->text);
    return good;
}

static bool end_json(cluster_session_t *session)
{
    lab_json *json = &session->json;
    if (!json->out)
        return true;
    lab_conditions after = lab_conditions_read(rung_device_describe(session->environment.device));
    lab_warnings warnings = lab_conditions_warnings(&session->before, &after,
                                                    session->environment.ranks * session->environment.threads,
                                                    sysconf(_SC_NPROCESSORS_ONLN));
    lab_json_end(json, ']');
    lab_conditions_print(json, &session->before, &after, &warnings);
    lab_json_end(json, '}');
    if (session->options.output)
        return save_json(session);
    bool good = !ferror(stdout) && fflush(stdout) == 0;
    if (!good)
        fprintf(stderr, "rung: cannot write all of the results; is the disk of standard output full?\n");
    return good;
}

static void print_results(cluster_session_t *session)
{
    bool has_table = !session->options.json || session->options.output;
    for (int i = 0; i < session->benchmark.count; i++) {
        session->any_right |= session->benchmark.implementations[i].verified;
        session->any_wrong |= !session->benchmark.implementations[i].verified;
    }
    if (session->environment.rank != 0)
        return;
    if (has_table)
        lab_cluster_benchmark_print(&session->benchmark, stdout);
    if (session->json.out)
        lab_cluster_benchmark_write(&session->benchmark, &session->json);
    fflush(stdout);
}

/* ---- Running --------------------------------------------------------------------------------------------- */

static bool run_all(cluster_session_t *session)
{
    lab_cluster_environment *environment = &session->environment;
    lab_cluster_benchmark *benchmark = &session->benchmark;
    benchmark->environment = environment;
    benchmark->problem.rank = environment->rank;
    for (int i = 0; i < session->dtype_count * session->shape_count; i++) {
        lab_shape shape = session->shapes[i % session->shape_count];
        lab_type_pair product = session->dtypes[i / session->shape_count].product;
        rung_type in = product.in, out = product.out;
        benchmark->problem.product = product;
        benchmark->problem.cluster = rung_cluster_problem_of(environment->ranks, shape.m, shape.n, shape.k, in, in,
                                                             out);
        bool good = lab_cluster_benchmark_run(benchmark, session->wants_cyclic, session->wants_grid, session->block);
        if (good)
            print_results(session);
        lab_cluster_benchmark_free(benchmark);
        if (!good)
            return false;
    }
    return true;
}

static int run_bench(cluster_session_t *session)
{
    lab_cluster_environment *environment = &session->environment;
    choose_processes(&session->benchmark.problem, environment->ranks);
    if (!open_environment(session))
        return lab_fail(LAB_EXIT_UNAVAILABLE, "rank %d: %s", environment->rank, rung_error_text());
    open_scalapack(&session->benchmark.problem, environment);
    session->before = lab_conditions_read(rung_device_describe(environment->device));
    if (environment->rank == 0 && !environment->has_scalapack)
        fprintf(stderr, "rung: no comparison with ScaLAPACK: %s\n", environment->reason);
    if (environment->rank == 0 && (!session->options.json || session->options.output))
        printf("%d ranks of %lld threads each, on %s; BLAS: %s\n", environment->ranks, (long long)environment->threads,
               rung_device_describe(environment->device)->title,
               *environment->blas_path ? environment->blas_path : "none");
    if (!begin_json(session))
        return LAB_EXIT_USAGE;
    if (!run_all(session))
        lab_cluster_abort(environment);
    if (!end_json(session))
        return LAB_EXIT_USAGE;
    return session->any_wrong ? LAB_EXIT_WRONG : session->any_right ? LAB_EXIT_SUCCESS : LAB_EXIT_UNAVAILABLE;
}

int main(int argc, char **argv)
{
    static cluster_session_t session;
    signal(SIGCHLD, SIG_DFL); /* if it was inherited as ignored, waitpid could not report how a child ended */
    if (argc < 2 || !lab_options_parse(LAB_COMMAND_bench, argc, argv, &session.options))
        return LAB_EXIT_USAGE;
    const char *error = read_options(&session);
    if (error)
        return lab_usage_error("bench", error);
    prepare_blas(&session);
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "MPI_Init failed");
    MPI_Comm_rank(MPI_COMM_WORLD, &session.environment.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &session.environment.ranks);
    int code = run_bench(&session);
    if (code != LAB_EXIT_SUCCESS && code != LAB_EXIT_WRONG) /* others may be waiting for this rank */
        MPI_Abort(MPI_COMM_WORLD, code);
    close_environment(&session.environment);
    MPI_Finalize();
    return code;
}
