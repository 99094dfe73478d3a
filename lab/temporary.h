/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h - where temporary files go, and the message for a folder that cannot be written. */
#ifndef LAB_TEMPORARY_H
#define LAB_TEMPORARY_H

#include <stddef.h>

/* The folder for temporary files: TMPDIR, or /tmp. */
const char *lab_temporary_folder(void);

/* Writes that nothing can be written there because of this errno, and what to do. */
void lab_temporary_failed(int error, char *why, size_t capacity);

#endif /* LAB_TEMPORARY_H */
