/* SPDX-License-Identifier: Apache-2.0 */
/* multiply.c - the whole of it on small matrices with little memory: right in every type, order, shape and place,
 * moving just the bytes that the cut says; stopped, failed and gone on with. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "support/cancelled_thread.h"
#include "outofcore_unit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "outofcore/resume_journal.h"
#include "outofcore/block_queue.h"
#include "outofcore/worker.h"

/* A block is out of the memory a moment before it is told of: the next may be finished in between, and must wait. */
void __real_rungi_block_queue_complete(rungi_block_queue *share, int who, int64_t block);
void __wrap_rungi_block_queue_complete(rungi_block_queue *share, int who, int64_t block);

static atomic_int blocks_done; /* since the program began */

void __wrap_rungi_block_queue_complete(rungi_block_queue *share, int who, int64_t block)
{
    struct timespec moment = {.tv_nsec = 500000};
    nanosleep(&moment, NULL);
    __real_rungi_block_queue_complete(share, who, block);
    atomic_fetch_add(&blocks_done, 1);
}

/* A file system whose numbers of files are others each time, as some have that are mounted over a network. */
int __real_stat(const char *path, struct stat *status);
__attribute__((visibility("default"))) /* a sanitizer's library refers to it */
int __wrap_stat(const char *path, struct stat *status);
static bool has_unstable_inodes;

int __wrap_stat(const char *path, struct stat *status)
{
    static atomic_int number;
    int code = __real_stat(path, status);
    if (code == 0 && has_unstable_inodes)
        status->st_ino = (ino_t)1 << 40 | (ino_t)atomic_fetch_add(&number, 1);
    return code;
}

static int64_t io_count(const char *field)
{
    char line[128];
    long long value = -1;
    size_t length = strlen(field);
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, length) == 0)
            value = atoll(line + length + 1);
    if (file)
        fclose(file);
    return value;
}

static void files_into_a_file(void **state)
{
    multiply_case_t setting = default_case;
    (void)state;
    setting.in_files = setting.out_file = true;
    multiply_and_check(&setting, NULL);
    setting.beta = -2;
    setting.alpha = 3;
    multiply_and_check(&setting, NULL);
}

/* Each call comes from a thread that was cancelled before. */
typedef struct file_call {
    rung_outofcore_matrix *a, *b;
    rung_outofcore_problem problem;
    rung_matrix read;
} file_call_t;

static void open_files(void *user)
{
    file_call_t *files = user;
    assert_ok(rung_outofcore_matrix_open_npy(path_of("a.npy"), RUNG_F32, &files->a));
    assert_ok(rung_outofcore_matrix_open_npy(path_of("b.npy"), RUNG_F32, &files->b));
}

static void multiply_files(void *user)
{
    file_call_t *files = user;
    rung_outofcore_options options = with_memory(default_case.memory);
    assert_ok(rung_outofcore_multiply(NULL, &files->problem, &options, NULL));
}

static void read_result(void *user)
{
    ((file_call_t *)user)->read = load_npy("c.npy", RUNG_F32);
}

static void close_files(void *user)
{
    file_call_t *files = user;
    rung_outofcore_matrix_destroy(files->a);
    rung_outofcore_matrix_destroy(files->b);
}

static void cancelled_callers_complete(void **state)
{
    rung_matrix a = new_matrix(RUNG_F32, default_case.m, default_case.k, false),
                b = new_matrix(RUNG_F32, default_case.k, default_case.n, false);
    file_call_t files;
    (void)state;
    fill(&a, 1, 4);
    fill(&b, 2, 4);
    save_npy("a.npy", &a);
    save_npy("b.npy", &b);
    cancelled_thread_call("rung_outofcore_matrix_open_npy", open_files, &files, -1);
    files.problem = rung_outofcore_problem_of(files.a, files.b);
    files.problem.path = result;
    cancelled_thread_call("rung_outofcore_multiply", multiply_files, &files, -1);
    cancelled_thread_call("rung_outofcore_matrix_read", read_result, &files, -1);
    cancelled_thread_call("rung_outofcore_matrix_destroy", close_files, &files, -1);
    check_product(&a, &b, &files.read, &files.read, 1, 0);
    free(a.data);
    free(b.data);
    free(files.read.data);
}

static void every_storage_and_order(void **state)
{
    (void)state;
    for (int i = 0; i < 32; i++) {
        multiply_case_t setting = default_case;
        setting.m = 97;
        setting.n = 71;
        setting.k = 83;
        setting.memory = 8000;
        setting.a_by_columns = i & 1;
        setting.b_by_columns = i & 2;
        setting.in_files = i & 4;
        setting.out_file = i & 8;
        setting.beta = i & 16 ? 2 : 0;
        multiply_and_check(&setting, NULL);
    }
}

enum { TYPES = RUNG_Q4_0 };

static void every_product(void **state)
{
    int found = 0;
    (void)state;
    for (int i = 0; i < TYPES * TYPES; i++)
        for (int places = 0; places < 2; places++) {
            multiply_case_t setting = default_case;
            setting.in = (rung_type)(i / TYPES + 1);
            setting.out = (rung_type)(i % TYPES + 1);
            if (rung_accumulator_type(setting.in, setting.in, setting.out) == RUNG_TYPE_NONE || setting.in > RUNG_I32)
                continue; /* the reference of this test has no 8-bit floats */
            found++;
            setting.m = 75;
            setting.n = 61;
            setting.k = 90;
            setting.memory = 9000;
            setting.beta = 2;
            setting.in_files = setting.out_file = places;
            multiply_and_check(&setting, NULL);
        }
    assert_int_equal(found, 2 * 13);
}

static void small_and_empty(void **state)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {1, 200, 3}, {200, 1, 3}, {3, 4, 1000},
                                       {5, 6, 0}, {0, 6, 5},   {5, 0, 6},   {17, 16, 15}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int files = 0; files < 2; files++) {
            multiply_case_t setting = default_case;
            setting.m = sizes[i][0];
            setting.n = sizes[i][1];
            setting.k = sizes[i][2];
            setting.memory = 1024;
            setting.beta = files ? 0 : 3;
            setting.in_files = setting.out_file = files;
            multiply_and_check(&setting, NULL);
        }
}

/* Of one strip and one panel each: many are held at a time, by the one thread that fetches, the one that computes and the one that
 * brings out. */
static void blocks_of_one_slice(void **state)
{
    (void)state;
    for (int files = 0; files < 2; files++) {
        multiply_case_t setting = default_case;
        setting.m = setting.n = 90;
        setting.k = 1;
        setting.memory = 700;
        setting.beta = files ? 2 : 0;
        setting.in_files = setting.out_file = files;
        const rung_outofcore_report *report = multiply_and_check(&setting, NULL);
        assert_true(report->blocking->panels == 1 && report->blocking->row_blocks * report->blocking->col_blocks > 50);
    }
}

static rung_status multiply_empty(int64_t m, int64_t n, int64_t k, void *data)
{
    rung_outofcore_problem problem = rung_outofcore_problem_of(wrap_memory(rung_matrix_of(RUNG_F32, m, k, data)),
                                                               wrap_memory(rung_matrix_of(RUNG_F32, k, n, data)));
    rung_outofcore_options options = with_memory(20000);
    problem.d = wrap_memory(rung_matrix_of(RUNG_F32, m, n, data));
    return rung_outofcore_multiply(NULL, &problem, &options, NULL);
}

/* With no rows and more columns than anything has bytes for. */
static void huge_empty_matrices_are_rejected(void **state)
{
    float nothing = 0;
    (void)state;
    for (int i = 0; i < 3; i++) {
        int64_t m = i == 0 ? 0 : INT64_MAX / 2, n = i == 1 ? 0 : INT64_MAX / 2, k = i == 2 ? 0 : INT64_MAX / 2;
        int64_t sizes[3][2] = {{m, k}, {k, n}, {m, n}};
        int refused = 0;
        for (int j = 0; j < 3; j++) {
            rung_outofcore_matrix *matrix;
            rung_status status = rung_outofcore_matrix_wrap(
                rung_matrix_of(RUNG_F32, sizes[j][0], sizes[j][1], &nothing), &matrix);
            assert_true(status == RUNG_OK ? matrix != NULL : status == RUNG_STATUS_TOO_LARGE && !matrix);
            refused += status == RUNG_STATUS_TOO_LARGE;
            rung_outofcore_matrix_destroy(matrix);
        }
        assert_true(refused > 0 || multiply_empty(m, n, k, &nothing) == RUNG_STATUS_TOO_LARGE);
    }
}

static void alpha_of_0_reads_nothing(void **state)
{
    multiply_case_t setting = default_case;
    (void)state;
    setting.alpha = 0;
    setting.beta = 2;
    setting.in_files = true;
    multiply_and_check(&setting, NULL);
}

/* What the kernel says was read and written, beside what the report says. */
static void reported_bytes_match_the_kernel(void **state)
{
    enum { N = 600, SLACK = 1 << 16 /* headers, the journal, /proc itself */ };
    rung_matrix a = new_matrix(RUNG_F32, N, N, false), b = new_matrix(RUNG_F32, N, N, false);
    const rung_outofcore_report *report;
    (void)state;
    fill(&a, 1, 4);
    fill(&b, 2, 4);
    save_npy("a.npy", &a);
    save_npy("b.npy", &b);
    rung_outofcore_problem problem = rung_outofcore_problem_of(open_npy("a.npy", RUNG_F32),
                                                               open_npy("b.npy", RUNG_F32));
    problem.path = result;
    rung_outofcore_options options = with_memory(3 * N * N * 4 / 10);
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    int64_t read = io_count("rchar:"), written = io_count("wchar:");
    assert_ok(multiply_and_report(&problem, &options, &report));
    read = io_count("rchar:") - read;
    written = io_count("wchar:") - written;
    assert_int_equal(report->read_bytes, report->blocking->read_bytes);
    assert_in_range(read, report->read_bytes, report->read_bytes + SLACK);
    assert_in_range(written, report->written_bytes, report->written_bytes + SLACK);
    assert_true((double)(report->read_bytes + report->written_bytes) <= 1.25 * report->blocking->bound_bytes);
    assert_true(report->blocking->used_bytes <= options.memory_bytes);
    free(a.data);
    free(b.data);
}

/* ---- Stopped, refused, gone on with -------------------------------------------------------------------------- */

typedef struct multiply_caller {
    int steps, stop_at; /* strips; -1: never */
    double before;
    rung_status accept_status;
    int accept_calls;
} multiply_caller_t;

static int count_steps(void *user, const rung_outofcore_progress *progress)
{
    multiply_caller_t *caller = user;
    caller->steps++;
    caller->before = progress->resumed;
    assert_true(progress->done > 0 && progress->done <= 1 && progress->blocks <= progress->total_blocks);
    return caller->steps == caller->stop_at;
}

static rung_status accept_or_not(void *user, const rung_outofcore_matrix *c, const rung_outofcore_report *report)
{
    multiply_caller_t *caller = user;
    caller->accept_calls++;
    assert_true(c->fd >= 0);
    assert_true(report->blocking->block_rows > 0 && report->blocking->row_blocks > 1);
    return caller->accept_status == RUNG_OK ? RUNG_OK : rung_error_set(caller->accept_status, "not this one");
}

static rung_outofcore_problem file_problem(rung_matrix *a, rung_matrix *b)
{
    *a = new_matrix(RUNG_F32, 150, 170, false);
    *b = new_matrix(RUNG_F32, 170, 130, false);
    fill(a, 1, 4);
    fill(b, 2, 4);
    save_npy("a.npy", a);
    save_npy("b.npy", b);
    rung_outofcore_problem problem = rung_outofcore_problem_of(open_npy("a.npy", RUNG_F32),
                                                               open_npy("b.npy", RUNG_F32));
    problem.path = result;
    return problem;
}

static void destroy_problem(rung_matrix *a, rung_matrix *b)
{
    destroy_tracked_objects();
    free(a->data);
    free(b->data);
    unlink(path_of("c.npy"));
    unlink(path_of("c.npy.part"));
    unlink(path_of("c.npy.journal"));
}

static void stopped_multiply_is_resumed(void **state)
{
    rung_matrix a, b;
    const rung_outofcore_report *report;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    multiply_caller_t caller = {.stop_at = -1};
    rung_outofcore_options options = with_progress(20000, count_steps, &caller);
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    int all = caller.steps;
    unlink(path_of("c.npy"));

    caller.steps = 0;
    caller.stop_at = all * 2 / 3;
    assert_int_equal(multiply_and_report(&problem, &options, &report), RUNG_STATUS_CANCELLED);
    assert_false(file_exists("c.npy"));
    assert_true(file_exists("c.npy.part") && file_exists("c.npy.journal"));

    caller.steps = 0;
    caller.stop_at = -1;
    options.memory_bytes = 25000; /* the blocks stay as they were begun */
    assert_ok(multiply_and_report(&problem, &options, &report));
    assert_true(report->resumed_blocks > 0);
    assert_true(caller.steps < all);
    assert_true(caller.before > 0 && caller.before < 1);
    rung_matrix c = load_npy("c.npy", RUNG_F32);
    check_product(&a, &b, &c, NULL, 1, 0);
    free(c.data);
    destroy_problem(&a, &b);
}

/* A callback that blocks, as on a terminal that takes nothing, until blocks beyond those in flight are done. */
typedef struct blocking_callback {
    int before;      /* blocks_done when the call began */
    int calls, done; /* ... and when the callback returned from its first call */
    atomic_int inside;
    bool is_ordered;
    double last;
} blocking_callback_t;

static int block_at_first(void *user, const rung_outofcore_progress *progress)
{
    enum { BLOCKS = 12 /* of 20 or so; fewer than 8 can be in flight */ };
    struct timespec moment = {.tv_nsec = 5000000};
    blocking_callback_t *blocking = user;
    blocking->is_ordered &= atomic_fetch_add(&blocking->inside, 1) == 0 && progress->done >= blocking->last;
    blocking->last = progress->done;
    if (blocking->calls++ == 0) {
        for (int i = 0; i < 4000 && atomic_load(&blocks_done) - blocking->before < BLOCKS; i++)
            nanosleep(&moment, NULL);
        blocking->done = atomic_load(&blocks_done) - blocking->before;
    }
    atomic_fetch_sub(&blocking->inside, 1);
    return 0;
}

static void blocking_callback_does_not_stall_devices(void **state)
{
    rung_matrix a, b;
    const rung_outofcore_report *report;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    blocking_callback_t blocking = {.before = atomic_load(&blocks_done), .is_ordered = true};
    rung_outofcore_options options = with_progress(4000, block_at_first, &blocking);
    assert_ok(multiply_and_report(&problem, &options, &report));
    assert_true(report->blocking->row_blocks * report->blocking->col_blocks >= 16);
    assert_true(blocking.done >= 12);
    assert_true(blocking.is_ordered && blocking.calls >= 2 && blocking.last == 1);
    destroy_problem(&a, &b);
}

static void stop_half_way(const rung_outofcore_problem *problem)
{
    multiply_caller_t caller = {.stop_at = 240};
    rung_outofcore_options options = with_progress(20000, count_steps, &caller);
    assert_int_equal(rung_outofcore_multiply(NULL, problem, &options, NULL), RUNG_STATUS_CANCELLED);
    assert_true(file_exists("c.npy.journal"));
}

static void append_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "ab");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void mismatched_journals_are_rejected(void **state)
{
    rung_matrix a, b;
    const rung_outofcore_report *report;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    stop_half_way(&problem);
    problem.alpha = 2;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "another problem"));
    problem.alpha = 1;
    options.memory_bytes = 2000;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "memory"));
    options.memory_bytes = 20000;
    save_npy("b.npy", &b); /* the same bytes at another time */
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "b.npy) has changed"));
    options.restart = 1;
    assert_ok(multiply_and_report(&problem, &options, &report));
    assert_int_equal(report->resumed_blocks, 0);
    options.restart = 0;

    stop_half_way(&problem);
    append_text("c.npy.journal", "block 3 #0000"); /* torn: counts for nothing */
    assert_ok(multiply_and_report(&problem, &options, &report));
    assert_true(report->resumed_blocks > 0);
    stop_half_way(&problem);
    append_text("c.npy.journal", "block 3 #00000000\nblock 4 #00000000\n"); /* and so does all behind it */
    assert_ok(multiply_and_report(&problem, &options, &report));
    assert_true(report->resumed_blocks > 0);
    stop_half_way(&problem);
    char line[RUNGI_JOURNAL_LINE_BYTES];
    rungi_journal_format_line(line, "block %d", 1 << 20); /* whole, and of another cut */
    append_text("c.npy.journal", line);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "damaged"));
    destroy_problem(&a, &b);
}

/* Writes other elements into a file, of which size, inode and modification time stay. */
static void change_keeping_mtime(const char *name, int64_t at)
{
    float other = 77;
    struct stat before;
    int file = open(path_of(name), O_RDWR);
    assert_true(file >= 0 && fstat(file, &before) == 0);
    assert_int_equal(pwrite(file, &other, sizeof other, (off_t)at), sizeof other);
    assert_int_equal(futimens(file, (struct timespec[]){before.st_atim, before.st_mtim}), 0);
    close(file);
}

/* An input that was changed and given its old modification time back is not mixed with what was computed before. */
static void change_with_same_mtime_is_detected(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    static const char *const inputs[] = {"a.npy", "b.npy"};
    for (int i = 0; i < 2; i++) {
        stop_half_way(&problem);
        change_keeping_mtime(inputs[i], 4000);
        assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), i ? "B (" : "A ("));
        assert_non_null(strstr(rung_error_text(), path_of(inputs[i])));
        assert_non_null(strstr(rung_error_text(), "has changed"));
        options.restart = 1;
        assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
        options.restart = 0;
    }
    destroy_problem(&a, &b);
}

static int change_b(void *user, const rung_outofcore_progress *progress)
{
    int *done = user;
    if (progress->done > 0.5 && !*done)
        change_keeping_mtime("b.npy", 4000);
    *done |= progress->done > 0.5;
    return 0;
}

static void change_during_multiply_with_same_mtime_is_detected(void **state)
{
    rung_matrix a, b;
    int done = 0;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_progress(20000, change_b, &done);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "B ("));
    assert_false(file_exists("c.npy") || file_exists("c.npy.part") || file_exists("c.npy.journal"));
    destroy_problem(&a, &b);
}

/* A journal of the version before this one knows less of its inputs. */
static void other_versions_are_not_resumed(void **state)
{
    rung_matrix a, b;
    char line[RUNGI_JOURNAL_LINE_BYTES];
    const rung_outofcore_report *report;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    assert_true(rungi_journal_format_line(line, "rung-multiply 1") > 0);
    append_text("c.npy.journal", line);
    append_text("c.npy.part", "blocks");
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "another version"));
    assert_true(file_exists("c.npy.part"));
    options.restart = 1;
    assert_ok(multiply_and_report(&problem, &options, &report));
    assert_int_equal(report->resumed_blocks, 0);
    destroy_problem(&a, &b);
}

static void only_accepted_results_are_renamed(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    multiply_caller_t caller = {.stop_at = -1, .accept_status = RUNG_STATUS_DEVICE_LOST};
    rung_outofcore_options options = with_progress(20000, NULL, &caller);
    options.accept = accept_or_not;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_DEVICE_LOST);
    assert_string_equal(rung_error_text(), "not this one");
    assert_int_equal(caller.accept_calls, 1);
    assert_false(file_exists("c.npy") || file_exists("c.npy.part") || file_exists("c.npy.journal"));
    caller.accept_status = RUNG_OK;
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    assert_true(file_exists("c.npy"));

    static const rung_status unable[] = {RUNG_STATUS_NO_MEMORY, RUNG_STATUS_IO, RUNG_STATUS_CANCELLED};
    for (size_t i = 0; i < sizeof unable / sizeof *unable;
         i++) { /* it could not be judged, and is not computed again */
        const rung_outofcore_report *report;
        caller.accept_status = unable[i];
        unlink(path_of("c.npy"));
        assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), unable[i]);
        assert_true(!file_exists("c.npy") && file_exists("c.npy.part") && file_exists("c.npy.journal"));
        caller.accept_status = RUNG_OK;
        assert_ok(multiply_and_report(&problem, &options, &report));
        assert_int_equal(report->resumed_blocks, report->blocking->row_blocks * report->blocking->col_blocks);
        assert_true(report->read_bytes == 0 && file_exists("c.npy"));
    }
    destroy_problem(&a, &b);
}

/* A process may end between the name and the journal's end; and a journal whose file is gone says nothing, of whatever problem. */
static void journal_without_part_is_ignored(void **state)
{
    rung_matrix a, b;
    const rung_outofcore_report *report;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    for (int i = 0; i < 2; i++) {
        stop_half_way(&problem);
        assert_int_equal(unlink(path_of("c.npy.part")), 0);
        problem.alpha += i;
        assert_ok(multiply_and_report(&problem, &options, &report));
        assert_int_equal(report->resumed_blocks, 0);
        assert_false(file_exists("c.npy.journal"));
    }
    append_text("c.npy.journal", "my diary\n"); /* this is somebody's, and stays */
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_true(file_exists("c.npy.journal"));
    destroy_problem(&a, &b);
}

/* What is added to is the result of before: the same call again would add once more. */
static void in_place_result_is_not_added_twice(void **state)
{
    rung_matrix a, b, c0 = new_matrix(RUNG_F32, 150, 130, false);
    char path[256];
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    save_npy("c.npy", &c0);
    problem.beta = 1;
    problem.c = open_npy("c.npy", RUNG_F32);
    stop_half_way(&problem);
    snprintf(path, sizeof path, "%s", path_of("c.npy"));
    assert_int_equal(rename(path_of("c.npy.part"), path), 0); /* as a process does that is killed in between */
    problem.c = open_npy("c.npy", RUNG_F32);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "c.npy) has changed"));
    free(c0.data);
    destroy_problem(&a, &b);
}

/* Somebody takes the files for leftovers and begins again: what is finished then must not get the name by the other's file. */
static int replace_part(void *user, const rung_outofcore_progress *progress)
{
    int *done = user;
    if (progress->done > 0.5 && !*done) {
        char part[256];
        *done = 1;
        snprintf(part, sizeof part, "%s", path_of("c.npy.part"));
        assert_int_equal(unlink(part), 0);
        append_text("c.npy.part", "another's");
    }
    return 0;
}

static void files_of_another_call_are_kept(void **state)
{
    rung_matrix a, b;
    int done = 0;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_progress(20000, replace_part, &done);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "replaced"));
    assert_true(!file_exists("c.npy") && file_exists("c.npy.part"));
    destroy_problem(&a, &b);
}

static int make_directory(void *user, const rung_outofcore_progress *progress)
{
    (void)progress;
    mkdir(user, 0700); /* fails after the first call, which does not matter */
    return 0;
}

/* What took hours stays where the name cannot be given, also where nothing can be gone on with. */
static void part_is_kept_if_rename_fails(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    const rung_outofcore_matrix *file = problem.a;
    rung_outofcore_options options = with_progress(20000, make_directory, result);
    problem.a = wrap_memory(a);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "complete"));
    assert_int_equal(rmdir(path_of("c.npy")), 0);
    assert_true(file_exists("c.npy.part"));
    problem.a = file;
    destroy_problem(&a, &b);
}

static int count_calls(void *user, const rung_outofcore_progress *progress)
{
    (void)progress;
    ++*(int *)user;
    return 0;
}

/* A directory and a pipe are refused before anything is computed, and stay. */
static void the_output_is_a_regular_file(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    int calls = 0;
    rung_outofcore_options options = with_progress(20000, count_calls, &calls);
    assert_int_equal(mkdir(result, 0700), 0);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "directory"));
    assert_int_equal(rmdir(result), 0);
    assert_int_equal(mkfifo(result, 0600), 0);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "regular file"));
    assert_int_equal(unlink(result), 0);
    assert_int_equal(calls, 0);
    assert_false(file_exists("c.npy.part") || file_exists("c.npy.journal"));
    destroy_problem(&a, &b);
}

/* A symbolic link stays one: the file that it names is written, also where that file does not exist yet. */
static void a_link_as_output_is_followed(void **state)
{
    rung_matrix a, b;
    struct stat status;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    assert_int_equal(mkdir(path_of("target"), 0700), 0);
    assert_int_equal(symlink("target/second", result), 0);
    assert_int_equal(symlink("c.npy", path_of("target/second")), 0);
    for (int i = 0; i < 2; i++) { /* the second time it replaces the file */
        assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
        assert_true(lstat(result, &status) == 0 && S_ISLNK(status.st_mode));
        rung_matrix c = load_npy("target/c.npy", RUNG_F32);
        check_product(&a, &b, &c, NULL, 1, 0);
        free(c.data);
        assert_false(file_exists("target/c.npy.part") || file_exists("target/c.npy.journal") ||
                     file_exists("c.npy.part"));
    }
    unlink(path_of("target/c.npy"));
    unlink(path_of("target/second"));
    rmdir(path_of("target"));
    assert_int_equal(unlink(result), 0);
    assert_int_equal(symlink("c.npy", result), 0); /* a loop */
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    destroy_problem(&a, &b);
}

static void assert_file_text(const char *name, const char *text)
{
    char line[64] = "";
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_string_equal(line, text);
}

/* PATH.part and PATH.journal that no earlier call has written stay what they are, with `restart` too. */
static void unrelated_files_are_kept(void **state)
{
    static const char *const names[] = {"c.npy.part", "c.npy.journal"};
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    int calls = 0;
    rung_outofcore_options options = with_progress(20000, count_calls, &calls);
    for (int i = 0; i < 2; i++)
        for (options.restart = 0; options.restart < 2; options.restart++) {
            append_text(names[i], "my notes");
            assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
            assert_non_null(strstr(rung_error_text(), names[i]));
            assert_file_text(names[i], "my notes");
            assert_false(file_exists(names[!i]));
            assert_int_equal(unlink(path_of(names[i])), 0);
        }
    assert_int_equal(calls, 0);
    stop_half_way(&problem); /* these are from an earlier call */
    options = with_memory(20000);
    options.restart = 1;
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    destroy_problem(&a, &b);
}

/* How much is free is another amount each time: blocks that were begun by it are gone on with. */
static void default_memory_resumes(void **state)
{
    rung_matrix a, b;
    const rung_outofcore_report *report;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    stop_half_way(&problem);
    assert_ok(multiply_and_report(&problem, NULL, &report));
    assert_true(report->resumed_blocks > 0 && report->blocking->memory_bytes == 20000);
    destroy_problem(&a, &b);
}

/* The journal tells of files by what a reboot leaves as it is. */
static void a_journal_has_no_device_numbers(void **state)
{
    rung_matrix a, b;
    char line[512], number[32];
    struct stat status;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    stop_half_way(&problem);
    assert_int_equal(fstat(problem.a->fd, &status), 0);
    snprintf(number, sizeof number, "file %llu,", (unsigned long long)status.st_ino);
    FILE *file = fopen(path_of("c.npy.journal"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && strncmp(line, "a ", 2) != 0) {
    }
    fclose(file);
    assert_non_null(strstr(line, number));
    snprintf(number, sizeof number, " %llu", (unsigned long long)status.st_dev);
    char *behind = strstr(line, number);
    assert_true(!behind || (behind[strlen(number)] != ' ' && behind[strlen(number)] != ','));
    destroy_problem(&a, &b);
}

static const rung_outofcore_matrix *in_file(rung_matrix view, int file, int64_t start)
{
    rung_outofcore_matrix *matrix;
    assert_ok(rung_outofcore_matrix_wrap_file(view, file, start, &matrix));
    return track_matrix(matrix);
}

/* Files of whom the result, or what stands beside it meanwhile, is one. */
static void result_never_overwrites_a_matrix(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    for (int i = 0; i < 2; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s", path_of(i ? "c.npy.part" : "c.npy.journal"));
        assert_int_equal(link(path_of("a.npy"), name), 0);
        assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_ALIASED);
        assert_non_null(strstr(rung_error_text(), name));
        assert_int_equal(unlink(name), 0);
    }
    rung_matrix as_it_was = load_npy("a.npy", RUNG_F32);
    assert_memory_equal(as_it_was.data, a.data, 150 * 170 * sizeof(float));
    free(as_it_was.data);

    int file = open(path_of("a.npy"), O_RDWR); /* C in A's file, by another descriptor, and behind its elements */
    assert_true(file >= 0);
    problem.path = NULL;
    problem.d = in_file(rung_matrix_of(RUNG_F32, 150, 130, NULL), file, 128);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_ALIASED);
    assert_int_equal(ftruncate(file, 128 + 150 * 170 * 4 + 150 * 130 * 4), 0);
    problem.d = in_file(rung_matrix_of(RUNG_F32, 150, 130, NULL), file, 128 + 150 * 170 * 4 - 4);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_ALIASED);
    problem.d = in_file(rung_matrix_of(RUNG_F32, 150, 130, NULL), file, 128 + 150 * 170 * 4);
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    problem.c = problem.d;
    problem.d = NULL;
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    problem.beta = 1; /* a file cannot be added to in place: a block that is done twice would be added twice */
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_ALIASED);
    close(file);
    destroy_problem(&a, &b);
}

/* Expects RUNG_STATUS_ALIASED for an output of that name, and A's file as it was. */
static void refuse_output(rung_outofcore_problem *problem, const char *name, const rung_matrix *a)
{
    rung_outofcore_options options = with_memory(20000);
    char path[256];
    snprintf(path, sizeof path, "%s", path_of(name));
    problem->path = path;
    assert_int_equal(rung_outofcore_multiply(NULL, problem, &options, NULL), RUNG_STATUS_ALIASED);
    assert_non_null(strstr(rung_error_text(), path));
    rung_matrix after = load_npy("a.npy", RUNG_F32);
    assert_memory_equal(after.data, a->data, 150 * 170 * sizeof(float));
    free(after.data);
}

/* By its name, through a symbolic link and through a hard link. */
static void the_output_is_not_an_input(void **state)
{
    rung_matrix a, b;
    char input[256];
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    refuse_output(&problem, "a.npy", &a);
    refuse_output(&problem, "b.npy", &a);
    snprintf(input, sizeof input, "%s", path_of("a.npy"));
    assert_int_equal(symlink(input, path_of("c.npy")), 0);
    refuse_output(&problem, "c.npy", &a);
    unlink(path_of("c.npy"));
    assert_int_equal(link(input, path_of("c.npy")), 0);
    refuse_output(&problem, "c.npy", &a);
    assert_false(file_exists("a.npy.part") || file_exists("a.npy.journal") || file_exists("c.npy.part"));
    destroy_problem(&a, &b);
}

/* Past the limit a process is sent SIGXFSZ; so it is refused before, at the beginning and where it is gone on with. */
static void file_size_limit_is_checked(void **state)
{
    rung_matrix a, b;
    struct rlimit usual, small;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = usual;
    small.rlim_cur = 60000;
    for (int i = 0; i < 2; i++) {
        if (i)
            stop_half_way(&problem);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        rung_status status = rung_outofcore_multiply(NULL, &problem, &options, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        assert_int_equal(status, RUNG_STATUS_IO);
        assert_non_null(strstr(rung_error_text(), "ulimit"));
    }
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    destroy_problem(&a, &b);
}

/* A second call from the first one's callback, while the first has the lock. */
static int multiply_again(void *user, const rung_outofcore_progress *progress)
{
    rung_outofcore_options options = with_memory(20000);
    (void)progress;
    assert_int_equal(rung_outofcore_multiply(NULL, user, &options, NULL), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "another call"));
    return 0;
}

static void concurrent_calls_are_rejected(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_progress(200000, multiply_again, &problem);
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    rung_matrix c = load_npy("c.npy", RUNG_F32);
    check_product(&a, &b, &c, NULL, 1, 0);
    free(c.data);
    destroy_problem(&a, &b);
}

static void unstable_inode_numbers_are_rejected(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_memory(20000);
    has_unstable_inodes = true;
    rung_status status = rung_outofcore_multiply(NULL, &problem, &options, NULL);
    has_unstable_inodes = false;
    assert_int_equal(status, RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "c.npy.journal"));
    destroy_problem(&a, &b);
}

/* Changed under its reader's hands: the result cannot be trusted, and gets no name. */
static int touch_a(void *user, const rung_outofcore_progress *progress)
{
    (void)user;
    if (progress->done > 0.5)
        append_text("a.npy", "x");
    return 0;
}

static void input_changed_during_multiply(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    rung_outofcore_options options = with_progress(20000, touch_a, NULL);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_IO);
    assert_false(file_exists("c.npy") || file_exists("c.npy.part") || file_exists("c.npy.journal"));
    destroy_problem(&a, &b);
}

static int truncate_a(void *user, const rung_outofcore_progress *progress)
{
    (void)progress;
    assert_int_equal(truncate(user, 1000), 0);
    return 0;
}

/* Shortened after the matrix was opened: reported before any work. */
static void input_truncated_before_multiply(void **state)
{
    rung_matrix a, b;
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    assert_int_equal(truncate(path_of("a.npy"), 1000), 0);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "of its file, which is shorter"));
    assert_false(file_exists("c.npy") || file_exists("c.npy.part") || file_exists("c.npy.journal"));
    destroy_problem(&a, &b);
}

static void input_truncated_during_multiply(void **state)
{
    rung_matrix a, b;
    char path[256];
    (void)state;
    rung_outofcore_problem problem = file_problem(&a, &b);
    snprintf(path, sizeof path, "%s", path_of("a.npy"));
    rung_outofcore_options options = with_progress(20000, truncate_a, path);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "ended at byte"));
    assert_false(file_exists("c.npy"));
    destroy_problem(&a, &b);
}

static void wrong_problems(void **state)
{
    float data[64] = {0};
    rung_matrix square = rung_matrix_of(RUNG_F32, 4, 4, data);
    rung_matrix other = rung_matrix_of(RUNG_F32, 4, 4, data + 16);
    rung_outofcore_problem problem = rung_outofcore_problem_of(wrap_memory(square), wrap_memory(other));
    (void)state;
    assert_int_equal(rung_outofcore_multiply(NULL, NULL, NULL, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_INVALID); /* no C */
    problem.d = wrap_memory(rung_matrix_of(RUNG_F32, 4, 4, data + 28));
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_ALIASED);
    problem.d = wrap_memory(rung_matrix_of(RUNG_F32, 4, 4, data + 32));
    assert_ok(rung_outofcore_multiply(NULL, &problem, NULL, NULL));
    problem.beta = 1;
    problem.c = wrap_memory(rung_matrix_of(RUNG_F32, 4, 4, data + 36));
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_ALIASED);
    problem.c = problem.d;
    assert_ok(rung_outofcore_multiply(NULL, &problem, NULL, NULL));
    problem.d = NULL; /* C is the result */
    assert_ok(rung_outofcore_multiply(NULL, &problem, NULL, NULL));
    rung_matrix overlapping = rung_matrix_of(RUNG_F32, 4, 4, data + 32);
    overlapping.row_stride = 3;
    problem.d = wrap_memory(overlapping);
    problem.beta = 0; /* or else it overlaps C as well */
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_ALIASED);
    problem.beta = 1;
    problem.d = problem.c;
    problem.b = wrap_memory(rung_matrix_of(RUNG_F32, 3, 4, data + 16));
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_INVALID);
    problem.b = wrap_memory(rung_matrix_of(RUNG_F16, 4, 4, data + 16));
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_UNSUPPORTED);
    problem.b = wrap_memory(other);
    problem.path = "/nowhere/at/all"; /* and D: one of the two */
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "both d and path"));
    problem.d = NULL;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_IO);
    problem.c = NULL;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "C is NULL"));
    problem.beta = 0;
    problem.a = NULL;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_INVALID);
    problem.a = problem.b;
    problem.format = (rung_outofcore_format)7;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, NULL, NULL), RUNG_STATUS_INVALID);
    problem.format = RUNG_OUTOFCORE_FORMAT_RAW;
    rung_outofcore_options options = with_memory(-1);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    options = with_memory(0);
    options.device_count = 1;
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
    static const int64_t wrong_counts[] = {-1, 1000};
    for (int i = 0; i < 2; i++) {
        options.device_count = wrong_counts[i];
        assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), "it must be 0 to"));
    }
}

/* A program may have been compiled for a header with fewer fields, or with more. */
static void structs_are_read_by_their_size(void **state)
{
    struct {
        rung_outofcore_problem problem;
        int64_t later;
    } newer;
    struct {
        rung_outofcore_options options;
        int64_t later;
    } newer_options;
    struct {
        rung_outofcore_blocking blocking;
        int64_t later;
    } newer_blocking = {rung_outofcore_blocking_default(), 5};
    float data[48] = {0};
    (void)state;
    memset(&newer, 0, sizeof newer);
    memset(&newer_options, 0, sizeof newer_options);
    newer.problem = rung_outofcore_problem_of(wrap_memory(rung_matrix_of(RUNG_F32, 4, 4, data)),
                                              wrap_memory(rung_matrix_of(RUNG_F32, 4, 4, data + 16)));
    newer.problem.d = wrap_memory(rung_matrix_of(RUNG_F32, 4, 4, data + 32));
    newer_options.options = with_memory(20000);
    rung_outofcore_problem *problem = &newer.problem;
    rung_outofcore_options *options = &newer_options.options;

    problem->size = 0; /* ... = {0}, and a size that nobody sets */
    assert_int_equal(rung_outofcore_multiply(NULL, problem, options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_outofcore_problem_of"));
    problem->size = (size_t)1 << 20;
    assert_int_equal(rung_outofcore_multiply(NULL, problem, options, NULL), RUNG_STATUS_INVALID);
    problem->size = sizeof newer;
    options->size = 0;
    assert_int_equal(rung_outofcore_multiply(NULL, problem, options, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_outofcore_options_default"));
    options->size = sizeof newer_options;
    assert_ok(rung_outofcore_multiply(NULL, problem, options, NULL)); /* a newer program that sets nothing new */
    newer.later = 1;
    assert_int_equal(rung_outofcore_multiply(NULL, problem, options, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "newer version"));
    newer.later = 0;
    newer_options.later = 1;
    assert_int_equal(rung_outofcore_multiply(NULL, problem, options, NULL), RUNG_STATUS_UNSUPPORTED);
    newer_options.later = 0;

    options->device_count = 1; /* an older program has no such field: what stands there is not read */
    options->size = offsetof(rung_outofcore_options, devices);
    assert_ok(rung_outofcore_multiply(NULL, problem, options, NULL));

    newer_blocking.blocking.size = sizeof newer_blocking; /* what is new to the library becomes 0 */
    assert_ok(rung_outofcore_blocking_choose(problem, 20000, &newer_blocking.blocking));
    assert_true(newer_blocking.later == 0 && newer_blocking.blocking.block_rows == 4);
    assert_int_equal(newer_blocking.blocking.size, sizeof newer_blocking);
    rung_outofcore_blocking older = rung_outofcore_blocking_default();
    older.size = offsetof(rung_outofcore_blocking, panel_depth);
    older.panel_depth = -7;
    assert_ok(rung_outofcore_blocking_choose(problem, 20000, &older));
    assert_true(older.block_cols == 4 && older.panel_depth == -7);
    older.size = 0;
    assert_int_equal(rung_outofcore_blocking_choose(problem, 20000, &older), RUNG_STATUS_INVALID);
}

/* A file without a header, opened as such, transposed and in blocks; what a view may not be. */
static void matrices_and_their_views(void **state)
{
    float elements[12] = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}, got[4];
    rung_outofcore_matrix *raw, *transposed, *block, *none;
    FILE *file = fopen(path_of("a.npy"), "wb");
    (void)state;
    assert_non_null(file);
    assert_int_equal(fwrite(elements, sizeof *elements, 12, file), 12);
    fclose(file);
    assert_int_equal(rung_outofcore_matrix_open_raw(path_of("a.npy"), RUNG_F32, 3, 5, &none), RUNG_STATUS_INVALID);
    assert_null(none);
    assert_int_equal(rung_outofcore_matrix_open_raw(path_of("a.npy"), RUNG_TYPE_NONE, 3, 4, &none),
                     RUNG_STATUS_INVALID);
    assert_ok(rung_outofcore_matrix_open_raw(path_of("a.npy"), RUNG_F32, 3, 4, &raw));
    rung_matrix view = rung_outofcore_matrix_view(raw);
    assert_true(view.rows == 3 && view.cols == 4 && !view.data);
    assert_ok(rung_outofcore_matrix_with_view(raw, rung_matrix_transpose(view), &transposed));
    assert_ok(rung_outofcore_matrix_with_view(raw, rung_matrix_block(view, 1, 2, 2, 2), &block));
    view.data = elements;
    assert_int_equal(rung_outofcore_matrix_with_view(raw, view, &none), RUNG_STATUS_INVALID);
    rung_outofcore_matrix_destroy(raw); /* each has the file for itself */
    assert_ok(rung_outofcore_matrix_read(transposed, 3, 1, 1, 2, got));
    assert_true(got[0] == 13 && got[1] == 23);
    assert_ok(rung_outofcore_matrix_read(block, 0, 0, 2, 2, got));
    assert_true(got[0] == 12 && got[3] == 23);
    assert_int_equal(rung_outofcore_matrix_read(block, 0, 1, 2, 2, got), RUNG_STATUS_INVALID);
    assert_int_equal(rung_outofcore_matrix_read(NULL, 0, 0, 1, 1, got), RUNG_STATUS_INVALID);
    assert_int_equal(rung_outofcore_matrix_wrap_file(rung_matrix_of(RUNG_F32, 3, 4, NULL), -1, 0, &none),
                     RUNG_STATUS_INVALID);
    assert_int_equal(rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, 3, 4, NULL), &none), RUNG_STATUS_INVALID);
    assert_int_equal(rung_outofcore_matrix_view(NULL).type, RUNG_TYPE_NONE);
    rung_outofcore_matrix_destroy(transposed);
    rung_outofcore_matrix_destroy(block);
    rung_outofcore_matrix_destroy(NULL);
    unlink(path_of("a.npy"));
}

/* The list of held blocks is as long as it is, also where a block more is held than can be, or one is released twice. */
static void held_block_list_is_bounded(void **state)
{
    rungi_worker worker = {.output_block = -1, .input_block = -1};
    (void)state;
    pthread_mutex_init(&worker.mutex, NULL);
    for (int i = 0; i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS; i++)
        worker.held_blocks[i] = i;
    assert_int_equal(rungi_worker_hold_block(&worker, 1000), RUNG_STATUS_DEVICE_LOST);
    for (int i = 0; i < RUNGI_OUTOFCORE_MAX_HELD_BLOCKS; i++)
        assert_true(worker.held_blocks[i] == i);
    assert_true(worker.output_block == -1 && worker.input_block == -1);
    worker.output_block = 2000;
    rungi_worker_release_block(&worker, 2000);
    assert_true(worker.output_block == 2000);
    rungi_worker_release_block(&worker, 3);
    assert_true(worker.held_blocks[3] == -1);
    assert_ok(rungi_worker_hold_block(&worker, 5000));
    assert_true(worker.held_blocks[3] == 5000);
    pthread_mutex_destroy(&worker.mutex);
}

/* Sentences name paths, which are long: none is cut on its way to the caller. */
static void long_error_texts_are_complete(void **state)
{
    enum { LENGTH = 3000 };
    rungi_job job = {.first_failed = -1};
    rungi_worker worker = {.job = &job};
    (void)state;
    pthread_mutex_init(&job.mutex, NULL);
    pthread_mutex_init(&worker.mutex, NULL);
    pthread_cond_init(&worker.changed, NULL);
    assert_ok(rungi_block_queue_init(&job.block_queue, 1, 1));
    rungi_worker_fail(&worker, rung_error_set(RUNG_STATUS_IO, "%0*d", LENGTH, 7));
    assert_int_equal(strlen(worker.failure.text), LENGTH);
    assert_int_equal(strlen(job.failure.text), LENGTH);
    rungi_block_queue_free(&job.block_queue);
    pthread_mutex_destroy(&job.mutex);
    pthread_mutex_destroy(&worker.mutex);
    pthread_cond_destroy(&worker.changed);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_into_a_file),
        cmocka_unit_test(cancelled_callers_complete),
        cmocka_unit_test(every_storage_and_order),
        cmocka_unit_test(every_product),
        cmocka_unit_test(small_and_empty),
        cmocka_unit_test(blocks_of_one_slice),
        cmocka_unit_test(huge_empty_matrices_are_rejected),
        cmocka_unit_test(alpha_of_0_reads_nothing),
        cmocka_unit_test(reported_bytes_match_the_kernel),
        cmocka_unit_test(stopped_multiply_is_resumed),
        cmocka_unit_test(blocking_callback_does_not_stall_devices),
        cmocka_unit_test(mismatched_journals_are_rejected),
        cmocka_unit_test(change_with_same_mtime_is_detected),
        cmocka_unit_test(change_during_multiply_with_same_mtime_is_detected),
        cmocka_unit_test(other_versions_are_not_resumed),
        cmocka_unit_test(only_accepted_results_are_renamed),
        cmocka_unit_test(journal_without_part_is_ignored),
        cmocka_unit_test(in_place_result_is_not_added_twice),
        cmocka_unit_test(files_of_another_call_are_kept),
        cmocka_unit_test(part_is_kept_if_rename_fails),
        cmocka_unit_test(the_output_is_a_regular_file),
        cmocka_unit_test(a_link_as_output_is_followed),
        cmocka_unit_test(unrelated_files_are_kept),
        cmocka_unit_test(default_memory_resumes),
        cmocka_unit_test(a_journal_has_no_device_numbers),
        cmocka_unit_test(result_never_overwrites_a_matrix),
        cmocka_unit_test(the_output_is_not_an_input),
        cmocka_unit_test(file_size_limit_is_checked),
        cmocka_unit_test(concurrent_calls_are_rejected),
        cmocka_unit_test(unstable_inode_numbers_are_rejected),
        cmocka_unit_test(input_changed_during_multiply),
        cmocka_unit_test(input_truncated_before_multiply),
        cmocka_unit_test(input_truncated_during_multiply),
        cmocka_unit_test(wrong_problems),
        cmocka_unit_test(structs_are_read_by_their_size),
        cmocka_unit_test(matrices_and_their_views),
        cmocka_unit_test(held_block_list_is_bounded),
        cmocka_unit_test(long_error_texts_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_in_folder(run_all);
}
