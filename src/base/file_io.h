/* SPDX-License-Identifier: Apache-2.0 */
/* file_io.h - reading and writing whole files, and finding and creating folders. atomic_file.h replaces a file as a
 * whole. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes all bytes at the current offset. Returns false with errno set. */
bool rungi_write_all(int file, const void *data, size_t bytes);

/* Reads up to `bytes`; fewer only at the end of the file. Returns the number of bytes, or -1 with errno set. */
int64_t rungi_read_up_to(int file, void *data, int64_t bytes);

/* Syncs the folder of a path. After a rename, a crash then leaves the old or the new file, but never none. */
void rungi_sync_folder(const char *path);

/* Returns the largest size in bytes of a file that this process may write (RLIMIT_FSIZE); INT64_MAX if there is no limit.
 * Writing more would end the process by a signal. */
int64_t rungi_file_size_limit(void);

/* Copies `name` to `path` and follows symbolic links, also to a file that does not exist. Returns false with errno set if
 * the path is empty or too long, or the links form a loop. */
bool rungi_follow_links(const char *name, char path[PATH_MAX]);

/* Writes the value of an environment variable followed by `below` to `path`. Returns false if the value is not an absolute
 * path, if the result is too long, and in a set-uid program. */
bool rungi_path_in_variable(const char *variable, const char *below, char *path, size_t capacity);

/* Finds a program in the folders of PATH and writes its path. Returns false if there is none. */
bool rungi_find_on_path(const char *name, char *path, size_t capacity);

/* Creates a folder, and the folder above it if that is missing, for this user only. Returns false with errno set. An
 * existing file or folder is not an error. */
bool rungi_make_folder(const char *folder);
