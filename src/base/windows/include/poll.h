/* SPDX-License-Identifier: Apache-2.0 */
/* poll.h - pipes of child processes (system.c). */
#pragma once

#define POLLIN 1
#define POLLOUT 4
#define POLLHUP 16
#define POLLERR 8

struct pollfd {
    int fd;
    short events, revents;
};

typedef unsigned long nfds_t;
int poll(struct pollfd *files, nfds_t count, int milliseconds);
