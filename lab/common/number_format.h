/* SPDX-License-Identifier: Apache-2.0 */
/* number_format.h - formats durations and byte counts for tables and messages. */
#ifndef LAB_NUMBER_FORMAT_H
#define LAB_NUMBER_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Formats nanoseconds as milliseconds with at least three significant digits: 2680 as "0.00268". */
void lab_format_ms(int64_t nanoseconds, char *text, size_t capacity);

/* Formats a byte count with a binary unit: 17179869184 as "16 GiB". */
void lab_format_bytes(double bytes, char *text, size_t capacity);

#endif /* LAB_NUMBER_FORMAT_H */
