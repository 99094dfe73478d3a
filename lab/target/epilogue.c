/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.c - see epilogue.h. */
#include "target/epilogue.h"

#include <stdio.h>
#include <string.h>

#include "common/lab_enum_counts.h"

static const char *const bias_words[] = {
#define X(name, word) word,
    LAB_BIAS_LIST(X)
#undef X
};

static bool is_word(const char *text, size_t length, const char *word)
{
    return *word && strlen(word) == length && strncmp(text, word, length) == 0;
}

static bool read_word(const char *text, size_t length, lab_epilogue *epilogue)
{
    for (int i = 0; i < LAB_BIAS_COUNT; i++)
        if (is_word(text, length, bias_words[i])) {
            bool is_first = epilogue->bias == LAB_BIAS_NONE;
            epilogue->bias = (lab_bias)i;
            return is_first;
        }
    for (int i = 0; i < LAB_ACTIVATION_COUNT; i++)
        if (is_word(text, length, rung_activation_name((rung_activation)i))) {
            bool is_first = epilogue->activation == RUNG_ACTIVATION_NONE;
            epilogue->activation = (rung_activation)i;
            return is_first;
        }
    epilogue->residual = true;
    return is_word(text, length, "residual");
}

bool lab_epilogue_parse(const char *text, lab_epilogue *epilogue)
{
    *epilogue = (lab_epilogue){LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    while (text && *text) {
        size_t length = strcspn(text, ",");
        if (!read_word(text, length, epilogue))
            return false;
        text += length + (text[length] == ',');
    }
    return true;
}

void lab_epilogue_format(lab_epilogue epilogue, char *text, size_t capacity)
{
    const char *words[] = {bias_words[epilogue.bias],
                           epilogue.activation == RUNG_ACTIVATION_NONE ? "" : rung_activation_name(epilogue.activation),
                           epilogue.residual ? "residual" : ""};
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < 3; i++)
        if (*words[i] && used < capacity)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? "," : "", words[i]);
}
