/* SPDX-License-Identifier: Apache-2.0 */
/* stub_headers.h - replacements for headers of the host, which NVRTC receives as text: they declare enough for the kernels
 * of a file and for most of its host code. Nothing that they declare runs. */
#pragma once

#include <stdbool.h>

/* Returns the text of the stub for a name in an #include line, or NULL. Some stubs are only for headers of NVIDIA that
 * are not installed. */
const char *lab_stub_header_find(const char *name, bool is_installed);

/* Returns the name of the stub with this number (from 0), for tests; NULL after the last. */
const char *lab_stub_header_name(int index);

/* The shared text that the stubs include: its name and its text, by number (from 0); NULL after the last. */
const char *lab_stub_part_name(int index);
const char *lab_stub_part_text(int index);
