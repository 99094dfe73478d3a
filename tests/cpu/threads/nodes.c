/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - NUMA nodes: reading the files of the system, which the test writes, and that memory is first touched by the
 * thread that uses it, on its node. The test pins threads to two processors and declares these to be two nodes. */
#define _GNU_SOURCE /* sched_setaffinity, mincore */
#include "support/fake_root.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cpu/cpu_device.h"
#include "cpu/threads/arena.h"
#include "cpu/threads/pool.h"

/* ---- Files of the system ------------------------------------------------------------ */

/* Writes a file of the folder of nodes. */
static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/node/%s", name);
    fake_root_write(path, text);
}

static void write_node(int node, const char *processors)
{
    char path[64];
    snprintf(path, sizeof path, "node%d/cpulist", node);
    write_file(path, processors);
}

static rungi_nodes nodes;

/* Compares the nodes of processors 0, 1, ... with the digits of a text; '.' stands for any node. */
static void assert_nodes(int count, const char *expected)
{
    memset(&nodes, 0xff, sizeof nodes);
    rungi_nodes_read(fake_root, &nodes);
    assert_int_equal(nodes.count, count);
    for (int i = 0; expected[i]; i++)
        if (expected[i] != '.')
            assert_int_equal(nodes.of_processor[i], expected[i] - '0');
}

static void one_node(void **state)
{
    (void)state;
    fake_root_clear();
    assert_nodes(1, "0000"); /* no such files */
    write_file("online", "0\n");
    write_node(0, "0-3\n");
    assert_nodes(1, "0000");
}

static void two_nodes(void **state)
{
    (void)state;
    fake_root_clear();
    write_file("online", "0-1\n");
    write_node(0, "0-3\n");
    write_node(1, "4-7\n");
    assert_nodes(2, "00001111");
    write_node(0, "0-1,4-5\n"); /* as with hyper-threads */
    write_node(1, "2-3,6-7\n");
    assert_nodes(2, "00110011");
    write_node(0, "0,2,4,6\n");
    write_node(1, "1,3,5,7\n");
    assert_nodes(2, "01010101");
}

static void four_nodes(void **state)
{
    (void)state;
    fake_root_clear();
    write_file("online", "0-3\n");
    write_node(0, "0-1\n");
    write_node(1, "2-3\n");
    write_node(2, "4-5\n");
    write_node(3, "6-7\n");
    assert_nodes(4, "00112233");
    write_node(2, "5\n"); /* processor 4 is offline */
    write_node(0, "1\n");
    assert_nodes(4, ".011.233");
}

/* Memory that is attached by CXL, or of a GPU, is a node of its own. */
static void nodes_without_processors(void **state)
{
    (void)state;
    fake_root_clear();
    write_file("online", "0-3\n");
    write_node(0, "\n");
    write_node(1, "0-1\n");
    write_node(2, "");
    write_node(3, "2-3\n");
    assert_nodes(2, "0011");
    write_node(3, "\n");
    assert_nodes(1, "0000");
}

static void holes_in_the_numbers(void **state)
{
    (void)state;
    fake_root_clear();
    write_file("online", "1,8,250-251\n");
    write_node(1, "0-1\n");
    write_node(8, "2\n");
    write_node(9, "3\n"); /* offline: not in the list */
    write_node(251, "4-5\n");
    assert_nodes(3, "001.22");
}

/* No crash, no number beyond the count, and no hang. */
static void nonsense(void **state)
{
    static const char *const lists[] = {
        "", "\n", "-", "-3\n", "x\n", "0-\n", "3-1\n", ",,\n", "0 1\n", "0-99999999999999999999\n", "99999999999\n"};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        fake_root_clear();
        write_file("online", lists[i]);
        write_node(0, "0-1\n");
        assert_nodes(1, "00");
        write_file("online", "0-1\n");
        write_node(1, lists[i]);
        rungi_nodes_read(fake_root, &nodes);
        assert_in_range(nodes.count, 1, 2);
        for (int j = 0; j < RUNGI_NODES_PROCESSORS_MAX; j++)
            assert_true(nodes.of_processor[j] < nodes.count);
    }
}

static void more_than_the_most(void **state)
{
    char text[32];
    (void)state;
    fake_root_clear();
    write_file("online", "0-39\n");
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "%d,%d\n", i, i + 9000);
        write_node(i, text);
    }
    rungi_nodes_read(fake_root, &nodes);
    assert_int_equal(nodes.count, RUNGI_NODES_MAX);
    for (int i = 0; i < 40; i++)
        assert_int_equal(nodes.of_processor[i], i % RUNGI_NODES_MAX);
}

static void this_machine(void **state)
{
    (void)state;
    rungi_nodes_read("", &nodes);
    assert_in_range(nodes.count, 1, RUNGI_NODES_MAX);
    assert_in_range(rungi_nodes_current(&nodes), 0, nodes.count - 1);
}

/* ---- Two processors as two nodes ---------------------------------------------------------- */

static int processor_of_node[2];

/* Takes the first two processors of this process as nodes 0 and 1. Skips the test if there is only one. */
static void pretend_two_nodes(rungi_nodes *pretended)
{
    cpu_set_t all;
    int found = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    memset(pretended, 0, sizeof *pretended);
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET((size_t)i, &all)) {
            processor_of_node[found] = i;
            pretended->of_processor[i] = (uint8_t)found++;
        }
    pretended->count = 2;
    if (found < 2)
        skip();
}

static void move_to_node(int node)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor_of_node[node], &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 || sched_getcpu() != processor_of_node[node])
        abort();
}

static rung_context *quiet_context(int64_t threads)
{
    rung_context *context;
    rung_context_options options = rung_context_options_default();
    options.threads = threads;
    options.verbose = -1;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    return context;
}

/* Runs a test in a thread of its own, which keeps its affinity to itself. */
typedef struct pinned_test {
    void (*function)(rungi_nodes *pretended);
    rungi_nodes *pretended;
} pinned_test_t;

static atomic_int failures;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            print_error("%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            atomic_fetch_add(&failures, 1);                                      \
        }                                                                        \
    } while (0)

static void *run_pinned(void *user)
{
    pinned_test_t *test = user;
    test->function(test->pretended);
    return NULL;
}

static void on_two_nodes(void (*function)(rungi_nodes *pretended))
{
    pthread_t thread;
    pretend_two_nodes(&nodes);
    pinned_test_t test = {function, &nodes};
    atomic_store(&failures, 0);
    assert_int_equal(pthread_create(&thread, NULL, run_pinned, &test), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&failures), 0);
}

/* ---- Arenas --------------------------------------------------------------------------- */

enum { ARENA_BYTES = 4 << 20, PAGE = 4096 };

/* Returns how many whole pages of the memory the system has provided. */
static int resident_pages(char *memory, int64_t bytes)
{
    static unsigned char pages[(16 << 20) / PAGE];
    int resident = 0;
    char *first = memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE;
    int64_t count = (memory + bytes - first) / PAGE;
    assert_true(count <= (int64_t)sizeof pages);
    assert_int_equal(mincore(first, (size_t)(count * PAGE), pages), 0);
    for (int64_t i = 0; i < count; i++)
        resident += pages[i] & 1;
    return resident;
}

static void *fresh_memory(void *user, size_t bytes, size_t alignment)
{
    char *start = mmap(NULL, bytes + alignment + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)user;
    if (start == MAP_FAILED)
        return NULL;
    /* Where huge pages are "always" used, one write would provide 512 pages. Without huge pages the call fails. */
    (void)madvise(start, bytes + alignment + PAGE, MADV_NOHUGEPAGE);
    return start + (alignment - (uintptr_t)start % alignment) % alignment;
}

static void keep_memory(void *user, void *memory) /* the process ends soon */
{
    (void)user;
    (void)memory;
}

/* Neither a reservation nor acquiring provides pages: the thread that uses the arena does. */
static void arenas_are_touched_by_their_users(void **state)
{
    rung_context *context;
    rungi_arena_pool arenas;
    rung_context_options options = rung_context_options_default();
    options.allocate = fresh_memory;
    options.release = keep_memory;
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    rungi_arena_pool_init(&arenas, context);
    assert_int_equal(rungi_arena_pool_reserve(&arenas, 4, ARENA_BYTES), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(resident_pages(atomic_load(&arenas.newest_set)->arenas[i].memory, ARENA_BYTES), 0);
    rungi_arena *arena = rungi_arena_acquire(&arenas);
    assert_int_equal(resident_pages(arena->memory, ARENA_BYTES), 0);
    memset(arena->memory, 1, ARENA_BYTES);
    assert_int_equal(resident_pages(arena->memory, ARENA_BYTES), ARENA_BYTES / PAGE);
    rungi_arena_release(&arenas, arena);
    rungi_arena_pool_free(&arenas);
    rung_context_destroy(context);
}

static rungi_arena *use_arena(rungi_arena_pool *arenas, int node)
{
    move_to_node(node);
    rungi_arena *arena = rungi_arena_acquire(arenas);
    rungi_arena_release(arenas, arena);
    return arena;
}

static void prefer_own_arenas(rungi_nodes *pretended)
{
    rung_context *context = quiet_context(2);
    rungi_arena_pool arenas;
    rungi_arena_pool_init(&arenas, context);
    arenas.nodes = pretended;
    CHECK(rungi_arena_pool_reserve(&arenas, 2, PAGE) == RUNG_OK);
    rungi_arena *first = use_arena(&arenas, 0), *second = use_arena(&arenas, 1);
    CHECK(first != second); /* although the first one is free, and was this thread's */
    CHECK(atomic_load(&first->node) == 0 && atomic_load(&second->node) == 1);
    for (int i = 0; i < 10; i++) {
        CHECK(use_arena(&arenas, 0) == first);
        CHECK(use_arena(&arenas, 1) == second);
    }
    rungi_arena *taken = rungi_arena_acquire(&arenas); /* on node 1: the rest is of node 0 */
    CHECK(taken == second);
    CHECK(use_arena(&arenas, 1) == first);
    CHECK(atomic_load(&first->node) == 0);
    rungi_arena_release(&arenas, taken);
    rungi_arena_pool_free(&arenas);
    rung_context_destroy(context);
}

static void threads_prefer_arenas_of_their_node(void **state)
{
    (void)state;
    on_two_nodes(prefer_own_arenas);
}

/* ---- Parts ------------------------------------------------------------------------------ */

typedef struct node_parts {
    int parts;
    atomic_int here, done[64];
    int node_of_part[64];
    bool is_moving; /* each thread moves to the node of its part */
    pthread_t caller;
} node_parts_t;

/* Waits until as many threads are here as there are parts, so that each has one. */
static void note_part(void *user, int64_t part, char *scratch)
{
    node_parts_t *own = user;
    (void)scratch;
    if (own->is_moving)
        move_to_node(pthread_equal(pthread_self(), own->caller) ? 0 : 1);
    atomic_fetch_add(&own->done[part], 1);
    own->node_of_part[part] = rungi_nodes_current(&nodes);
    atomic_fetch_add(&own->here, 1);
    for (int i = 0; own->parts == 2 && i < 20000 && atomic_load(&own->here) < 2; i++)
        nanosleep(&(struct timespec){0, 100000}, NULL);
}

static void assign_adjacent_parts(rungi_nodes *pretended)
{
    rung_context *context = quiet_context(2);
    rungi_pool *pool;
    CHECK(rungi_pool_create(context, &pool) == RUNG_OK);
    *rungi_pool_nodes(pool) = *pretended;
    CHECK(rungi_pool_reserve(pool, 2, 0) == RUNG_OK);
    node_parts_t moving = {.parts = 2, .is_moving = true, .caller = pthread_self()};
    rungi_pool_run(pool, 2, 0, 2, note_part, &moving);
    for (int i = 0; i < 10; i++) { /* two parts, two threads: each computes the one of its node */
        node_parts_t own = {.parts = 2};
        rungi_pool_run(pool, 2, 0, 2, note_part, &own);
        CHECK(own.node_of_part[0] == 0 && own.node_of_part[1] == 1);
    }
    *rungi_pool_nodes(pool) = (rungi_nodes){.count = 2}; /* all processors on node 0: its threads also do the rest */
    for (int parts = 0; parts < 64; parts += 9) {
        node_parts_t own = {.parts = 0};
        rungi_pool_run(pool, 2, 0, parts, note_part, &own);
        for (int i = 0; i < 64; i++)
            CHECK(atomic_load(&own.done[i]) == (i < parts));
    }
    rungi_pool_destroy(pool);
    rung_context_destroy(context);
}

static void nodes_have_adjacent_parts(void **state)
{
    (void)state;
    on_two_nodes(assign_adjacent_parts);
}

/* More nodes than parts, and than processors. */
static void every_part_once_on_many_nodes(void **state)
{
    rung_context *context = quiet_context(3);
    rungi_pool *pool;
    (void)state;
    assert_int_equal(rungi_pool_create(context, &pool), RUNG_OK);
    assert_int_equal(rungi_pool_reserve(pool, 3, 0), RUNG_OK);
    for (int count = 1; count <= RUNGI_NODES_MAX; count++) {
        rungi_pool_nodes(pool)->count = count;
        for (int parts = 0; parts < 64; parts += parts < 18 ? 3 : 15) {
            node_parts_t own = {.parts = 0};
            rungi_pool_run(pool, 3, 0, parts, note_part, &own);
            for (int i = 0; i < 64; i++)
                assert_int_equal(atomic_load(&own.done[i]), i < parts);
        }
    }
    rungi_pool_destroy(pool);
    rung_context_destroy(context);
}

/* ---- Packed operands ---------------------------------------------------------------------- */

/* All whole huge pages are touched, by the pool, and the content stays. One node: nothing is touched. */
static void spreading_touches_every_page(void **state)
{
    enum { BYTES = 9 << 20, CHUNK = 2 << 20, OFFSET = 4096 + 64 };
    rung_context *context = quiet_context(3);
    rungi_pool *pool;
    (void)state;
    assert_int_equal(rungi_pool_create(context, &pool), RUNG_OK);
    for (int count = 1; count <= 4; count++) {
        char *memory = (char *)fresh_memory(NULL, BYTES + OFFSET, CHUNK) + OFFSET;
        memory[0] = 1;
        memory[BYTES - 1] = 2;
        rungi_pool_nodes(pool)->count = count;
        rungi_pool_spread(pool, memory, BYTES);
        int resident = resident_pages(memory, BYTES);
        assert_true(count == 1 ? resident < 3 : resident >= (BYTES - CHUNK) / PAGE);
        assert_true(memory[0] == 1 && memory[BYTES - 1] == 2 && memory[CHUNK] == 0);
    }
    rungi_pool_destroy(pool);
    rung_context_destroy(context);
}

/* A packed B in a larger buffer: behind it, other threads may write. */
static void only_a_packed_b_is_spread(void **state)
{
    enum { SIZE = 1500, BUFFER = 14 << 20 };
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_plan *plan;
    rung_buffer *buffer;
    rung_context_options context_options = rung_context_options_default();
    rung_plan_options options = rung_plan_options_default();
    float *b = calloc((size_t)SIZE * SIZE, sizeof *b);
    (void)state;
    assert_non_null(b);
    context_options.allocate = fresh_memory;
    context_options.release = keep_memory;
    options.packed_b = 1;
    assert_int_equal(rung_context_create(&context_options, &context), RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    rungi_pool_nodes(((rungi_cpu_device *)device)->pool)->count = 2;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 64, SIZE, NULL),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, NULL),
                                           rung_matrix_of(RUNG_F32, 64, SIZE, NULL));
    rung_matrix b_view = rung_matrix_of(RUNG_F32, SIZE, SIZE, b);
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, BUFFER, &buffer), RUNG_OK);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    char *memory = rungi_cpu_buffer_data(buffer);
    assert_true(bytes > 4 * (2 << 20) && bytes < BUFFER - (2 << 20));
    assert_int_equal(rung_plan_pack_b(plan, queue, &b_view, buffer, NULL), RUNG_OK);
    assert_true(resident_pages(memory, bytes) >= bytes / PAGE - 1);
    assert_int_equal(resident_pages(memory + bytes, BUFFER - bytes), 0);
    rung_buffer_destroy(buffer);
    rung_plan_destroy(plan);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),
        cmocka_unit_test(two_nodes),
        cmocka_unit_test(four_nodes),
        cmocka_unit_test(nodes_without_processors),
        cmocka_unit_test(holes_in_the_numbers),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(more_than_the_most),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(arenas_are_touched_by_their_users),
        cmocka_unit_test(threads_prefer_arenas_of_their_node),
        cmocka_unit_test(nodes_have_adjacent_parts),
        cmocka_unit_test(every_part_once_on_many_nodes),
        cmocka_unit_test(spreading_touches_every_page),
        cmocka_unit_test(only_a_packed_b_is_spread),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, fake_root_create, fake_root_remove);
}
