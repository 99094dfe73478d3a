/* SPDX-License-Identifier: Apache-2.0 */
/* sarif.h - writes findings in SARIF 2.1.0, the format in which editors and GitHub show findings at their lines. */
#pragma once

#include "findings/finding_list.h"

/* Writes one complete SARIF document. */
void lab_sarif_write(const lab_finding_list *list, FILE *out);

/* Writes the document to a file. Returns false with a sentence. */
bool lab_sarif_save(const lab_finding_list *list, const char *path, char *why, size_t capacity);
