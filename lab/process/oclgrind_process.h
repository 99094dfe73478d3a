/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_process.h - starts rung again as a child process on the Oclgrind simulator, which counts memory accesses and checks
 * kernel files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/temporary_file.h"

/* A temporary folder with the files of a child: its output, its errors and Oclgrind's log. */
typedef struct lab_child_files {
    char folder[256], output[300], errors[300], log[300];
} lab_child_files;

bool lab_child_files_create(lab_child_files *files);
void lab_child_files_remove(const lab_child_files *files);

/* Writes and removes a small file there. Returns false with a message on failure, which the child could not report. */
bool lab_child_files_check(const lab_child_files *files, char *why, size_t capacity);

/* Finds Oclgrind's driver: the file of RUNG_OCLGRIND if it is set, else in the usual folders; "" if there is none. */
void lab_oclgrind_find(char *path, size_t capacity);

/* Reads a path from an environment variable; "" if the file cannot be read. Returns false if the variable is not set. */
bool lab_find_from_variable(const char *variable, char *path, size_t capacity);

/* Finds the first file that matches one of the patterns; "" if there is none. */
void lab_find_first_match(const char *const *patterns, int count, char *path, size_t capacity);

/* Writes the path of this command's file. Returns the length of its folder, with the slash; 0, and the path is "", if the
 * path is not known or does not fit. A buffer of LAB_EXECUTABLE_PATH_BYTES bytes holds every path that the system reports. */
enum { LAB_EXECUTABLE_PATH_BYTES = 4096 };
size_t lab_find_executable(char *path, size_t capacity);

typedef struct lab_env_variable {
    const char *name, *value;
} lab_env_variable;

/* Starts this command with these arguments in a process group of its own, and waits for it. Its environment has the
 * variables of `own`, and none of Oclgrind's, of the OpenCL loader's or of the user's choice of device. Standard output
 * and error go to these files, which may be the same. The child is ended after `seconds` (0: no limit), when this
 * process is interrupted, and when this process dies. Returns false if the child could not be started or did not exit
 * by itself; *code is then LAB_CHILD_TIMED_OUT after the limit, LAB_CHILD_INTERRUPTED after an interruption, and -1 otherwise. */
enum { LAB_CHILD_TIMED_OUT = -2, LAB_CHILD_INTERRUPTED = -3 };
bool lab_rung_child_run(char **argv, const lab_env_variable *own, int count, const char *output, const char *errors,
                        double seconds, int *code);

/* Reads the beginning of a file, without newlines at its end; "" on failure. */
void lab_file_read_prefix(const char *path, char *text, size_t capacity);

/* Returns where the message of rung begins, after messages of a compiler. */
const char *lab_child_message(const char *text);
