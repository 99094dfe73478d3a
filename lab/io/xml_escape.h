/* SPDX-License-Identifier: Apache-2.0 */
/* xml_escape.h - writes any text as text of XML or HTML. */
#pragma once

#include <stdio.h>

/* Writes text for HTML and XML: escapes < > & " ' and replaces invalid characters by U+FFFD. */
void lab_html_escape(FILE *out, const char *text);

/* Writes JSON into a script element: no character of it can end the element, in HTML or in XML. */
void lab_html_write_json(FILE *out, const char *json);

/* Returns the character at the start of a text in UTF-8 and its length in bytes; 0xfffd and 1 if the bytes are invalid. */
unsigned lab_utf8_read(const char *text, int *length);
