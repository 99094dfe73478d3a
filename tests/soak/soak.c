/* SPDX-License-Identifier: Apache-2.0 */
/* soak.c - multiplies random problems on all devices and checks each result, without end. tools/soak starts this program.
 *
 *   soak [--seed S] [--count N] [--seconds T] [--failures N] [--devices cpu,opencl,cuda] [--state FILE]
 *   soak --case SEED [--steps STEPS] [--devices LIST]
 *
 * Case number n has the seed S + n. A run ends after 10 failures unless --failures says otherwise. With --state, the next run continues after the last seed. A case that fails is printed in one
 * line, with the smallest case that also fails and the command that repeats this case. Exits with 1 after failures. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "soak_shrink.h"
#include "soak_totals.h"

enum { CASE_SECONDS_MAX = 600 };

static const double shrink_seconds = 60, save_seconds = 10;

typedef struct options {
    uint64_t seed;
    int64_t count, failures; /* -1: no limit */
    double seconds;          /* 0: no limit */
    unsigned devices;
    bool is_replay;
    const char *steps, *state;
} options_t;

static volatile sig_atomic_t is_interrupted;
static char crash_text[512]; /* what the handler of a crash prints */
static volatile sig_atomic_t crash_length;
static int crash_file = -1; /* beside the state: receives the case that crashed */

/* ---- Options --------------------------------------------------------------------------------------------------- */

static bool parse_devices(const char *text, unsigned *devices)
{
    *devices = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        unsigned found = 0;
        for (int i = 0; i < SOAK_DEVICES; i++) {
            const char *name = soak_device_name((soak_device)i);
            if (strlen(name) == length && strncmp(name, text, length) == 0)
                found = 1U << i;
        }
        if (!found) {
            fprintf(stderr, "soak: '%.*s' is not a device; use cpu, opencl or cuda\n", (int)length, text);
            return false;
        }
        *devices |= found;
        text += length + (text[length] == ',');
    }
    return *devices != 0;
}

static bool parse_option(const char *name, const char *value, options_t *options)
{
    if (strcmp(name, "--seed") == 0)
        options->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--case") == 0) {
        options->seed = strtoull(value, NULL, 10);
        options->is_replay = true;
    } else if (strcmp(name, "--count") == 0)
        options->count = strtoll(value, NULL, 10);
    else if (strcmp(name, "--failures") == 0)
        options->failures = strtoll(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
        options->seconds = strtod(value, NULL);
    else if (strcmp(name, "--steps") == 0)
        options->steps = value;
    else if (strcmp(name, "--state") == 0)
        options->state = value;
    else if (strcmp(name, "--devices") == 0)
        return parse_devices(value, &options->devices);
    else
        return false;
    return true;
}

static bool parse_options(int count, char **words, options_t *options)
{
    *options = (options_t){.seed = 1, .count = -1, .failures = 10, .devices = 1U << SOAK_DEVICE_cpu, .steps = ""};
    for (int i = 1; i < count; i += 2)
        if (i + 1 == count || !parse_option(words[i], words[i + 1], options)) {
            fprintf(
                stderr,
                "usage: soak [--seed S] [--count N] [--seconds T] [--failures N] [--devices cpu,opencl,cuda] [--state FILE]\n"
                "       soak --case SEED [--steps STEPS] [--devices LIST]\n");
            return false;
        }
    return true;
}

static void format_devices(unsigned devices, char *text, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < SOAK_DEVICES; i++)
        if (devices & 1U << i && used < capacity)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? "," : "",
                                     soak_device_name((soak_device)i));
}

/* ---- Signals --------------------------------------------------------------------------------------------------- */

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

/* A crash, or a case that does not end: prints the case. */
static void crash(int signal_number)
{
    if (write(STDOUT_FILENO, crash_text, (size_t)crash_length) < 0 ||
        (crash_file >= 0 && write(crash_file, crash_text, (size_t)crash_length) < 0))
        _exit(4);
    _exit(signal_number == SIGALRM ? 5 : 3);
}

static void handle_signals(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = crash;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, NULL);
}

static void expect_crash(const options_t *options, uint64_t seed)
{
    char devices[32];
    format_devices(options->devices, devices, sizeof devices);
    int length = snprintf(
        crash_text, sizeof crash_text,
        "case %" PRIu64 " crashed or did not end within %d s; repeat it: tools/soak --devices %s --case %" PRIu64 "\n",
        seed, CASE_SECONDS_MAX, devices, seed);
    crash_length = length < (int)sizeof crash_text ? length : (int)sizeof crash_text;
    alarm(CASE_SECONDS_MAX);
}

/* ---- Running --------------------------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void print_case(const char *name, const soak_case *subject, const soak_result *result)
{
    char text[2048];
    soak_case_describe(subject, text, sizeof text);
    printf("%s: %s\n", name, text);
    if (result->is_wrong)
        printf("    %s\n", result->message);
}

static void report_failure(const options_t *options, const soak_case *failed, const soak_result *failure)
{
    soak_case smallest;
    soak_result result = *failure;
    soak_steps steps;
    char text[4 * SOAK_STEPS_MAX], devices[32];
    memcpy(&smallest, failed, sizeof smallest);
    printf("case %" PRIu64 " is wrong\n", failed->seed);
    print_case("  case", failed, failure);
    soak_shrink(&smallest, shrink_seconds, &steps, &result);
    print_case("  smallest", &smallest, &result);
    soak_steps_format(&steps, text, sizeof text);
    format_devices(options->devices, devices, sizeof devices);
    printf("  repeat it: tools/soak --devices %s --case %" PRIu64 "%s%s\n", devices, failed->seed,
           steps.count ? " --steps " : "", text);
    fflush(stdout);
}

static int replay(const options_t *options)
{
    soak_case subject = soak_case_draw(options->seed, options->devices);
    soak_result result;
    static const char *const outcomes[] = {"right", "refused", "wrong", "not computed"};
    if (!soak_steps_apply(options->steps, &subject)) {
        fprintf(stderr, "soak: --steps %s: these are not steps that a run has printed\n", options->steps);
        return 2;
    }
    expect_crash(options, options->seed);
    soak_case_run(&subject, &result);
    print_case("case", &subject, &result);
    for (int i = 0; i < SOAK_DEVICES; i++)
        if (subject.devices & 1U << i)
            printf("%s: %s\n", soak_device_name((soak_device)i), outcomes[result.outcomes[i]]);
    return result.is_wrong;
}

static void print_totals(const soak_totals *totals, double seconds)
{
    int64_t problems = 0, refused = 0;
    double processor = 0;
    for (int i = 0; i < totals->row_count; i++) {
        problems += totals->rows[i].problems;
        refused += totals->rows[i].refused;
        processor += totals->rows[i].seconds;
    }
    printf("seeds %" PRIu64 " to %" PRIu64 ": %" PRId64 " problems of %d devices and types, %" PRId64
           " refused, %d cases wrong, %.0f s of processor time in total, %.0f s in this run\n",
           totals->first, totals->next - 1, problems, totals->row_count, refused, totals->failure_count, processor,
           seconds);
}

/* Continues after a case that crashed, which the handler wrote to a file, and counts it as wrong. */
static bool open_crash_file(const options_t *options, soak_totals *totals)
{
    char path[4096], line[sizeof crash_text];
    uint64_t seed;
    if (!options->state)
        return true;
    snprintf(path, sizeof path, "%s.crash", options->state);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "case %" SCNu64, &seed) == 1 && seed >= totals->next) {
            totals->next = seed + 1;
            soak_totals_add_failure(totals, seed);
        }
    if (file)
        fclose(file);
    if (!soak_totals_write(options->state, totals))
        return false;
    crash_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (crash_file < 0)
        perror(path);
    return crash_file >= 0;
}

static int run_cases(const options_t *options)
{
    static soak_totals totals;
    double start = seconds_now(), saved = start;
    int64_t failures = 0;
    soak_result result;
    if (!soak_totals_read(options->state, options->seed, &totals) || !open_crash_file(options, &totals))
        return 2;
    for (int64_t done = 0; done != options->count && !is_interrupted && failures != options->failures; done++) {
        if (options->seconds > 0 && seconds_now() - start >= options->seconds)
            break;
        soak_case subject = soak_case_draw(totals.next, options->devices);
        expect_crash(options, totals.next);
        soak_case_run(&subject, &result);
        totals.next++;
        soak_totals_add(&totals, &subject, &result);
        if (result.is_wrong) {
            failures++;
            report_failure(options, &subject, &result);
        }
        if (options->state && seconds_now() - saved >= save_seconds) {
            saved = seconds_now();
            if (!soak_totals_write(options->state, &totals))
                return 2;
        }
    }
    alarm(0);
    if (options->state && !soak_totals_write(options->state, &totals))
        return 2;
    print_totals(&totals, seconds_now() - start);
    return failures > 0;
}

int main(int count, char **words)
{
    options_t options;
    if (!parse_options(count, words, &options))
        return 2;
    setenv("RUNG_TUNING", "off", 1);
    unsetenv("RUNG_VERBOSE");
    unsetenv("RUNG_DEVICE");
    unsetenv("RUNG_THREADS");
    if (!soak_open(options.devices))
        return 77;
    handle_signals();
    int status = options.is_replay ? replay(&options) : run_cases(&options);
    soak_close();
    return status;
}
