/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - any bytes as an integer expression, for the evaluator of kernel files and for that of launches. Where both
 * accept a text, their values are equal. Names of kernel files may stand for expressions, also for themselves. */
#include "byte_reader.h"

#include "check/integer_expression.h"
#include "core/kernel_expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES = 6 };
static const char *const names[NAMES] = {"n", "TILE", "one", "loop", "again", "deep"};
static const char *const texts[NAMES] = {NULL, NULL, NULL, "again + 1", "loop * 2", "n + TILE"};
static const int64_t values[NAMES] = {1000, 16, 1};

static rungi_expression_name look_up(const void *user, const char *name, size_t length)
{
    (void)user;
    for (int i = 0; i < NAMES; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return (rungi_expression_name){true, values[i], texts[i], texts[i] ? strlen(texts[i]) : 0};
    return (rungi_expression_name){.is_known = false};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_integer_name known[3];
    char why[256] = "";
    int64_t ours, labs, zero;
    rungi_string_view view = rungi_string_view_of((const char *)data, size);
    for (int i = 0; i < 3; i++)
        known[i] = (lab_integer_name){rungi_string_view_of(names[i], strlen(names[i])), values[i]};
    rung_status status = rungi_expression_evaluate((const char *)data, size, look_up, NULL, false, &ours);
    MUST(status == RUNG_OK || strlen(rung_error_text()) > 10);
    bool good = lab_integer_evaluate(view, known, 3, &labs, why, sizeof why);
    MUST(good || strlen(why) > 5);
    if (status == RUNG_OK && good)
        MUST(ours == labs);
    if (rungi_expression_evaluate((const char *)data, size, look_up, NULL, true, &zero) == RUNG_OK && status == RUNG_OK)
        MUST(ours == zero);
    return 0;
}
