/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - a connection between two processes, which no process here has (system.c). */
#pragma once

#define AF_UNIX 1
#define SOCK_STREAM 1

int socketpair(int domain, int type, int protocol, int ends[2]);
