/* SPDX-License-Identifier: Apache-2.0 */
/* launcher_connection.h - the connection between a rank and MPICH's launcher, which passes through the rank's parent.
 *
 * A rank sends messages to the launcher through the file descriptor in PMI_FD. When a rank dies while MPI starts, the others
 * fail and send "abort", and the launcher then kills every process, including the one that is about to name the dead rank. The
 * parent therefore stands between the two and delays that message. Other launchers do not set PMI_FD: nothing is forwarded. */
#pragma once

#include <stdbool.h>

typedef struct lab_launcher_connection {
    int launcher; /* -1: the launcher has no such connection */
    int parents_end, childs_end;
} lab_launcher_connection;

/* Opens the connection, before the child is created. */
lab_launcher_connection lab_launcher_connection_open(void);

/* In the child: makes PMI_FD the connection to the parent. Returns false if that fails. */
bool lab_launcher_connection_enter_child(const lab_launcher_connection *connection);

/* In the parent: closes the child's end, so that the child's death is noticed. */
void lab_launcher_connection_enter_parent(const lab_launcher_connection *connection);

/* Forwards messages in both directions until the child or the launcher closes its end, and delays a message that ends the job. */
void lab_launcher_connection_forward(const lab_launcher_connection *connection);

/* Sends the message that MPI_Abort would send. The launcher does not notice a rank that dies before its first message, and the
 * other ranks would wait for that rank forever. */
void lab_launcher_connection_abort(const lab_launcher_connection *connection);
