/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_store.c - the tuning store: what is read, what is not, what is found, what is taken, and that
 * nothing gets lost. Kernels are chosen on a device that takes every plan, so that none is
 * needed; one test runs two processes on a real one. */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/plan.h"
#include "core/choose/tuning_store.h"
#include "core/choose/tile_cost.h"

/* ---- A device, a folder, a log ------------------------------------------------------------- */

static rung_context *context;
static rung_device device;
static char folder[64], logged[8192];

/* The device takes every kernel but this one, and counts how often that was tried. */
static struct {
    const char *kernel;
    rung_status status;
    int tries;
} refusal;

static rung_status accept_plan(rung_plan *plan)
{
    if (!refusal.kernel || strcmp(plan->kernel->info.name, refusal.kernel) != 0)
        return RUNG_OK;
    refusal.tries++;
    return rungi_fail(refusal.status, "%s is not for this device", refusal.kernel);
}

static void destroy_plan_data(rung_plan *plan)
{
    (void)plan;
}

static const rungi_device_ops ops = {.plan_create = accept_plan, .plan_destroy = destroy_plan_data};

static void append_log_line(void *user, const char *line)
{
    size_t used = strlen(logged);
    (void)user;
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

/* The ladder of blocks and threads, whichever backend has it. */
static const rungi_backend *ladder_backend(void)
{
    for (int i = 0; rungi_backends[i]; i++)
        if (rungi_backends[i]->source_types != 0)
            return rungi_backends[i];
    return NULL;
}

static int set_up(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = 2, .log = append_log_line};
    (void)state;
    logged[0] = '\0';
    refusal.kernel = NULL;
    /* Some hundred files are synced; in memory that costs nothing. */
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rung-store-XXXXXX" : "/tmp/rung-store-XXXXXX");
    if (!mkdtemp(folder) || rung_context_create(&options, &context) != RUNG_OK)
        return -1;
    memset(&device, 0, sizeof device);
    rungi_device_init(&device, context, ladder_backend(), &ops);
    device.info.name = "fake";
    device.info.title = "A device";
    device.info.platform = "P";
    device.info.driver = "1.2";
    device.info.compute_units = 8;
    return 0;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    setenv("RUNG_TUNING", "off", 1);
    rung_context_destroy(context);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *write_text(const char *name, const char *text, size_t bytes)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
    return path;
}

/* A store of these lines. */
static const char *write_store(const char *name, const char *lines)
{
    char text[8192];
    snprintf(text, sizeof text, "rung-tuning 1\n%s", lines);
    return write_text(name, text, strlen(text));
}

static void read_text(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, capacity - 1, file)] = '\0';
    fclose(file);
}

static rung_problem square_of(rung_type type, int64_t m, int64_t n, int64_t k)
{
    return rung_problem_of(rung_matrix_of(type, m, k, NULL), rung_matrix_of(type, k, n, NULL),
                           rung_matrix_of(type, m, n, NULL));
}

/* What stands between the backend and the shape in our device's records. */
static const char whose[] = "A%20device%20x8 P%201.2 f32 strict rrr";
#define TILED "07_tile2d BM=64,BN=64,BK=16,TM=4,TN=4"

static const char *line_of(const char *rest)
{
    static char lines[8][512];
    static int next;
    char *line = lines[next++ % 8];
    snprintf(line, sizeof lines[0], "%s %s %s\n", ladder_backend()->name, whose, rest);
    return line;
}

static rungi_tuning_records *parse(const char *text, size_t bytes)
{
    rungi_tuning_records *records;
    char *copy = rungi_allocate(context, (int64_t)bytes, 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    assert_int_equal(rungi_tuning_records_parse(context, "store", copy, (int64_t)bytes, &records), RUNG_OK);
    return records;
}

/* How many records a text has and how many of its lines are none. */
static void assert_parsed(const char *text, size_t bytes, int64_t count, int64_t skipped)
{
    rungi_tuning_records *records = parse(text, bytes);
    if (records->count != count || records->skipped != skipped)
        fail_msg("%lld records and %lld lines that are none: %s", (long long)records->count,
                 (long long)records->skipped, logged);
    rungi_tuning_records_free(context, records);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool is_text(rungi_string_view slice, const char *text)
{
    return slice.length == strlen(text) && memcmp(slice.text, text, slice.length) == 0;
}

static void a_record_is_read(void **state)
{
    const char *line = "cuda Tesla%20T4 NVIDIA%20535 bf16:f32 tf32 rcs 16xmorex4096 batch " TILED " 812.05";
    rungi_tuning_record record;
    (void)state;
    assert_null(rungi_tuning_record_parse(line, strlen(line), &record));
    assert_true(is_text(record.key, "cuda Tesla%20T4 NVIDIA%20535 bf16:f32 tf32 rcs 16xmorex4096 batch"));
    assert_true(is_text(record.kernel, "07_tile2d"));
    assert_true(is_text(record.parameters, "BM=64,BN=64,BK=16,TM=4,TN=4"));
    assert_int_equal(record.mflops, 812050);
    line = "cpu x y f32 strict rrr 64x64x64 one 01_naive - 0";
    assert_null(rungi_tuning_record_parse(line, strlen(line), &record));
    assert_int_equal(record.parameters.length, 0);
    assert_int_equal(record.mflops, 0);
}

static void invalid_records(void **state)
{
    /* clang-format off */
    static const char *const lines[] = {
        "", " ", "cpu", "cpu x y f32 strict rrr 64x64x64 one 01_naive -",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive - 0 more", " cpu x y f32 strict rrr 64x64x64 one 01_naive - 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive - 0 ", "cpu  x y f32 strict rrr 64x64x64 one 01_naive - 0",
        "cpu\tx y f32 strict rrr 64x64x64 one 01_naive - 0", "c/u x y f32 strict rrr 64x64x64 one 01_naive - 0",
        "cpu %41 y f32 strict rrr 64x64x64 one 01_naive - 0", "cpu %2 y f32 strict rrr 64x64x64 one 01_naive - 0",
        "cpu %c3 y f32 strict rrr 64x64x64 one 01_naive - 0", "cpu %00 y f32 strict rrr 64x64x64 one 01_naive - 0",
        "cpu \xC3\x84 y f32 strict rrr 64x64x64 one 01_naive - 0", "cpu x y f33 strict rrr 64x64x64 one 01_naive - 0",
        "cpu x y f32 exact rrr 64x64x64 one 01_naive - 0", "cpu x y f32 strict rr 64x64x64 one 01_naive - 0",
        "cpu x y f32 strict rra 64x64x64 one 01_naive - 0", "cpu x y f32 strict rrr 64x64 one 01_naive - 0",
        "cpu x y f32 strict rrr 64x64x64x64 one 01_naive - 0", "cpu x y f32 strict rrr 65x64x64 one 01_naive - 0",
        "cpu x y f32 strict rrr 64x64x64 two 01_naive - 0", "cpu x y f32 strict rrr 64x64x64 one ../x - 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A 0", "cpu x y f32 strict rrr 64x64x64 one 01_naive A= 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive =1 0", "cpu x y f32 strict rrr 64x64x64 one 01_naive A=-1 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1, 0", "cpu x y f32 strict rrr 64x64x64 one 01_naive ,A=1 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=2147483648 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=99999999999999999999 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 -1", "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 nan",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 1e3", "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 1,5",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 .5", "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 1.",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 1.2345",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A=1 12345678901", "cpu x y f32 strict rrr 64x64x64 one 01_naive - 0\r",
        "cpu x y f32 strict rrr 64x64x64 one a A=1,B=1,C=1,D=1,E=1,F=1,G=1,H=1,I=1,J=1,K=1,L=1,M=1,N=1,O=1,P=1,Q=1 0",
        "cpu x y f32 strict rrr 64x64x64 one 01_naive A2345678901234567890123456789012=1 0",
    };
    /* clang-format on */
    rungi_tuning_record record;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!rungi_tuning_record_parse(lines[i], strlen(lines[i]), &record))
            fail_msg("\"%s\" was taken for a record", lines[i]);
    const char zero[] = "cpu x y f32 strict rrr 64x64x64 one 01_naive\0 - 0";
    assert_non_null(rungi_tuning_record_parse(zero, sizeof zero - 1, &record));
}

#define SOUND "cpu x y f32 strict rrr 64x64x64 one 01_naive - 1\n"

static void accepted_file_syntax(void **state)
{
    static const struct {
        const char *text;
        int64_t count, skipped;
    } files[] = {
        {"", 0, 1},
        {"rung-tuning 1", 0, 1},
        {"rung-tuning 1\n", 0, 0},
        {"rung-tuning 1\n\n# x\n\n", 0, 0},
        {"rung-tuning 2\n" SOUND, 0, 1},
        {"rung-tuning 1\r\n" SOUND, 0, 1},
        {SOUND "rung-tuning 1\n", 0, 1},
        {"\xEF\xBB\xBFrung-tuning 1\n" SOUND, 0, 1},
        {"rung-tuning 1\n" SOUND "x\n" SOUND, 2, 1},
        {"rung-tuning 1\ncpu x y f32 strict rrr 64x64x64 one 01_naive - 1", 0, 1}, /* of 12? */
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_parsed(files[i].text, strlen(files[i].text), files[i].count, files[i].skipped);
    assert_non_null(strstr(logged, "store:3 is skipped: a record has eleven words"));
}

static size_t add_text(char *text, size_t used, const char *more)
{
    memcpy(text + used, more, strlen(more));
    return used + strlen(more);
}

/* Limits: a line one too long, a record one too many; and not a line of the log for each. */
static void files_are_bounded(void **state)
{
    static char text[32 + (RUNGI_TUNING_FILE_RECORDS_MAX + 40) * sizeof SOUND];
    size_t used = add_text(text, 0, "rung-tuning 1\n");
    (void)state;
    for (int i = 0; i < RUNGI_TUNING_FILE_RECORDS_MAX + 40; i++)
        used = add_text(text, used, SOUND);
    assert_parsed(text, used, RUNGI_TUNING_FILE_RECORDS_MAX, 40);
    int told = 0;
    for (const char *line = logged; (line = strstr(line, "4096 records")); line++)
        told++;
    assert_in_range(told, 1, 20);
    used = add_text(text, 0, "rung-tuning 1\ncpu ");
    memset(text + used, 'x', RUNGI_TUNING_LINE_BYTES);
    used = add_text(text, used + RUNGI_TUNING_LINE_BYTES, " y f32 strict rrr 64x64x64 one 01_naive - 1\n" SOUND);
    assert_parsed(text, used, 1, 1);
}

/* ---- Keys -------------------------------------------------------------------------------------- */

static void titles_of_any_letters(void **state)
{
    uint64_t seed = 11;
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    (void)state;
    for (int i = 0; i < 500; i++) {
        char before[RUNGI_TUNING_KEY_BYTES], after[RUNGI_TUNING_KEY_BYTES], line[RUNGI_TUNING_LINE_BYTES];
        rungi_tuning_key key;
        rungi_tuning_record record;
        char title[128] = "";
        int length = (int)unit_random(&seed, sizeof title - 1); /* the last byte stays 0 */
        device.info.title = title;
        for (int j = 0; j < length; j++)
            title[j] = (char)(1 + unit_random(&seed, 255));
        assert_int_equal(rung_tuning_key(&device, &problem, before, sizeof before), RUNG_OK);
        rungi_tuning_key_of(&device, &problem, &key);
        size_t written = rungi_tuning_record_format(&key, "04_shared", "TILE=8", 1, line);
        const char *wrong = rungi_tuning_record_parse(line, written - 1, &record);
        if (wrong)
            fail_msg("\"%s\": %s", line, wrong);
        assert_true(is_text(record.key, before));
        title[unit_random(&seed, length + 1)] ^= 1; /* another device has another key */
        assert_int_equal(rung_tuning_key(&device, &problem, after, sizeof after), RUNG_OK);
        assert_string_not_equal(before, after);
    }
    device.info.title = "A device";
}

/* A text of any length gives a key: its first 127 bytes count. */
static void titles_of_any_length(void **state)
{
    char longer[4096], cut[128], key[RUNGI_TUNING_KEY_BYTES], cut_key[RUNGI_TUNING_KEY_BYTES];
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    snprintf(cut, sizeof cut, "%s", longer);
    device.info.title = device.info.platform = device.info.driver = longer;
    assert_int_equal(rung_tuning_key(&device, &problem, key, sizeof key), RUNG_OK);
    device.info.title = device.info.platform = device.info.driver = cut;
    assert_int_equal(rung_tuning_key(&device, &problem, cut_key, sizeof cut_key), RUNG_OK);
    assert_string_equal(key, cut_key);
}

static void assert_key_ends(const rung_problem *problem, const char *end)
{
    char text[RUNGI_TUNING_KEY_BYTES], expected[RUNGI_TUNING_KEY_BYTES];
    assert_int_equal(rung_tuning_key(&device, problem, text, sizeof text), RUNG_OK);
    snprintf(expected, sizeof expected, "%s A%%20device%%20x8 P%%201.2 %s", device.backend->name, end);
    assert_string_equal(text, expected);
}

static void keys_differ_by_field(void **state)
{
    char text[8];
    rung_problem problem = square_of(RUNG_F32, 16, 17, 64);
    (void)state;
    assert_key_ends(&problem, "f32 strict rrr 16x64x64 one");
    problem.compute = RUNG_COMPUTE_TF32;
    problem.b = rung_matrix_transpose(rung_matrix_of(RUNG_F32, 17, 64, NULL));
    assert_key_ends(&problem, "f32 tf32 rcr 16x64x64 one");
    problem.a.row_stride = 200;
    problem.a.col_stride = 3;
    assert_key_ends(&problem, "f32 tf32 scr 16x64x64 one");
    problem = square_of(RUNG_F16, 4096, 4097, 1025);
    problem.c = rung_matrix_of(RUNG_F32, 4096, 4097, NULL);
    problem.batch = 3;
    problem.c.batch_stride = 4096 * 4097;
    assert_key_ends(&problem, "f16:f32 strict rrr 4096xmorex4096 batch");
    assert_int_equal(rung_tuning_key(&device, &problem, text, sizeof text), RUNG_STATUS_TOO_LARGE);
    assert_string_equal(text, "");
    problem.c.type = RUNG_I8;
    assert_int_equal(rung_tuning_key(&device, &problem, text, sizeof text), RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_tuning_key(NULL, &problem, text, sizeof text), RUNG_STATUS_INVALID);
}

/* ---- Choosing ---------------------------------------------------------------------------------- */

/* Reads a store into the context, and only it. */
static void use_store(const char *lines)
{
    const char *path = write_store("used", lines);
    rungi_tuning_records_free(context, context->tuning_records);
    assert_int_equal(rungi_tuning_file_read(context, path, &context->tuning_records), RUNG_OK);
    context->is_tuning_loaded = true;
}

/* What a plan takes: "kernel parameters; origin; rejected". */
static const char *selected_with(const rung_problem *problem, const rung_plan_options *options)
{
    static char text[3072];
    rung_plan *plan;
    if (rung_plan_create(&device, problem, options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    const rung_plan_info *info = rung_plan_describe(plan);
    assert_true((info->origin == RUNG_ORIGIN_TUNING) == (strchr(info->origin_text, '/') != NULL));
    snprintf(text, sizeof text, "%s %s; %s; %s", info->kernel, info->parameters, info->origin_text, info->rejected);
    rung_plan_destroy(plan);
    return text;
}

static const char *selected_kernel(int64_t m, int64_t n, int64_t k)
{
    rung_problem problem = square_of(RUNG_F32, m, n, k);
    return selected_with(&problem, NULL);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not \"%s\" in \"%s\"", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in \"%s\"", part, text);
}

static void a_record_is_used(void **state)
{
    char lines[4096];
    (void)state;
    snprintf(lines, sizeof lines, "# mine\n%s%s", line_of("64x64x64 one 04_shared TILE=16 5"),
             line_of("64x64x1024 one 04_shared TILE=32 5"));
    use_store(lines);
    assert_has(selected_kernel(64, 20, 17), "04_shared TILE=16; ");
    assert_has(selected_kernel(64, 20, 17), "/used:3; ");
    assert_has(selected_kernel(64, 20, 1000), "04_shared TILE=32; ");
    assert_lacks(selected_kernel(64, 20, 17), "refused");
    use_store(line_of("64x64x64 one 07_tile2d BM=256,BN=8,BK=4,TM=8,TN=8 5")); /* doubled, halved */
    assert_has(selected_kernel(64, 64, 64), "07_tile2d BM=256,BN=8,BK=4,TM=8,TN=8; ");
    use_store(lines);
    assert_lacks(selected_kernel(2048, 2048, 64), "04_shared"); /* too far */
    rung_problem problem = square_of(RUNG_F64, 64, 64, 64);
    assert_lacks(selected_with(&problem, NULL), "04_shared;");
    /* A kernel that is named keeps its defaults. */
    rung_plan_options options = {.size = sizeof(rung_plan_options)};
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_find(context, device.backend->name, "04", &kernel), RUNG_OK);
    options.kernel = kernel;
    problem = square_of(RUNG_F32, 64, 64, 64);
    assert_has(selected_with(&problem, &options), "04_shared TILE=32; defaults; ");
    options.parameters = "TILE=8";
    assert_has(selected_with(&problem, &options), "04_shared TILE=8; given; ");
}

static void records_of_other_devices_are_ignored(void **state)
{
    char before[3072];
    (void)state;
    use_store("");
    snprintf(before, sizeof before, "%s", selected_kernel(64, 64, 64));
    use_store("other A%20device%20x8 P%201.2 f32 strict rrr 64x64x64 one 04_shared TILE=16 5\n");
    assert_string_equal(selected_kernel(64, 64, 64), before);
    use_store(line_of("64x64x64 batch 04_shared TILE=16 5"));
    assert_string_equal(selected_kernel(64, 64, 64), before);
    use_store(line_of("64x64x64 one 04_shared TILE=16 5"));
    device.info.driver = "1.3";
    assert_string_equal(selected_kernel(64, 64, 64), before);
    device.info.driver = "1.2";
    device.info.compute_units = 64; /* a larger one of the same title */
    assert_lacks(selected_kernel(64, 64, 64), "04_shared TILE=16");
    device.info.compute_units = 8;
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=16");
}

/* Each is refused with its reason, and the next is tried; behind them all, the ladder. */
static void unusable_records_are_skipped(void **state)
{
    static const struct {
        const char *record, *reason;
    } records[] = {
        {"13_unheard X=1", "has no kernel \"13_unheard\""},
        {"00_vendor -", "is selected only by name"},
        {"04 TILE=16", "full name"},
        {"04_shared TILE=33", "must fit a block of 1024"},
        {"04_shared TILE=0", "must fit a block of 1024"},
        {"04_shared TIL=16", "has no parameter"},
        {"04_shared -", "now has"},
        {"04_shared TILE=16,TILE=16", "now has"},
        {"07_tile2d BM=64,BN=64,BK=16,TM=3,TN=4", "TM must divide BM"},
        {"07_tile2d BN=64,BM=64,BK=16,TM=4,TN=4", "now has"},
        {"04_shared TILE=2147483647", "04_shared"},
        {"07_tile2d BM=6144,BN=6144,BK=1,TM=6144,TN=6144", "BM=6144 is far outside the values that 07_tile2d lists"},
        {"07_tile2d BM=64,BN=64,BK=1,TM=4,TN=4", "BK=1 is far"},
        {"07_tile2d BM=512,BN=64,BK=8,TM=8,TN=8", "BM=512 is far"},
    };
    char lines[4096], before[3072], record[256];
    (void)state;
    use_store("");
    snprintf(before, sizeof before, "%s", selected_kernel(64, 64, 64));
    *strchr(before, ';') = '\0';
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        snprintf(record, sizeof record, "64x64x64 one %s 5", records[i].record);
        use_store(line_of(record));
        assert_has(selected_kernel(64, 64, 64), before);
        assert_has(selected_kernel(64, 64, 64), "/used:2: ");
        assert_has(selected_kernel(64, 64, 64), records[i].reason);
        snprintf(lines, sizeof lines, "%s%s", line_of("64x64x64 one 04_shared TILE=16 5"), line_of(record));
        use_store(lines);
        assert_has(selected_kernel(64, 64, 64), "04_shared TILE=16; ");
        assert_has(selected_kernel(64, 64, 64), records[i].reason);
    }
    assert_null(strstr(rung_error_text(), "04_shared")); /* a refusal on the way is no failure */
}

/* Neither memory that a record's kernel does not get nor anything else about it is a failure. */
static void a_failing_record_does_not_stop_others(void **state)
{
    static const rung_status statuses[] = {RUNG_STATUS_NO_MEMORY, RUNG_STATUS_DEVICE_LOST, RUNG_STATUS_UNSUPPORTED,
                                           RUNG_STATUS_INVALID};
    (void)state;
    refusal.kernel = "04_shared";
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        refusal.status = statuses[i];
        use_store(line_of("64x64x64 one 04_shared TILE=16 5"));
        assert_has(selected_kernel(64, 64, 64), "10_pipeline");
        assert_has(selected_kernel(64, 64, 64), "/used:2: 04_shared is not for this device");
    }
    /* What is so of the device is told by the ladder too. */
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    rung_plan *plan;
    refusal.kernel = "10_pipeline";
    refusal.status = RUNG_STATUS_DEVICE_LOST;
    assert_int_equal(rung_plan_create(&device, &problem, NULL, &plan), RUNG_OK);
    rung_plan_destroy(plan);
    use_store("");
    assert_int_equal(rung_plan_create(&device, &problem, NULL, &plan), RUNG_STATUS_DEVICE_LOST);
}

/* A record that does not compile is compiled once a context, and others are still tried. */
static void records_that_do_not_compile(void **state)
{
    char lines[4096];
    (void)state;
    refusal.kernel = "04_shared";
    refusal.status = RUNG_STATUS_COMPILE_FAILED;
    refusal.tries = 0;
    snprintf(lines, sizeof lines, "%s%s%s", line_of("64x64x64 one 07_tile2d BM=64,BN=64,BK=16,TM=4,TN=4 5"),
             line_of("64x64x64 one 04_shared TILE=8 5"), line_of("64x64x64 one 04_shared TILE=16 5"));
    use_store(lines);
    assert_has(selected_kernel(64, 64, 64), "/used:4: 04_shared is not for this device");
    assert_has(selected_kernel(64, 64, 64), "07_tile2d BM=64,BN=64,BK=16,TM=4,TN=4; ");
    assert_lacks(selected_kernel(64, 64, 64), "04_shared");
    assert_int_equal(refusal.tries, 2); /* one for each */
    refusal.kernel = NULL;
    use_store(lines);
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=16; ");
}

static void rejections_are_logged_briefly(void **state)
{
    char lines[4096] = "";
    (void)state;
    for (int i = 0; i < 5; i++)
        strcat(lines, line_of("64x64x64 one 04_shared TILE=33 5"));
    use_store(lines);
    assert_has(selected_kernel(64, 64, 64), "/used:6: ");
    assert_has(selected_kernel(64, 64, 64), "/used:5: ");
    assert_has(selected_kernel(64, 64, 64), "; 3 more records");
    assert_lacks(selected_kernel(64, 64, 64), "/used:4: ");
}

/* A kernel without parameters has its origin all the same. */
static void a_record_without_parameters(void **state)
{
    int cpu = rungi_backend_index("cpu");
    (void)state;
    if (cpu < 0)
        skip();
    device.backend = rungi_backends[cpu];
    use_store("");
    assert_has(selected_kernel(64, 64, 64), "; defaults; ");
    assert_lacks(selected_kernel(64, 64, 64), "01_naive ;");
    use_store("cpu A%20device%20x8 P%201.2 f32 strict rrr 64x64x64 one 01_naive - 1\n");
    assert_has(selected_kernel(64, 64, 64), "01_naive ; ");
    assert_has(selected_kernel(64, 64, 64), "/used:2; ");
}

/* What was measured on other sizes may be slower there than what nobody measured. */
static void other_orders(void **state)
{
    (void)state;
    use_store(line_of("256x256x256 one 04_shared TILE=16 5"));
    assert_has(selected_kernel(256, 65, 200), "04_shared TILE=16; ");
    assert_has(selected_kernel(257, 256, 256), "10_pipeline");
    assert_has(selected_kernel(256, 64, 256), "10_pipeline");
    assert_has(selected_kernel(256, 256, 1000), "10_pipeline");
    use_store("");
}

static void duplicates(void **state)
{
    char lines[4096];
    (void)state;
    use_store("no record\n");
    assert_has(logged, "/used: 0 records; skipped lines: 1");
    snprintf(lines, sizeof lines, "%s%s", line_of("64x64x64 one 04_shared TILE=16 9"),
             line_of("64x64x64 one 04_shared TILE=8 5"));
    use_store(lines);
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=8; ");
}

/* What can be counted: small tiles where large ones would leave units idle, and not where a
 * long k is cut so that they do not. */
static void tiles_by_units(void **state)
{
    rung_plan_options offered = {.size = sizeof(rung_plan_options), .max_workspace_bytes = 1 << 24};
    rung_problem long_k = square_of(RUNG_F32, 256, 256, 1 << 16);
    rung_problem skinny = square_of(RUNG_F32, 4096, 3, 512);
    (void)state;
    use_store("");
    device.info.compute_units = 4;
    assert_has(selected_kernel(256, 256, 256), "10_pipeline BM=128,BN=128"); /* four tiles */
    device.info.compute_units = 16;
    assert_has(selected_kernel(256, 256, 256), "10_pipeline BM=64,BN=64");
    assert_has(selected_kernel(256, 256, 256), "; preset small; ");
    assert_has(selected_kernel(4096, 4096, 64), "10_pipeline BM=128,BN=128");
    assert_has(selected_kernel(4096, 4096, 64), "; defaults; ");
    assert_has(selected_with(&long_k, &offered), "10_pipeline BM=128,BN=128");
    assert_has(selected_with(&long_k, NULL), "10_pipeline BM=64,BN=64"); /* nowhere to put the shares */
    assert_has(selected_with(&skinny, NULL), "10_pipeline BM=64,BN=64");
    device.info.compute_units = 0; /* not told */
    assert_has(selected_kernel(256, 256, 256), "10_pipeline BM=128,BN=128");
    device.preset = "cpu"; /* a processor, whose units do not count */
    device.info.compute_units = 64;
    assert_has(selected_kernel(256, 256, 256), "; preset cpu; ");
    assert_has(selected_with(&skinny, NULL), "; preset cpu_small; "); /* an area of a fifth */
}

/* A column-major C is computed as a row-major one: rows and columns of tiles trade places. */
static void tiles_of_a_transposed_c(void **state)
{
    rung_plan plan = {.device = &device, .problem = square_of(RUNG_F32, 300, 20, 64)};
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_find(context, device.backend->name, "03", &kernel), RUNG_OK); /* 32 x 128 */
    assert_int_equal(rungi_tile_cost_of(&plan, kernel, NULL).area, 320 * 128);
    plan.problem.c = rung_matrix_transpose(rung_matrix_of(RUNG_F32, 20, 300, NULL));
    assert_int_equal(rungi_tile_cost_of(&plan, kernel, NULL).area, 384 * 32);
    device.info.compute_units = 2; /* 3 tiles in two rounds of two */
    assert_int_equal(rungi_tile_cost_of(&plan, kernel, NULL).wave_area, 4 * 32 * 128);
}

/* ---- Files -------------------------------------------------------------------------------------- */

static void user_records_override_system_records(void **state)
{
    char paths[3][RUNGI_TUNING_PATH_BYTES];
    rungi_tuning_records *list;
    rungi_tuning_proposal found[RUNGI_TUNING_PROPOSALS_MAX];
    rungi_tuning_key key;
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    (void)state;
    strcpy(paths[0], write_store("system", line_of("64x64x64 one 04_shared TILE=32 5")));
    strcpy(paths[1], write_store("user", line_of("64x64x64 one 04_shared TILE=16 5")));
    strcpy(paths[2], write_store("named", line_of("64x256x64 one 04_shared TILE=8 5")));
    assert_int_equal(rungi_tuning_files_read(context, paths, 3, &list), RUNG_OK);
    rungi_tuning_key_of(&device, &problem, &key);
    assert_int_equal(rungi_tuning_records_find(list, &key, found), 2);
    assert_string_equal(found[0].parameters, "TILE=16"); /* the strongest file is for other sizes */
    assert_string_equal(found[1].parameters, "TILE=32");
    rungi_tuning_records_free(context, list);
    strcpy(paths[2], write_store("named", line_of("64x64x64 one 04_shared TILE=8 5")));
    assert_int_equal(rungi_tuning_files_read(context, paths, 3, &list), RUNG_OK);
    assert_int_equal(rungi_tuning_records_find(list, &key, found), 3);
    assert_string_equal(found[0].parameters, "TILE=8");
    assert_string_equal(found[1].parameters, "TILE=16");
    rungi_tuning_records_free(context, list);
}

/* More than there is room for: the last lines stay. */
static void the_last_of_many(void **state)
{
    char lines[4096] = "";
    rungi_tuning_proposal found[RUNGI_TUNING_PROPOSALS_MAX];
    rungi_tuning_key key;
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    (void)state;
    for (int i = 0; i < 10; i++) {
        char record[64];
        snprintf(record, sizeof record, "64x64x64 one 04_shared TILE=%d 5", i);
        strcat(lines, line_of(record));
    }
    use_store(lines);
    rungi_tuning_key_of(&device, &problem, &key);
    assert_int_equal(rungi_tuning_records_find(context->tuning_records, &key, found), RUNGI_TUNING_PROPOSALS_MAX);
    for (int i = 0; i < RUNGI_TUNING_PROPOSALS_MAX; i++) {
        char last[16];
        snprintf(last, sizeof last, "TILE=%d", 9 - i);
        assert_string_equal(found[i].parameters, last);
    }
}

static void paths_of_the_environment(void **state)
{
    static char paths[RUNGI_TUNING_FILE_COUNT][RUNGI_TUNING_PATH_BYTES];
    char path[64];
    (void)state;
    setenv("XDG_CONFIG_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    setenv("RUNG_TUNING", "off", 1);
    assert_false(rungi_tuning_file_paths(paths));
    setenv("RUNG_TUNING", "", 1);
    assert_false(rungi_tuning_file_paths(paths));
    setenv("RUNG_TUNING", "mine", 1);
    assert_true(rungi_tuning_file_paths(paths));
    assert_true(strlen(paths[0]) > 0);
    assert_string_equal(paths[1], "/xdg/rung/tuning");
    assert_string_equal(paths[2], "mine");
    unsetenv("RUNG_TUNING");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    assert_true(rungi_tuning_file_paths(paths));
    assert_string_equal(paths[1], "/home/me/.config/rung/tuning");
    assert_string_equal(paths[2], "");
    assert_int_equal(rung_tuning_path(NULL, path, sizeof path), RUNG_OK);
    assert_string_equal(path, "/home/me/.config/rung/tuning");
    assert_int_equal(rung_tuning_path(NULL, path, 28), RUNG_STATUS_TOO_LARGE);
    unsetenv("HOME");
    assert_int_equal(rung_tuning_path(NULL, path, sizeof path), RUNG_STATUS_NOT_FOUND);
    assert_true(rungi_tuning_file_paths(paths));
    assert_string_equal(paths[1], "");
}

/* Nothing of these is read, nothing waits, and every multiply goes on. */
static void non_regular_files_at_the_path(void **state)
{
    rungi_tuning_records *records;
    char *large = calloc(1, RUNGI_TUNING_FILE_BYTES_MAX + 1);
    (void)state;
    alarm(20);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    assert_int_equal(symlink("nowhere", path_of("link")), 0);
    assert_int_equal(symlink("loop", path_of("loop")), 0);
    write_text("large", large, RUNGI_TUNING_FILE_BYTES_MAX + 1);
    static const struct {
        const char *name, *told;
    } files[] = {
        {"pipe", "not a regular file"},
        {"folder", "not a regular file"},
        {"link", NULL},
        {"missing", NULL},
        {"loop", "is not read"},
        {"large", "more than 1 MiB"},
        {"missing/below", NULL},
        {"large/below", NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        logged[0] = '\0';
        assert_int_equal(rungi_tuning_file_read(context, path_of(files[i].name), &records), RUNG_OK);
        assert_null(records);
        if (files[i].told)
            assert_has(logged, files[i].told);
        else
            assert_string_equal(logged, "");
        setenv("RUNG_TUNING", path_of(files[i].name), 1);
        setenv("HOME", folder, 1);
        unsetenv("XDG_CONFIG_HOME");
        context->is_tuning_loaded = false;
        logged[0] = '\0';
        assert_has(selected_kernel(64, 64, 64), "10_pipeline");
        assert_true(context->is_tuning_loaded);
        assert_has(logged, files[i].told ? files[i].told : "which does not exist"); /* since it was named */
    }
    alarm(0);
    free(large);
}

/* A file of /proc has the size 0, so that it seems to grow while it is read. */
static void growing_files_are_rejected(void **state)
{
    rungi_tuning_records *records;
    (void)state;
    logged[0] = '\0';
    assert_int_equal(rungi_tuning_file_read(context, "/proc/self/status", &records), RUNG_OK);
    assert_null(records);
    assert_has(logged, "it changed while it was read");
}

/* ---- Saving ---------------------------------------------------------------------------------------- */

static void save(int64_t m, const char *parameters, double gflops, const char *path)
{
    rung_problem problem = square_of(RUNG_F32, m, m, m);
    rung_tuning found = {sizeof(rung_tuning), "04_shared", parameters, gflops};
    if (rung_tuning_save(&device, &problem, &found, path) != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

static void saved_records_replace(void **state)
{
    const char *path = path_of("saved");
    char text[4096], expected[4096];
    struct stat status;
    (void)state;
    save(64, "TILE=16", 1.5, path);
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=16; ");
    assert_has(selected_kernel(64, 64, 64), "/saved:3; ");
    save(1000, "TILE=32", 2, path);
    assert_has(selected_kernel(1000, 1000, 1000), "/saved:4; ");
    FILE *file = fopen(path, "a");
    fprintf(file, "# a comment\nno record\n\ncut short");
    fclose(file);
    chmod(path, 0640);
    save(50, "TILE=8", 0.0004, path); /* as 64 */
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=8; ");
    assert_has(selected_kernel(64, 64, 64), "/saved:3; ");
    save(16, "TILE=8", 3, path);
    read_text(path, text, sizeof text);
    snprintf(expected, sizeof expected,
             "rung-tuning 1\n"
             "# backend device driver product compute layout shape batch kernel parameters gflops\n"
             "%s%s# a comment\nno record\n\n# cut short: cut short\n%s",
             line_of("64x64x64 one 04_shared TILE=8 0.000"), line_of("1024x1024x1024 one 04_shared TILE=32 2.000"),
             line_of("16x16x16 one 04_shared TILE=8 3.000"));
    assert_string_equal(text, expected);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    int64_t own = 0; /* a context keeps one record a key, however often it saves */
    for (const rungi_tuning_records *records = context->tuning_records; records; records = records->next)
        own += records->is_saved;
    assert_int_equal(own, 3);
    /* Defaults are written out, so that a record means what was measured. */
    save(200, "", 1, path);
    read_text(path, text, sizeof text);
    assert_has(text, line_of("256x256x256 one 04_shared TILE=32 1.000"));
}

/* Removes the records of m x m x m; returns how many there were. */
static int64_t remove_of(int64_t m, const char *path)
{
    rung_problem problem = square_of(RUNG_F32, m, m, m);
    int64_t removed = -1;
    if (rung_tuning_remove(&device, &problem, path, &removed) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return removed;
}

static void records_are_removed(void **state)
{
    const char *path = path_of("removed");
    char text[4096], expected[4096];
    (void)state;
    assert_int_equal(remove_of(64, path), 0); /* there is no file, and none is made */
    assert_true(rungi_tuning_file_is_missing(path));
    save(64, "TILE=16", 1.5, path);
    save(1000, "TILE=32", 2, path);
    FILE *file = fopen(path, "a");
    fprintf(file, "# a comment\nno record\n%scut short", line_of("64x64x64 one 04_shared TILE=8 3.000"));
    fclose(file);
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=16; ");
    assert_int_equal(remove_of(50, path), 2);               /* as 64: every record of the key */
    assert_lacks(selected_kernel(64, 64, 64), "/removed:"); /* at once in this context, */
    use_store("");
    rungi_tuning_records_free(context, context->tuning_records);
    assert_int_equal(rungi_tuning_file_read(context, path, &context->tuning_records), RUNG_OK);
    assert_lacks(selected_kernel(64, 64, 64), "/removed:"); /* and in one that reads the file */
    assert_has(selected_kernel(1000, 1000, 1000), "04_shared TILE=32; ");
    read_text(path, text, sizeof text);
    snprintf(expected, sizeof expected,
             "rung-tuning 1\n"
             "# backend device driver product compute layout shape batch kernel parameters gflops\n"
             "%s# a comment\nno record\n# cut short: cut short\n",
             line_of("1024x1024x1024 one 04_shared TILE=32 2.000"));
    assert_string_equal(text, expected);
    assert_int_equal(remove_of(64, path), 0);
    save(64, "TILE=8", 1, path); /* removed is not forbidden */
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=8; ");
}

static void records_that_are_not_removed(void **state)
{
    const char *path = path_of("letter");
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    char text[64];
    (void)state;
    assert_int_equal(rung_tuning_remove(NULL, &problem, path, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tuning_remove(&device, NULL, path, NULL), RUNG_STATUS_INVALID);
    FILE *file = fopen(path, "w");
    fprintf(file, "Dear store,\n");
    fclose(file);
    assert_int_equal(rung_tuning_remove(&device, &problem, path, NULL), RUNG_STATUS_INVALID);
    read_text(path, text, sizeof text);
    assert_string_equal(text, "Dear store,\n");
}

static unsigned permissions_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* A store that a group shares stays shared, whoever saves into it; what stands beside it stays. */
static void file_permissions_are_preserved(void **state)
{
    char path[128], text[64];
    (void)state;
    strcpy(path, write_store("shared", ""));
    write_text("shared.new", "mine", 4);
    chmod(path, 0664);
    mode_t before = umask(077);
    save(64, "TILE=16", 1, path);
    save(64, "TILE=8", 1, path_of("new"));
    umask(027);
    save(64, "TILE=8", 1, path_of("newer"));
    umask(before);
    assert_int_equal(permissions_of(path), 0664);
    assert_int_equal(permissions_of(path_of("shared.lock")), 0660);
    assert_int_equal(permissions_of(path_of("new")), 0600);
    assert_int_equal(permissions_of(path_of("newer")), 0640);
    assert_int_equal(permissions_of(path_of("newer.lock")), 0600);
    chmod(path, 0600);
    save(64, "TILE=16", 1, path);
    assert_int_equal(permissions_of(path), 0600);
    assert_int_equal(permissions_of(path_of("shared.lock")), 0600);
    read_text(path_of("shared.new"), text, sizeof text);
    assert_string_equal(text, "mine");
    /* A file of ours that is linked to is no lock to give rights of. */
    write_text("precious", "", 0);
    chmod(path_of("precious"), 0640);
    assert_int_equal(unlink(path_of("shared.lock")), 0);
    assert_int_equal(link(path_of("precious"), path_of("shared.lock")), 0);
    save(64, "TILE=8", 1, path);
    assert_int_equal(permissions_of(path_of("precious")), 0640);
    /* Nothing is left beside it. */
    char command[192];
    snprintf(command, sizeof command, "test -z \"$(find %s -name '.*rung-*')\"", folder);
    assert_int_equal(system(command), 0);
}

static void assert_not_saved(const char *kernel, const char *parameters, double gflops, const char *path,
                             const char *why)
{
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    rung_tuning found = {sizeof(rung_tuning), kernel, parameters, gflops};
    assert_int_not_equal(rung_tuning_save(&device, &problem, &found, path), RUNG_OK);
    assert_has(rung_error_text(), why);
}

static void records_that_are_not_saved(void **state)
{
    const char *path = path_of("never");
    (void)state;
    assert_not_saved("13_unheard", NULL, 1, path, "no kernel");
    assert_not_saved("00_vendor", NULL, 1, path, "selected only by name");
    assert_not_saved("04_shared", "TILE=33", 1, path, "rejects");
    assert_not_saved("07_tile2d", "BM=6144,BN=6144,BK=1,TM=6144,TN=6144", 1, path, "is far outside");
    assert_not_saved("04_shared", "TILES=3", 1, path, "no parameter");
    assert_not_saved("04_shared", "TILE=8", NAN, path, "gflops is");
    assert_not_saved("04_shared", "TILE=8", -1, path, "gflops is");
    assert_not_saved("04_shared", "TILE=8", INFINITY, path, "gflops is");
    assert_int_not_equal(access(path, F_OK), 0);
    path = write_text("another", "rung-tuning 2\nsomething\n", 24);
    assert_not_saved("04_shared", "TILE=8", 1, path, "left unchanged");
    char text[64];
    read_text(path, text, sizeof text);
    assert_string_equal(text, "rung-tuning 2\nsomething\n");
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    assert_not_saved("04_shared", "TILE=8", 1, path_of("folder"), "not a regular file");
    assert_not_saved("04_shared", "TILE=8", 1, path_of("no/such/folder"), "cannot be locked");
    assert_int_equal(mkdir(path_of("locked.lock"), 0700), 0);
    assert_not_saved("04_shared", "TILE=8", 1, path_of("locked"), "cannot be locked");
    assert_int_equal(mkfifo(path_of("piped.lock"), 0700), 0);
    assert_not_saved("04_shared", "TILE=8", 1, path_of("piped"), "it is not a regular file");
    assert_int_equal(rung_tuning_save(&device, NULL, NULL, path), RUNG_STATUS_INVALID);
    assert_not_saved(NULL, NULL, 1, path, "rung_tuning.kernel is NULL");
    assert_int_equal(rung_tuning_path(context, NULL, 10), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tuning_path(context, text, 0), RUNG_STATUS_INVALID);
    char long_path[8000];
    memset(long_path, '/', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    assert_not_saved("04_shared", "TILE=8", 1, long_path, "the path of the tuning file has");
}

/* A kernel that computes in less than was asked for would be refused by every plan. */
static void kernels_of_other_compute_modes(void **state)
{
    int cuda = rungi_backend_index("cuda"), found = 0;
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    rung_kernel *kernel;
    (void)state;
    if (cuda < 0)
        skip();
    device.backend = rungi_backends[cuda];
    for (int64_t i = 0; rung_kernel_at(context, "cuda", i, &kernel) == RUNG_OK; i++) {
        if (kernel->info.compute == RUNG_COMPUTE_STRICT || kernel->info.number == 0 ||
            !(kernel->types & 1u << RUNGI_F32_TO_F32))
            continue;
        rung_tuning tuning = {sizeof(rung_tuning), kernel->info.name, NULL, 1};
        assert_not_saved(kernel->info.name, NULL, 1, path_of("strict"), "computes in");
        problem.compute = kernel->info.compute;
        assert_int_equal(rung_tuning_save(&device, &problem, &tuning, path_of("relaxed")), RUNG_OK);
        found++;
    }
    assert_true(found > 0);
}

/* The user's file is made with its folders; a link stays one. */
static void the_user_file(void **state)
{
    char path[128], target[128];
    struct stat status;
    (void)state;
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("RUNG_TUNING");
    save(64, "TILE=16", 1, NULL);
    snprintf(path, sizeof path, "%s/.config/rung/tuning", folder);
    assert_int_equal(stat(path, &status), 0);
    strcpy(target, path_of("elsewhere"));
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    save(64, "TILE=8", 1, NULL);
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    char text[1024];
    read_text(target, text, sizeof text);
    assert_has(text, "TILE=8");
    assert_lacks(text, "TILE=16");
    /* Another context reads it by itself. */
    context->is_tuning_loaded = false;
    rungi_tuning_records_free(context, context->tuning_records);
    context->tuning_records = NULL;
    assert_has(selected_kernel(64, 64, 64), "04_shared TILE=8; ");
}

static void merging(void **state)
{
    char lines[4096], text[4096], expected[4096], into[128], from[128];
    int64_t changed;
    (void)state;
    snprintf(lines, sizeof lines, "# of theirs\n%s%sno record\n%s%s", line_of("64x64x64 one 04_shared TILE=16 9"),
             line_of("16x16x16 one 04_shared TILE=16 2"), line_of("256x16x16 one 04_shared TILE=8 1"),
             "other x y f64 strict rcs 16x16x16 batch 99_later Z=1 4\n");
    strcpy(from, write_store("from", lines));
    snprintf(lines, sizeof lines, "# of mine\n%s%s%s", line_of("64x64x64 one 04_shared TILE=8 5"),
             line_of("16x16x16 one 04_shared TILE=8 3"), line_of("256x16x16 one 04_shared TILE=16 1"));
    strcpy(into, write_store("into", lines));
    assert_int_equal(rung_tuning_merge(context, from, into, &changed), RUNG_OK);
    assert_int_equal(changed, 2);
    read_text(into, text, sizeof text);
    snprintf(expected, sizeof expected, "rung-tuning 1\n# of mine\n%s%s%s%s",
             line_of("64x64x64 one 04_shared TILE=16 9"), line_of("16x16x16 one 04_shared TILE=8 3"),
             line_of("256x16x16 one 04_shared TILE=16 1"), "other x y f64 strict rcs 16x16x16 batch 99_later Z=1 4\n");
    assert_string_equal(text, expected);
    assert_int_equal(rung_tuning_merge(context, from, into, &changed), RUNG_OK);
    assert_int_equal(changed, 0);
    assert_int_equal(rung_tuning_merge(context, from, path_of("new"), &changed), RUNG_OK);
    assert_int_equal(changed, 4);
    assert_int_equal(rung_tuning_merge(context, path_of("missing"), into, NULL), RUNG_STATUS_NOT_FOUND);
    assert_int_equal(rung_tuning_merge(context, write_text("bad", "x\n", 2), into, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tuning_merge(context, from, path_of("bad"), &changed), RUNG_STATUS_INVALID);
    assert_int_equal(rung_tuning_merge(context, NULL, into, NULL), RUNG_STATUS_INVALID);
}

/* A store without records is one; of several with a key one line changes; the user's folder is made. */
static void merging_nothing_or_twice(void **state)
{
    char lines[4096], text[4096], users[128];
    int64_t changed;
    (void)state;
    assert_int_equal(rung_tuning_merge(context, write_store("none", ""), path_of("made"), &changed), RUNG_OK);
    assert_int_equal(changed, 0);
    read_text(path_of("made"), text, sizeof text);
    assert_has(text, "rung-tuning 1\n# backend");
    snprintf(lines, sizeof lines, "%s%s%s", line_of("64x64x64 one 04_shared TILE=16 7"),
             line_of("64x64x64 one 04_shared TILE=8 8"), line_of("64x64x64 one 04_shared TILE=32 9"));
    assert_int_equal(rung_tuning_merge(context, write_store("thrice", lines), path_of("made"), &changed), RUNG_OK);
    assert_int_equal(changed, 1);
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    assert_int_equal(rung_tuning_path(context, users, sizeof users), RUNG_OK);
    assert_int_equal(rung_tuning_merge(context, path_of("made"), users, &changed), RUNG_OK);
    assert_int_equal(changed, 1);
}

/* ---- Several at once -------------------------------------------------------------------------------- */

enum { WRITERS = 6, SAVES = 5 };

/* Each writer has a layout of its own and goes through orders of m. */
static void save_some(int writer, const char *path)
{
    static const int64_t sizes[SAVES] = {16, 64, 256, 1024, 4096};
    for (int i = 0; i < SAVES; i++) {
        rung_problem problem = square_of(RUNG_F32, sizes[i], sizes[writer % SAVES], 16);
        rung_tuning found = {sizeof(rung_tuning), "04_shared", "TILE=8", writer};
        if (writer / SAVES)
            problem.b = rung_matrix_transpose(rung_matrix_of(RUNG_F32, problem.b.cols, problem.b.rows, NULL));
        if (rung_tuning_save(&device, &problem, &found, path) != RUNG_OK)
            abort();
    }
}

static void assert_all_saved(const char *path)
{
    rungi_tuning_records *records;
    assert_int_equal(rungi_tuning_file_read(context, path, &records), RUNG_OK);
    assert_non_null(records);
    assert_int_equal(records->count, WRITERS * SAVES);
    assert_int_equal(records->skipped, 0);
    rungi_tuning_records_free(context, records);
}

static void processes_lose_nothing(void **state)
{
    const char *path = path_of("shared");
    pid_t children[WRITERS];
    (void)state;
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            save_some(i, path);
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int code;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    assert_all_saved(path);
}

typedef struct store_writer {
    int number;
    const char *path;
} store_writer_t;

static void *save_in_thread(void *user)
{
    const store_writer_t *writer = user;
    save_some(writer->number, writer->path);
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    for (int i = 0; i < 20; i++) {
        rung_plan *plan;
        if (rung_plan_create(&device, &problem, NULL, &plan) != RUNG_OK)
            abort();
        rung_plan_destroy(plan);
    }
    return NULL;
}

static void threads_lose_nothing(void **state)
{
    const char *path = path_of("shared");
    pthread_t threads[WRITERS];
    store_writer_t writers[WRITERS];
    rung_context *quiet;
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .verbose = -1}; /* our log is for one thread */
    (void)state;
    assert_int_equal(rung_context_create(&options, &quiet), RUNG_OK);
    device.context = quiet;
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (store_writer_t){i, path};
        assert_int_equal(pthread_create(&threads[i], NULL, save_in_thread, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_all_saved(path);
    rung_context_destroy(quiet);
}

static void *save_again_and_again(void *user)
{
    const store_writer_t *writer = user;
    for (int i = 0; i < 300; i++) {
        rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
        rung_tuning found = {sizeof(rung_tuning), "04_shared", "TILE=8", i};
        if (rung_tuning_save(&device, &problem, &found, writer->path) != RUNG_OK)
            return (void *)(uintptr_t)1;
    }
    return NULL;
}

/* Children that are forked while the lock is held, and live on, do not hold it. */
static void child_processes_hold_no_lock(void **state)
{
    enum { CHILDREN = 40 };
    store_writer_t writer = {0, path_of("shared")};
    pid_t children[CHILDREN];
    pthread_t thread;
    void *failed;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, save_again_and_again, &writer), 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            sleep(30);
            _exit(0);
        }
    }
    pthread_join(thread, &failed);
    for (int i = 0; i < CHILDREN; i++) {
        assert_true(children[i] > 0);
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    assert_null(failed);
}

/* ---- Another process --------------------------------------------------------------------------------- */

/* This program again, as "save" or "use", with nothing but the user's folder in common. */
static int other_process(const char *what)
{
    float a[64 * 64] = {0}, b[64 * 64] = {0}, c[64 * 64];
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "opencl"};
    rung_context *own;
    rung_device *real;
    unsetenv("RUNG_TUNING");
    if (rung_context_create(&options, &own) != RUNG_OK || rung_device_open(own, "opencl", &real) != RUNG_OK)
        return UNIT_SKIPPED;
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    rung_tuning found = {sizeof(rung_tuning), "04_shared", "TILE=8", 1};
    rung_status status = strcmp(what, "save") == 0
                             ? rung_tuning_save(real, &problem, &found, NULL)
                             : rung_gemm(own, 1.0, rung_matrix_of(RUNG_F32, 64, 64, a),
                                         rung_matrix_of(RUNG_F32, 64, 64, b), 0.0, rung_matrix_of(RUNG_F32, 64, 64, c));
    rung_device_close(real);
    rung_context_destroy(own);
    return status == RUNG_OK ? 0 : 1;
}

static int run_again(const char *what)
{
    char command[512];
    snprintf(command, sizeof command, "HOME=%s XDG_CONFIG_HOME= RUNG_VERBOSE=1 '%s' %s 2> %s/%s.log", folder,
             path_of("self"), what, folder, what);
    int code = system(command);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static void another_process_uses_it(void **state)
{
    char text[8192], self[1024];
    (void)state;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    assert_int_equal(symlink(self, path_of("self")), 0);
    int code = run_again("use");
    if (code == UNIT_SKIPPED)
        skip();
    assert_int_equal(code, 0);
    read_text(path_of("use.log"), text, sizeof text);
    assert_lacks(text, "04_shared TILE=8");
    assert_int_equal(run_again("save"), 0);
    assert_int_equal(run_again("use"), 0);
    read_text(path_of("use.log"), text, sizeof text);
    assert_has(text, "04_shared TILE=8 64x64x64 f32 ");
    assert_has(text, "; parameters: ");
    assert_has(text, "/.config/rung/tuning:3; again: ");
}

/* ---- No memory --------------------------------------------------------------------------------------- */

typedef struct store_pool {
    int64_t made, fail_at, live;
} store_pool_t;

static void *pool_allocate(void *user, size_t bytes, size_t alignment)
{
    store_pool_t *pool = user;
    void *memory = NULL;
    if (++pool->made == pool->fail_at || posix_memalign(&memory, alignment < 8 ? 8 : alignment, bytes) != 0)
        return NULL;
    pool->live++;
    return memory;
}

static void pool_release(void *user, void *memory)
{
    ((store_pool_t *)user)->live--;
    free(memory);
}

static int total_failures;

/* A plan by the store, a save and a merge, whose N-th allocation fails. */
static bool survives(const char *path, const char *into, int64_t n)
{
    store_pool_t pool = {.fail_at = n};
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .verbose = -1,
                                    .allocate = pool_allocate,
                                    .release = pool_release,
                                    .memory_user = &pool};
    rung_problem problem = square_of(RUNG_F32, 64, 64, 64);
    rung_tuning found = {sizeof(rung_tuning), "04_shared", "TILE=8", 2};
    rung_context *small;
    rung_plan *plan;
    int failures = 0;
    if (rung_context_create(&options, &small) != RUNG_OK)
        return false;
    device.context = small;
    for (int again = 0; again < 2; again++) { /* the second time there is memory */
        rung_status statuses[] = {rung_plan_create(&device, &problem, NULL, &plan),
                                  rung_tuning_save(&device, &problem, &found, path),
                                  rung_tuning_merge(small, path, into, NULL)};
        rung_plan_destroy(plan);
        for (int i = 0; i < 3; i++) {
            assert_true(statuses[i] == RUNG_OK || statuses[i] == RUNG_STATUS_NO_MEMORY);
            failures += statuses[i] != RUNG_OK;
        }
        assert_in_range(failures, 0, 1);
    }
    rung_context_destroy(small);
    assert_int_equal(pool.live, 0);
    /* None either where a record's kernel alone went without: then the ladder's was taken. */
    assert_true(failures == 0 || pool.made >= n);
    total_failures += failures;
    return pool.made < n;
}

static void allocation_failures(void **state)
{
    char path[128], into[128];
    int64_t n = 1;
    (void)state;
    strcpy(path, write_store("path", line_of("64x64x64 one 04_shared TILE=16 1")));
    strcpy(into, path_of("into"));
    setenv("RUNG_TUNING", path, 1);
    setenv("HOME", folder, 1);
    while (!survives(path, into, n))
        n++;
    assert_true(n > 20 && total_failures > 15);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_record_is_read),
        TEST(invalid_records),
        TEST(accepted_file_syntax),
        TEST(files_are_bounded),
        TEST(titles_of_any_letters),
        TEST(titles_of_any_length),
        TEST(keys_differ_by_field),
        TEST(a_record_is_used),
        TEST(records_of_other_devices_are_ignored),
        TEST(unusable_records_are_skipped),
        TEST(other_orders),
        TEST(duplicates),
        TEST(a_failing_record_does_not_stop_others),
        TEST(records_that_do_not_compile),
        TEST(rejections_are_logged_briefly),
        TEST(a_record_without_parameters),
        TEST(tiles_by_units),
        TEST(tiles_of_a_transposed_c),
        TEST(user_records_override_system_records),
        TEST(the_last_of_many),
        TEST(paths_of_the_environment),
        TEST(non_regular_files_at_the_path),
        TEST(growing_files_are_rejected),
        TEST(saved_records_replace),
        TEST(records_are_removed),
        TEST(records_that_are_not_removed),
        TEST(file_permissions_are_preserved),
        TEST(records_that_are_not_saved),
        TEST(kernels_of_other_compute_modes),
        TEST(the_user_file),
        TEST(merging),
        TEST(merging_nothing_or_twice),
        TEST(processes_lose_nothing),
        TEST(child_processes_hold_no_lock),
        TEST(threads_lose_nothing),
        TEST(another_process_uses_it),
        TEST(allocation_failures),
    };
    if (argc > 1)
        return other_process(argv[1]);
    unit_clean_environment();
    if (!ladder_backend())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
