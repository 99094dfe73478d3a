/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.c - rung emulate: runs a program on the emulated CUDA driver and reports what the driver found. */
#define _GNU_SOURCE /* mkostemp */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/options.h"
#include "cluster/cluster.h"
#include "emulate/program_file.h"
#include "emulate/program_findings.h"
#include "explain/explain.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "io/temporary_file.h"
#include "process/oclgrind_process.h"
#include "process/supervise.h"
#include "target/target.h"

/* ---- The GPU ----------------------------------------------------------------------------------------------- */

typedef struct emulated_machine {
    char name[64];
    int architecture, multiprocessors, devices;
} emulated_machine_t;

static void describe_gpu(const lab_gpu *gpu, int devices, emulated_machine_t *machine)
{
    *machine = (emulated_machine_t){.architecture = (int)strtol(gpu->arch + strlen("sm_"), NULL, 10),
                                    .multiprocessors = (int)gpu->sm_count,
                                    .devices = devices};
    snprintf(machine->name, sizeof machine->name, "%s", gpu->title);
}

/* Finds a GPU of the list, or one node of a cluster: the GPUs of dgx-a100 are a100. */
static bool find_machine(const char *name, emulated_machine_t *machine, char *why, size_t capacity)
{
    lab_gpu gpu;
    lab_cluster_description cluster;
    const char *dash = name ? strrchr(name, '-') : NULL;
    if (lab_gpu_find_listed(name ? name : "rtx3090", &gpu)) {
        describe_gpu(&gpu, 1, machine);
        return true;
    }
    if (dash && lab_gpu_find_listed(dash + 1, &gpu) && lab_cluster_description_read(name, &cluster, why, capacity)) {
        describe_gpu(&gpu, (int)cluster.ranks_a_node, machine);
        return true;
    }
    snprintf(why, capacity, "--machine is \"%s\"; valid names are dgx-a100, dgx-h100", name);
    for (int i = 0; lab_gpu_at(i, &gpu); i++)
        snprintf(why + strlen(why), capacity - strlen(why), ", %s", gpu.name);
    return false;
}

/* ---- The environment ------------------------------------------------------------------------------------------- */

/* Puts a value before the value of a list of paths. */
static void prepend(const char *variable, const char *value, const char *separator)
{
    const char *old = getenv(variable);
    size_t bytes = strlen(value) + (old ? strlen(old) : 0) + 2;
    char *text = malloc(bytes);
    if (!text)
        return;
    snprintf(text, bytes, "%s%s%s", value, old && *old ? separator : "", old ? old : "");
    setenv(variable, text, 1);
    free(text);
}

static void set_number(const char *variable, int value, int overwrite)
{
    char text[24];
    snprintf(text, sizeof text, "%d", value);
    setenv(variable, text, overwrite);
}

static void set_environment(const lab_options *options, const char *folder, const lab_program *program,
                            const emulated_machine_t *machine, const char *findings)
{
    static const char *const versions[] = {"11.0", "12", "13"};
    char library[PATH_MAX + 64];
    prepend("LD_LIBRARY_PATH", folder, ":");
    setenv("RUNG_EMULATED_FINDINGS", findings, 1);
    setenv("RUNG_EMULATED_CHECKS", "all", 0);
    if (!options->check) {
        setenv("RUNG_EMULATED_CHECKS", "memory", 1);
        setenv("RUNG_EMULATED_PADDING", "512", 0); /* as on a GPU; --check finds accesses to the padding */
    }
    if (options->machine || !getenv("RUNG_EMULATED_ARCH")) {
        set_number("RUNG_EMULATED_ARCH", machine->architecture, 1);
        set_number("RUNG_EMULATED_MULTIPROCESSORS", machine->multiprocessors, 1);
        set_number("RUNG_EMULATED_DEVICES", machine->devices, options->machine != NULL);
        setenv("RUNG_EMULATED_NAME", machine->name, 1);
    }
    setenv("RUNG_EMULATED_DRIVER_VERSION", "13000", 0); /* accepts the PTX of all supported compilers */
    if (program->runtime == LAB_RUNTIME_STATIC) {
        snprintf(library, sizeof library, "%s/libcudart.so.%s", folder, versions[program->runtime_major - 11]);
        prepend("LD_PRELOAD", library, " ");
        setenv("RUNG_EMULATED_STATIC", "1", 1);
    }
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t running_child, was_interrupted;

/* Ctrl-C reaches the program too; a signal of another process reaches only this one. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    was_interrupted = 1;
    if (running_child > 0 && info->si_code <= 0)
        kill(running_child, number);
}

static void watch_signals(struct sigaction before[2])
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before[0]);
    sigaction(SIGTERM, &action, &before[1]);
    if (before[0].sa_handler == SIG_IGN) /* as in a script's background: it stays ignored */
        sigaction(SIGINT, &before[0], NULL);
    if (before[1].sa_handler == SIG_IGN)
        sigaction(SIGTERM, &before[1], NULL);
}

/* Waits for the program. After `seconds`, if they are not 0, the program gets SIGTERM, and later SIGKILL. */
static bool wait_for(pid_t child, double seconds, int *status, bool *is_late)
{
    const double grace = 2.0, start = 1e-9 * (double)rungi_clock_ns();
    const struct timespec pause = {0, 10 * 1000 * 1000};
    for (;;) {
        pid_t ended = waitpid(child, status, seconds > 0 ? WNOHANG : 0);
        if (ended == child)
            return true;
        if (ended < 0 && errno != EINTR)
            return false;
        double passed = 1e-9 * (double)rungi_clock_ns() - start;
        if (seconds > 0 && passed > seconds) {
            kill(child, passed > seconds + grace ? SIGKILL : SIGTERM);
            *is_late = true;
        }
        if (seconds > 0)
            nanosleep(&pause, NULL);
    }
}

/* Runs the program in this process group, so that Ctrl-C reaches it. Returns its exit code as a shell does, or -1. */
static int run_program(const char *path, char *const *arguments, bool prints_json, double seconds, bool *is_late)
{
    int status = 0;
    struct sigaction before[2];
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        if (prints_json)
            dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(path, arguments);
        fprintf(stderr, "rung emulate: %s cannot be started: %s\n", path, strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    running_child = child;
    watch_signals(before);
    void (*stopped)(int) = signal(SIGQUIT, SIG_IGN);
    bool has_ended = wait_for(child, seconds, &status, is_late);
    running_child = 0;
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    signal(SIGQUIT, stopped);
    if (!has_ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Says why a program did not end by itself. */
static void report_end(double seconds, bool is_late)
{
    static const char rest[] = "the report covers the launches that had ended";
    if (is_late)
        fprintf(stderr, "rung: the program ran longer than %g s (--time-limit) and was stopped; %s\n", seconds, rest);
    else if (was_interrupted)
        fprintf(stderr, "rung: interrupted; %s\n", rest);
}

/* ---- The report -------------------------------------------------------------------------------------------------- */

static void write_json(FILE *out, const char *path, const emulated_machine_t *machine, int status,
                       const lab_program_findings *findings)
{
    lab_json json = lab_json_open(out, "rung-emulate/1");
    lab_json_string(&json, "program", path);
    lab_json_string(&json, "gpu", machine->name);
    lab_json_integer(&json, "exit_status", status);
    lab_json_begin(&json, "findings", '[');
    for (int64_t i = 0; i < findings->count; i++) {
        const lab_program_finding *finding = &findings->list[i];
        lab_json_begin(&json, NULL, '{');
        LAB_JSON_STRINGS(&json, {"kind", finding->kind}, {"kernel", finding->kernel}, {"file", finding->file});
        LAB_JSON_INTEGERS(&json, {"line", finding->line}, {"other_line", finding->other_line},
                          {"count", finding->count}, {"launches", finding->launches});
        LAB_JSON_STRINGS(&json, {"text", finding->text}, {"fix", finding->fix});
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

static int report(const lab_options *options, const char *path, const emulated_machine_t *machine, int status,
                  const lab_program_findings *findings)
{
    lab_output_file file;
    lab_program_findings_print(findings, stderr);
    if (findings->count > 0 || options->check)
        fprintf(stderr, "rung: %lld finding%s\n", (long long)findings->count, findings->count == 1 ? "" : "s");
    if (options->json)
        write_json(stdout, path, machine, status, findings);
    if (options->output) {
        bool is_open = lab_output_open(options->output, &file);
        if (is_open)
            write_json(file.stream, path, machine, status, findings);
        if (!is_open || !lab_output_commit(&file)) {
            fprintf(stderr, "rung emulate: %s cannot be written: %s\n", options->output, strerror(errno));
            return LAB_EXIT_USAGE;
        }
    }
    return options->check && findings->count > 0 ? LAB_EXIT_WRONG : status;
}

static int run(const lab_options *options, const char *path, const char *folder, const lab_program *program,
               const emulated_machine_t *machine, double seconds)
{
    char name[PATH_MAX];
    lab_program_findings findings;
    snprintf(name, sizeof name, "%s/rung-emulate-XXXXXX", lab_temporary_folder());
    int descriptor = mkostemp(name, O_CLOEXEC);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r+") : NULL;
    if (!file) {
        fprintf(stderr, "rung emulate: %s cannot be created: %s\n", name, strerror(errno));
        return LAB_EXIT_USAGE;
    }
    fprintf(stderr, "rung: the GPU of this program is emulated (%s); times mean nothing\n", machine->name);
    if (program->closed_library)
        fprintf(
            stderr,
            "rung: the program uses %s, whose kernels are machine code of a GPU without PTX: calls of it fail; for the "
            "emulated run, replace these calls by kernels of your own or by code for the CPU\n",
            program->closed_library);
    set_environment(options, folder, program, machine, name);
    bool is_late = false;
    int status = run_program(path, (char *const *)options->arguments, options->json != NULL, seconds, &is_late);
    report_end(seconds, is_late);
    bool is_read = lab_program_findings_read(file, &findings);
    fclose(file);
    unlink(name);
    if (status < 0 || !is_read) {
        fprintf(stderr, "rung emulate: %s\n", status < 0 ? "the program cannot be started" : "memory is short");
        return LAB_EXIT_USAGE;
    }
    int code = report(options, path, machine, status, &findings);
    lab_program_findings_free(&findings);
    return is_late ? LAB_EXIT_WRONG : was_interrupted ? LAB_EXIT_INTERRUPTED : code;
}

int lab_command_emulate(const lab_options *options)
{
    char path[PATH_MAX], folder[LAB_EXECUTABLE_PATH_BYTES + 256], why[1000];
    emulated_machine_t machine;
    lab_program program;
    double seconds;
    if (options->argument_count < 1)
        return lab_usage_error("emulate", "name a program: rung emulate PROGRAM [ARGUMENT ...]");
    if (!lab_parse_time_limit(options->time_limit, 0, &seconds))
        return lab_usage_error("emulate", LAB_TIME_LIMIT_USAGE);
    if (!find_machine(options->machine, &machine, why, sizeof why))
        return lab_usage_error("emulate", why);
    if (!lab_program_libraries_find(folder, sizeof folder))
        return lab_usage_error("emulate", "libcuda.so.1 of librung-cuda-emulator is not installed beside this command");
    if (!lab_program_find(options->arguments[0], path, sizeof path)) {
        lab_program_explain_missing(options->arguments[0], why, sizeof why);
        return lab_usage_error("emulate", why);
    }
    if (!lab_program_read(path, &program, why, sizeof why) ||
        lab_program_refuse(&program, machine.architecture, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s: %s", options->arguments[0], why);
    return run(options, path, folder, &program, &machine, seconds);
}
