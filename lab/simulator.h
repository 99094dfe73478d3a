/* SPDX-License-Identifier: Apache-2.0 */
/* simulator.h - this very command started again, as a child on Oclgrind's simulator: what the
 * microscope looks through, and what checks kernels of the user's. */
#ifndef LAB_SIMULATOR_H
#define LAB_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "temporary.h"

/* A child's folder, and the files in it: what it has to say, its errors, and Oclgrind's log. */
typedef struct lab_workplace {
    char folder[256], output[300], errors[300], log[300];
} lab_workplace;

bool lab_workplace_make(lab_workplace *place);
void lab_workplace_clear(const lab_workplace *place);

/* Writes a small file there and removes it. Returns false with a sentence if that fails: a child whose files
 * cannot be written cannot say so. */
bool lab_workplace_check(const lab_workplace *place, char *why, size_t capacity);

/* Oclgrind's driver: RUNG_OCLGRIND if it is set, else the usual places; "" if it is not there. */
void lab_simulator_find(char *path, size_t capacity);

/* What a variable names, if it is there: then nothing else will do, and "" stands for a file that
 * cannot be read. */
bool lab_find_named(const char *variable, char *path, size_t capacity);

/* The first file that fits one of the patterns, or "". */
void lab_find_first(const char *const *patterns, int count, char *path, size_t capacity);

/* Writes the path of this command's file. Returns the length of its folder, with the slash; 0, and the path is "", if the
 * path is not known or does not fit. A buffer of LAB_SELF_PATH bytes holds every path that the system reports. */
enum { LAB_SELF_PATH = 4096 };
size_t lab_find_self(char *path, size_t capacity);

typedef struct lab_variable {
    const char *name, *value;
} lab_variable;

/* Starts this command with these arguments in a process group of its own, and waits for it. Its environment has the
 * variables of `own`, and none of Oclgrind's, of the OpenCL loader's or of the user's choice of device. Standard output
 * and error go to these files, which may be the same. The child is ended after `seconds` (0: no limit), when this
 * process is interrupted, and when this process dies. Returns false if the child could not be started or did not exit
 * by itself; *code is then LAB_ENDLESS after the limit, LAB_STOPPED after an interruption, and -1 otherwise. */
enum { LAB_ENDLESS = -2, LAB_STOPPED = -3 };
bool lab_self_run(char **argv, const lab_variable *own, int count, const char *output, const char *errors,
                  double seconds, int *code);

/* The beginning of a file, without the newline at its end; "" if there is none. */
void lab_text_read(const char *path, char *text, size_t capacity);

/* Where our own sentence begins, behind what a compiler may have said. */
const char *lab_sentence_in(const char *text);

#endif /* LAB_SIMULATOR_H */
