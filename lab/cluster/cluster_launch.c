/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_launch.c - runs rung-cluster; see cluster.h.
 *
 * Launchers differ in how they report a rank that died: OpenMPI names it, MPICH does not. Here each rank is two processes:
 * the one that the launcher started waits for the other one and reports its death. Messages of the other one to MPICH's launcher
 * pass through it; see launcher_connection.h. */
#define _GNU_SOURCE /* strsignal, gethostname */
#include "cluster/cluster.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/launcher_connection.h"
#include "process/oclgrind_process.h"
#include "process/child_process.h"

/* Returns the first environment variable that is set: launchers pass the rank and the number of ranks. */
static const char *first_environment_value(const char *const *names, int count, const char *default_value)
{
    for (int i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return default_value;
}

static void print_killed_rank(pid_t pid, int signal)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    fprintf(stderr, "rung: rank %s of %s (pid %lld on %s) died: killed by signal %d (%s)\n",
            first_environment_value(ranks, 4, "0"), first_environment_value(sizes, 3, "1"), (long long)pid, host,
            signal, strsignal(signal));
    fflush(stderr);
}

static bool find_program(char *path, size_t capacity)
{
    char self[LAB_EXECUTABLE_PATH_BYTES], built[LAB_EXECUTABLE_PATH_BYTES + 128],
        installed[LAB_EXECUTABLE_PATH_BYTES + 128];
    int directory_length = (int)lab_find_executable(self, sizeof self);
    if (directory_length == 0)
        return false;
    snprintf(built, sizeof built, "%.*srung-cluster", directory_length, self);
    snprintf(installed, sizeof installed, "%.*s%s/rung-cluster", directory_length, self, LAB_CLUSTER_FOLDER);
    lab_find_first_match((const char *const[]){built, installed}, 2, path, capacity);
    return *path != '\0';
}

/* Runs in the child. If the launcher kills the parent, the child ends too. */
static void exec_program(const char *program, char **arguments, pid_t parent, const lab_launcher_connection *connection)
{
    if (!lab_child_die_with_parent(parent) || !lab_launcher_connection_enter_child(connection))
        _exit(LAB_EXIT_UNAVAILABLE);
    execv(program, arguments);
    fprintf(stderr, "rung: %s cannot be run: %s\n", program, strerror(errno));
    _exit(LAB_EXIT_UNAVAILABLE);
}

static int wait_for_child(pid_t child, const lab_launcher_connection *connection)
{
    int wait_status;
    lab_launcher_connection_forward(connection);
    while (waitpid(child, &wait_status, 0) != child)
        if (errno != EINTR)
            return LAB_EXIT_UNAVAILABLE;
    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    print_killed_rank(child, WTERMSIG(wait_status));
    /* MPICH's network layer aborts when a peer is gone, and the first rank that ends stops the job. Leave time to report that
     * peer. */
    if (WTERMSIG(wait_status) != SIGKILL)
        sleep(1);
    lab_launcher_connection_abort(connection);
    return LAB_EXIT_WRONG;
}

int lab_cluster_launch(const lab_options *options)
{
    enum { ARGUMENTS = 96 };
    char program[LAB_EXECUTABLE_PATH_BYTES + 128] = "", *arguments[ARGUMENTS] = {program, (char *)"bench"};
    if (options->argument)
        return lab_usage_error(
            "bench", "with --cluster, no kernel can be named: the library chooses one and compares it with the BLAS");
    if (!find_program(program, sizeof program))
        return lab_fail(
            LAB_EXIT_UNAVAILABLE,
            "rung-cluster, the program that uses MPI, was not found next to this command: build rung with an "
            "MPI installed (Debian: libopenmpi-dev)");
    int count = 2 + lab_options_to_arguments(options, NULL, arguments + 2, ARGUMENTS - 3);
    lab_launcher_connection connection = lab_launcher_connection_open();
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        exec_program(program, arguments, parent, &connection);
    for (int i = 2; i < count; i++)
        free(arguments[i]);
    if (child < 0)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "no process could be started: %s", strerror(errno));
    lab_launcher_connection_enter_parent(&connection);
    return wait_for_child(child, &connection);
}
