/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_name.h - the name of a kernel as its source has it, from the mangled name that PTX has. */
#pragma once

#include <stddef.h>

/* Writes "space::scale" for "_ZN5space5scaleIfEEvPf". Template arguments and parameters are left out. A name that is not mangled
 * is copied. */
void lab_kernel_source_name(const char *mangled, char *name, size_t capacity);
