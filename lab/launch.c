/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - see launch.h.
 *
 * Launchers differ in what they say of a rank that has died: OpenMPI's names it, MPICH's does not. Here each rank is two
 * processes: the one that the launcher started waits for the other, and so always lives to tell. */
#define _GNU_SOURCE /* strsignal, gethostname */
#include "launch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator.h"
#include "start.h"
#include "target.h"

/* The first of these that is set: launchers tell a process its rank and how many there are. */
static const char *first_set(const char *const *names, int count, const char *otherwise)
{
    for (int i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return otherwise;
}

static void tell_death(pid_t pid, int signal)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    fprintf(stderr, "rung: rank %s of %s (pid %lld on %s) died: killed by signal %d (%s)\n", first_set(ranks, 4, "0"),
            first_set(sizes, 3, "1"), (long long)pid, host, signal, strsignal(signal));
    fflush(stderr);
}

static bool find_program(char *path, size_t capacity)
{
    char self[LAB_SELF_PATH], built[LAB_SELF_PATH + 128], installed[LAB_SELF_PATH + 128];
    int folder = (int)lab_find_self(self, sizeof self);
    if (folder == 0)
        return false;
    snprintf(built, sizeof built, "%.*srung-cluster", folder, self);
    snprintf(installed, sizeof installed, "%.*s%s/rung-cluster", folder, self, LAB_CLUSTER_FOLDER);
    lab_find_first((const char *const[]){built, installed}, 2, path, capacity);
    return *path != '\0';
}

/* In the child. If the launcher kills the one, the other goes too. */
static void become(const char *program, char **list, pid_t parent)
{
    if (!lab_die_with(parent))
        _exit(LAB_NOTHING);
    execv(program, list);
    fprintf(stderr, "rung: %s cannot be run: %s\n", program, strerror(errno));
    _exit(LAB_NOTHING);
}

static int watch(pid_t child)
{
    int outcome;
    while (waitpid(child, &outcome, 0) != child)
        if (errno != EINTR)
            return LAB_NOTHING;
    if (WIFEXITED(outcome))
        return WEXITSTATUS(outcome);
    tell_death(child, WTERMSIG(outcome));
    if (WTERMSIG(outcome) !=
        SIGKILL)  /* MPICH's network layer aborts when a peer is gone, and whoever ends first ends all: */
        sleep(1); /* that peer is still to be told of */
    return LAB_WRONG;
}

static bool is_own(const char *name)
{
    (void)name;
    return false;
}

int lab_cluster_launch(const lab_options *options)
{
    enum { ARGUMENTS = 96 };
    char program[LAB_SELF_PATH + 128] = "", *list[ARGUMENTS] = {program, (char *)"bench"};
    if (options->argument)
        return lab_usage("bench",
                         "with --cluster no kernel is named: the library chooses, and its vendor's is beside it");
    if (!find_program(program, sizeof program)) {
        fprintf(stderr,
                "rung: rung-cluster, which speaks MPI, was not found beside this command: build rung where an MPI is "
                "(Debian: libopenmpi-dev)\n");
        return LAB_NOTHING;
    }
    int count = 2 + lab_options_given(options, is_own, list + 2, ARGUMENTS - 3);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(program, list, parent);
    for (int i = 2; i < count; i++)
        free(list[i]);
    if (child < 0) {
        fprintf(stderr, "rung: no process could be started: %s\n", strerror(errno));
        return LAB_NOTHING;
    }
    return watch(child);
}
