/* SPDX-License-Identifier: Apache-2.0 */
/* stat.h - stat() with the numbers that identify a file and times in nanoseconds, which mingw-w64's does not have. */
#pragma once

#include_next <sys/stat.h>

#include <stdint.h>
#include <time.h>

#define S_IRGRP 0040
#define S_IWGRP 0020
#define S_IXGRP 0010
#define S_IRWXG 0070
#define S_IROTH 0004
#define S_IWOTH 0002
#define S_IXOTH 0001
#define S_IRWXO 0007

struct rungi_file_status {
    uint64_t st_dev, st_ino;
    unsigned st_mode, st_nlink, st_uid, st_gid;
    int64_t st_size;
    struct timespec st_mtim, st_ctim;
};

int rungi_file_status(const char *path, struct rungi_file_status *status);
int rungi_file_status_of_open(int file, struct rungi_file_status *status);

#undef stat
#undef fstat
#define stat rungi_file_status
#define lstat rungi_file_status
#define S_ISLNK(mode) (0) /* rungi_file_status() follows links */
#define fstat rungi_file_status_of_open
