/* SPDX-License-Identifier: Apache-2.0 */
/* launcher_connection.c - see launcher_connection.h. */
#include "cluster/launcher_connection.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/lab_clock.h"

enum {
    COMMAND_BYTES = 4096,
    REPORTING_NS = 1000000000, /* for the parent of a dead rank to report it */
    FORWARDING_NS = 200000000, /* for the launcher to print what it was given */
};

lab_launcher_connection lab_launcher_connection_open(void)
{
    lab_launcher_connection connection = {-1, -1, -1};
    const char *number = getenv("PMI_FD");
    int ends[2];
    if (!number || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return connection;
    return (lab_launcher_connection){.launcher = atoi(number), .parents_end = ends[0], .childs_end = ends[1]};
}

/* The child's end gets the number that PMI_FD has: the environment need not change. */
bool lab_launcher_connection_enter_child(const lab_launcher_connection *connection)
{
    if (connection->launcher < 0)
        return true;
    if (dup2(connection->childs_end, connection->launcher) < 0)
        return false;
    close(connection->childs_end);
    close(connection->parents_end);
    return true;
}

void lab_launcher_connection_enter_parent(const lab_launcher_connection *connection)
{
    if (connection->launcher >= 0)
        close(connection->childs_end);
}

static bool write_all(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(to, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* Forwards what can be read from `from`: commands of the PMI protocol. Returns false at its end. */
static bool forward_once(int from, int to)
{
    char commands[COMMAND_BYTES + 1];
    ssize_t count = read(from, commands, COMMAND_BYTES);
    if (count < 0 && errno == EINTR)
        return true;
    if (count <= 0)
        return false;
    commands[count] = '\0';
    if (strstr(commands, "cmd=abort"))
        lab_sleep_ns(REPORTING_NS);
    return write_all(to, commands, (size_t)count);
}

void lab_launcher_connection_forward(const lab_launcher_connection *connection)
{
    struct pollfd ends[] = {{.fd = connection->parents_end, .events = POLLIN},
                            {.fd = connection->launcher, .events = POLLIN}};
    if (connection->launcher < 0)
        return;
    bool is_open = true;
    signal(SIGPIPE, SIG_IGN);
    while (is_open) {
        if (poll(ends, 2, -1) < 0)
            is_open = errno == EINTR;
        else if (ends[0].revents)
            is_open = forward_once(connection->parents_end, connection->launcher);
        else if (ends[1].revents)
            is_open = forward_once(connection->launcher, connection->parents_end);
    }
    close(connection->parents_end);
}

void lab_launcher_connection_abort(const lab_launcher_connection *connection)
{
    static const char message[] = "cmd=abort exitcode=1\n";
    if (connection->launcher < 0)
        return;
    lab_sleep_ns(FORWARDING_NS);
    if (!write_all(connection->launcher, message, sizeof message - 1))
        fprintf(stderr, "rung: the message that ends the job was not sent: %s\n", strerror(errno));
}
