/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_parameters.c - see ptx_parameters.h. The emulator has parsed the text before, so this file only looks for words. */
#include "check/ptx_parameters.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct words {
    const char *at, *end;
} words_t;

static bool is_word_character(char c)
{
    return rungi_is_name_character(c) || c == '.' || c == '$' || c == '%';
}

/* Returns the next word or symbol; its length is 0 at the end. Comments are skipped. */
static rungi_string_view next_word(words_t *words)
{
    for (; words->at < words->end; words->at++) {
        bool is_comment = words->end - words->at > 1 && words->at[0] == '/' && words->at[1] == '/';
        while (is_comment && words->at < words->end && *words->at != '\n')
            words->at++;
        if (words->at == words->end || !strchr(" \t\r\n", *words->at))
            break;
    }
    const char *start = words->at;
    while (words->at < words->end && is_word_character(*words->at))
        words->at++;
    if (words->at == start && words->at < words->end)
        words->at++;
    return rungi_string_view_of(start, (size_t)(words->at - start));
}

/* Moves behind ".entry NAME". */
static bool find_entry(words_t *words, const char *kernel)
{
    for (rungi_string_view word = next_word(words); word.length > 0; word = next_word(words))
        if (rungi_string_view_equals(word, ".entry") && rungi_string_view_equals(next_word(words), kernel))
            return true;
    return false;
}

int lab_ptx_parameters_read(const char *text, size_t bytes, const char *kernel, lab_ptx_parameter *parameters,
                            int capacity)
{
    words_t words = {text, text + bytes};
    int count = 0;
    bool wants_type = false;
    if (!find_entry(&words, kernel) || !rungi_string_view_equals(next_word(&words), "("))
        return 0;
    for (rungi_string_view word = next_word(&words); word.length > 0; word = next_word(&words)) {
        if (rungi_string_view_equals(word, ")"))
            break;
        if (rungi_string_view_equals(word, ".param")) {
            wants_type = count < capacity;
            if (wants_type)
                parameters[count++] = (lab_ptx_parameter){.type = ""};
        } else if (rungi_string_view_equals(word, ".align"))
            next_word(&words);
        else if (wants_type && *word.text == '.') {
            snprintf(parameters[count - 1].type, LAB_PTX_TYPE_BYTES, "%.*s", (int)word.length - 1, word.text + 1);
            wants_type = false;
        }
    }
    return count;
}
