/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - transformer [--model NAME] [--weights TYPE] [--compute MODE] [--tokens N] [--threads N] [--repeats N]
 *
 * Runs one block of a language model with random weights: a prompt of N tokens at once (prefill), and the token after it
 * with the keys and values of the prompt in the cache (decode). Checks both with an F64 oracle, exits with 1 if an error is
 * above its bound, and then measures both. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#endif
#include "transformer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLE = 24, REPEATS_MAX = 1000 };

typedef struct options {
    const shape_t *shape;
    rung_type type;
    rung_compute compute;
    int64_t tokens, threads, repeats;
} options_t;

/* ---- Options ----------------------------------------------------------------------------------------------------- */

static const char usage[] = "usage: transformer [OPTION VALUE]...\n"
                            "  --model NAME     tiny (default), llama-3.1-8b, mistral-7b or qwen2.5-7b\n"
                            "  --weights TYPE   f32, bf16, q8_0 (default) or q4_0\n"
                            "  --compute MODE   strict (default), bf16x1 or q8\n"
                            "  --tokens N       tokens of the prompt, 1 to 65536 (default 20)\n"
                            "  --threads N      0 to 256 (default 0, one per available CPU)\n"
                            "  --repeats N      measurements, 1 to 1000 (default 3)\n";

static bool is_word(const char *option, const char *name, const char *word, const char *value)
{
    return strcmp(option, name) == 0 && strcmp(word, value) == 0;
}

static bool read_option(const char *option, const char *word, options_t *options)
{
    static const rung_type types[] = {RUNG_F32, RUNG_BF16, RUNG_Q8_0, RUNG_Q4_0};
    static const rung_compute modes[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8};
    const struct {
        const char *name;
        int64_t least, most, *value;
    } numbers[] = {{"--tokens", 1, 1 << 16, &options->tokens},
                   {"--threads", 0, 256, &options->threads},
                   {"--repeats", 1, REPEATS_MAX, &options->repeats}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_word(option, "--weights", word, rung_type_name(types[i])))
            return options->type = types[i], true;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (is_word(option, "--compute", word, rung_compute_name(modes[i])))
            return options->compute = modes[i], true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char *end;
        long long value = strtoll(word, &end, 10);
        bool is_valid = end != word && *end == '\0' && value >= numbers[i].least && value <= numbers[i].most;
        if (strcmp(option, numbers[i].name) == 0 && is_valid)
            return *numbers[i].value = value, true;
    }
    return strcmp(option, "--model") == 0 && (options->shape = shape_find(word)) != NULL;
}

static bool read_options(int count, char **words, options_t *options)
{
    *options = (options_t){shape_find("tiny"), RUNG_Q8_0, RUNG_COMPUTE_STRICT, 20, 0, 3};
    for (int i = 1; i < count; i += 2) {
        const char *word = i + 1 < count ? words[i + 1] : "";
        if (read_option(words[i], word, options))
            continue;
        fprintf(stderr, "transformer: \"%s %s\" is invalid\n%s", words[i], word, usage);
        return false;
    }
    return true;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_times(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Computes tokens and checks them: all elements of the tiny model, a sample of others. */
static bool run_and_check(const model_t *model, values_t *values, oracle_text_t *text, int64_t first, int64_t count)
{
    bool is_tiny = text != NULL;
    if (!block_forward(model, values, first, count)) {
        fprintf(stderr, "transformer: %s\n", rung_error_text());
        return false;
    }
    printf("%s, %lld token%s\n", first == 0 ? "prefill" : "decode", (long long)count, count == 1 ? "" : "s");
    bool is_good = oracle_check_stages(model, values, is_tiny ? 0 : SAMPLE, stdout);
    return (!is_tiny || oracle_check_output(model, values, text)) && is_good;
}

/* Measures what was checked before, and prints the median. */
static bool measure(const model_t *model, values_t *values, int64_t first, int64_t count, int64_t repeats)
{
    static double times[REPEATS_MAX];
    for (int64_t i = 0; i < repeats; i++) {
        double start = seconds();
        if (!block_forward(model, values, first, count))
            return false;
        times[i] = seconds() - start;
    }
    qsort(times, (size_t)repeats, sizeof *times, compare_times);
    double rate = (double)count / times[repeats / 2];
    printf("%-8s %5lld tokens in %.6f s: %.1f tokens/s for a block, %.2f for %lld blocks\n",
           first == 0 ? "prefill" : "decode", (long long)count, times[repeats / 2], rate,
           rate / (double)model->shape->blocks, (long long)model->shape->blocks);
    return true;
}

static void fill_input(values_t *values, const shape_t *shape, uint64_t seed)
{
    for (int64_t i = 0; i < values->capacity * shape->hidden; i++)
        values->rows[INPUT][i] = 1.7320508f * next_random(&seed); /* variance 1 */
}

/* Creates the model, and runs prefill and decode. Returns whether all checks succeed. */
static bool run(const options_t *options, model_t *model, values_t *values, oracle_text_t *text)
{
    int64_t tokens = options->tokens;
    bool is_tiny = strcmp(options->shape->name, "tiny") == 0;
    rung_context_options context = rung_context_options_default();
    context.device = "cpu";
    context.threads = options->threads;
    model->compute = options->compute;
    if (rung_context_create(&context, &model->context) != RUNG_OK ||
        !model_create(model, options->shape, options->type) || !values_create(values, options->shape, tokens + 1) ||
        (is_tiny && !oracle_text_create(text, options->shape, tokens + 1))) {
        fprintf(stderr, "transformer: memory is exhausted, or %s\n", rung_error_text());
        return false;
    }
    printf("%s, weights %s, mode %s\n", options->shape->name, rung_type_name(options->type),
           rung_compute_name(options->compute));
    fill_input(values, options->shape, 2);
    if (!run_and_check(model, values, is_tiny ? text : NULL, 0, tokens))
        return false;
    fill_input(values, options->shape, 3);
    return run_and_check(model, values, is_tiny ? text : NULL, tokens, 1) &&
           measure(model, values, 0, tokens, options->repeats) && measure(model, values, tokens, 1, options->repeats);
}

int main(int count, char **words)
{
    options_t options;
    model_t model = {0};
    values_t values = {0};
    oracle_text_t text = {{0}};
    if (!read_options(count, words, &options))
        return 2;
    bool is_good = run(&options, &model, &values, &text);
    oracle_text_destroy(&text);
    values_destroy(&values);
    model_destroy(&model);
    rung_context_destroy(model.context);
    puts(is_good ? "ok" : "failed");
    return is_good ? 0 : 1;
}
