/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl.h - the width of the terminal (system.c). */
#pragma once

#define TIOCGWINSZ 0x5413

struct winsize {
    unsigned short ws_row, ws_col;
};

int ioctl(int file, unsigned long request, struct winsize *size);
