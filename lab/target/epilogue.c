/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.c - see epilogue.h. */
#include "target/epilogue.h"

#include "common/enum_names.h"
#include "common/text.h"
#include "common/type_pair.h"

static const char *const bias_words[] = {LAB_BIAS_LIST(LAB_ENUM_WORD)};

static bool read_word(rungi_string_view word, lab_epilogue *epilogue)
{
    for (int i = LAB_BIAS_NONE + 1; i < LAB_BIAS_COUNT; i++)
        if (rungi_string_view_equals(word, bias_words[i])) {
            bool is_first = epilogue->bias == LAB_BIAS_NONE;
            epilogue->bias = (lab_bias)i;
            return is_first;
        }
    for (int i = 0; i < LAB_ACTIVATION_COUNT; i++)
        if (rungi_string_view_equals(word, rung_activation_name((rung_activation)i))) {
            bool is_first = epilogue->activation == RUNG_ACTIVATION_NONE;
            epilogue->activation = (rung_activation)i;
            return is_first;
        }
    epilogue->residual = true;
    return rungi_string_view_equals(word, "residual");
}

bool lab_epilogue_parse(const char *text, lab_epilogue *epilogue)
{
    *epilogue = (lab_epilogue){LAB_BIAS_NONE, RUNG_ACTIVATION_NONE, false};
    rungi_string_view word;
    while (lab_list_next(&text, &word))
        if (!read_word(word, epilogue))
            return false;
    return true;
}

void lab_epilogue_format(lab_epilogue epilogue, char *text, size_t capacity)
{
    const char *words[] = {bias_words[epilogue.bias],
                           epilogue.activation == RUNG_ACTIVATION_NONE ? "" : rung_activation_name(epilogue.activation),
                           epilogue.residual ? "residual" : ""};
    *text = '\0';
    for (int i = 0; i < 3; i++)
        if (*words[i])
            lab_append(text, capacity, "%s%s", *text ? "," : "", words[i]);
}
