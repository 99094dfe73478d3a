/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - a problem goes to a device panel by panel, copying behind computing.
 *
 * What all panels share goes first. Then three lanes, each with a queue, memory and buffers
 * of its own, take the panels in turn:
 *
 *     lane 0   shared | A up | kernel | C down |        | A up | kernel | ...
 *     lane 1          | A up |  wait  | kernel | C down |      | A up   | ...
 *     lane 2          |      | A up   |        | kernel | C down | ...
 *     host     pack 0, pack 1, pack 2, unpack 0, pack 3, unpack 1, pack 4, ...
 *
 * Each operand is brought over without its gaps, so that nothing between the elements is
 * read or written. A problem that is not cut is one panel on one lane: the same way. */
#include "core/overlap.h"

#include "core/assert.h"
#include "core/checked.h"
#include "core/cut.h"
#include "core/matrix.h"
#include "core/plan.h"
#include "core/span.h"

enum { LANES = 3, STAGE_ALIGNMENT = 64 };

typedef struct lane {
    rung_queue *queue;
    rung_buffer *buffers[RUNGI_OPERANDS]; /* of what goes with the panels */
    char *stages[RUNGI_OPERANDS];         /* where that is packed; NULL: it goes as it stands */
    rung_buffer *workspace;
    char *stage;         /* where all of `stages` begin, for pieces of what is shared too */
    rung_event *leaving; /* signalled when such a piece has left it */
    rung_event *wait;    /* that, or the spans' event for it; NULL once it was waited for */
    int64_t panel;       /* whose C is on its way back; -1: none */
} lane_t;

typedef struct ring {
    rung_context *context;
    rung_device *device;
    const rung_problem *problem;
    rungi_cut cut;
    rung_problem there; /* the problem, with what is shared in buffers */
    rung_buffer *shared[RUNGI_OPERANDS];
    rung_event *arrived; /* the last of what is shared, a lane's event; NULL: nothing is */
    rung_plan *plans[2]; /* of a panel and of the last one; the first may serve both */
    rungi_staging pinned;
    void *plain; /* staging that is not pinned */
    lane_t lanes[LANES];
    int lane_count;
    int64_t pieces; /* of what is shared, so far */
    rungi_spans spans;
} ring_t;

/* One panel in this process's memory and in a lane's buffers. */
typedef struct panel {
    rung_problem here, there;
    bool goes[RUNGI_OPERANDS]; /* with this panel */
    int64_t items[RUNGI_OPERANDS], bytes[RUNGI_OPERANDS];
} panel_t;

/* ---- Panels ------------------------------------------------------------------------------ */

/* Far below what would overflow if the lanes' shares of all operands were added up. */
static const int64_t operand_max = INT64_MAX / 64;

static rung_status measure(const rung_matrix *view, int64_t batch, rung_matrix *dense, int64_t *items, int64_t *bytes)
{
    if (!rungi_cut_dense(view, batch, dense, items, bytes) || *bytes > operand_max)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "a matrix of %lld x %lld, %lld times, does not fit the address "
                          "space",
                          (long long)view->rows, (long long)view->cols, (long long)*items);
    return RUNG_OK;
}

static bool is_shared(const ring_t *ring, rungi_operand operand)
{
    return !rungi_matrix_is_empty(rungi_problem_view(ring->problem, operand)) &&
           !rungi_cut_parts(&ring->cut, ring->problem, operand);
}

/* The panel, in the buffers of that lane. */
static rung_status make_panel(const ring_t *ring, const lane_t *lane, int64_t index, panel_t *panel)
{
    RUNGI_ASSERT(index >= 0 && index < ring->cut.count);
    panel->here = rungi_cut_panel(&ring->cut, ring->problem, index);
    panel->there = rungi_cut_panel(&ring->cut, &ring->there, index);
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        const rung_matrix *view = rungi_problem_view(&panel->here, i);
        rung_matrix *place = rungi_problem_place(&panel->there, i);
        panel->goes[i] = !rungi_matrix_is_empty(view) && !is_shared(ring, i);
        panel->items[i] = panel->bytes[i] = 0;
        if (!panel->goes[i])
            continue;
        rung_status status = measure(view, panel->here.batch, place, &panel->items[i], &panel->bytes[i]);
        if (status != RUNG_OK)
            return status;
        place->buffer = lane->buffers[i];
    }
    return RUNG_OK;
}

/* Whether the view already stands as it would be stored without gaps. */
static bool stands_ready(const rung_matrix *view, int64_t items)
{
    rung_matrix dense;
    int64_t elements;
    return rungi_matrix_is_dense(view) && !view->batch_offsets &&
           (items < 2 || (rungi_matrix_dense(view, &dense, &elements) && view->batch_stride == elements));
}

/* ---- Staging ----------------------------------------------------------------------------- */

/* The lines of an operand that follow each other where it has no gaps. */
typedef struct lines {
    bool rows;            /* or columns */
    int64_t count, bytes; /* of one */
    int64_t step;         /* so many go at a time */
} lines_t;

static lines_t lines_of(const ring_t *ring, const rung_matrix *dense, int64_t bytes)
{
    lines_t lines = {.rows = dense->row_stride >= dense->col_stride};
    int64_t stride = lines.rows ? dense->row_stride : dense->col_stride;
    lines.bytes = stride > 0 ? stride * rung_type_size(dense->type) : bytes;
    RUNGI_ASSERT(lines.bytes > 0);
    lines.count = bytes / lines.bytes;
    lines.step = ring->cut.bytes / lines.bytes > 0 ? ring->cut.bytes / lines.bytes : 1;
    return lines;
}

/* Gives each operand of a lane, or each that does not stand ready, its part of the stage, and
 * says how long that is. */
static int64_t divide_stage(const panel_t *first, const panel_t *last, bool all, lane_t *lane)
{
    int64_t used = 0;
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        bool ready = stands_ready(rungi_problem_view(&first->here, i), first->items[i]) &&
                     stands_ready(rungi_problem_view(&last->here, i), last->items[i]);
        if (!first->goes[i] || (ready && !all))
            continue;
        if (lane->stage)
            lane->stages[i] = lane->stage + used;
        used += rungi_divide_up(first->bytes[i], STAGE_ALIGNMENT) * STAGE_ALIGNMENT;
    }
    return used;
}

/* What the pieces of shared operands need. */
static int64_t piece_bytes(const ring_t *ring, bool all)
{
    int64_t most = 0;
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        const rung_matrix *view = rungi_problem_view(ring->problem, i);
        if (!is_shared(ring, i) || (!all && stands_ready(view, 1)))
            continue;
        lines_t lines = lines_of(ring, rungi_problem_view(&ring->there, i), ring->shared[i]->bytes);
        int64_t piece = rungi_smaller(lines.step, lines.count) * lines.bytes;
        most = piece > most ? piece : most;
    }
    return most;
}

/* How much staging a lane needs for everything, or for what is not ready. */
static int64_t bytes_of_stage(const ring_t *ring, const panel_t *first, const panel_t *last, bool all)
{
    lane_t none = {0};
    int64_t piece = piece_bytes(ring, all), whole = divide_stage(first, last, all, &none);
    return piece > whole ? piece : whole;
}

/* Pinned memory is worth its price where panels overlap; without it what stands ready is
 * sent from there. */
static rung_status make_stages(ring_t *ring, const panel_t *first, const panel_t *last)
{
    int64_t bytes = bytes_of_stage(ring, first, last, true);
    bool pinned = ring->lane_count > 1 &&
                  rungi_context_take_staging(ring->context, ring->device, bytes * ring->lane_count, &ring->pinned);
    if (!pinned)
        bytes = bytes_of_stage(ring, first, last, false);
    if (bytes == 0)
        return RUNG_OK;
    if (!pinned)
        ring->plain = rungi_allocate(ring->context, bytes * ring->lane_count, STAGE_ALIGNMENT);
    char *memory = pinned ? ring->pinned.memory : ring->plain;
    for (int i = 0; memory && i < ring->lane_count; i++) {
        ring->lanes[i].stage = memory + i * bytes;
        divide_stage(first, last, pinned, &ring->lanes[i]);
    }
    return memory ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

/* ---- Making and unmaking ------------------------------------------------------------------- */

static rung_status take_lanes(ring_t *ring)
{
    rung_status status = RUNG_OK;
    ring->lane_count = (int)rungi_smaller(LANES, ring->cut.count);
    for (int i = 0; status == RUNG_OK && i < ring->lane_count; i++) {
        lane_t *lane = &ring->lanes[i];
        lane->panel = -1;
        status = rungi_context_take_queue(ring->context, ring->device, &lane->queue);
        if (status == RUNG_OK && ring->lane_count > 1)
            status = rung_event_create(ring->device, &lane->leaving);
    }
    return status;
}

static rung_status make_plans(ring_t *ring, const panel_t *first, const panel_t *last)
{
    rung_plan_options choice = rung_plan_options_default();
    choice.max_workspace_bytes = rungi_workspace_max;
    rung_problem one = rungi_problem_given(&first->there), other = rungi_problem_given(&last->there);
    rung_status status = rung_plan_create(ring->device, &one, &choice, &ring->plans[0]);
    if (status == RUNG_OK && ring->cut.extent % ring->cut.step != 0)
        status = rung_plan_create(ring->device, &other, &choice, &ring->plans[1]);
    return status;
}

static int64_t workspace_of(const ring_t *ring)
{
    RUNGI_ASSERT(ring->plans[0]);
    int64_t most = ring->plans[0]->info.workspace_bytes;
    if (ring->plans[1] && ring->plans[1]->info.workspace_bytes > most)
        most = ring->plans[1]->info.workspace_bytes;
    return most;
}

static rung_status make_buffers(ring_t *ring, const panel_t *first)
{
    rung_status status = RUNG_OK;
    for (int i = 0; i < ring->lane_count; i++) {
        lane_t *lane = &ring->lanes[i];
        for (int j = 0; status == RUNG_OK && j < RUNGI_OPERANDS; j++)
            if (first->goes[j])
                status = rungi_buffer_create_on(lane->queue, first->bytes[j], &lane->buffers[j]);
        if (status == RUNG_OK && workspace_of(ring) > 0)
            status = rungi_buffer_create_on(lane->queue, workspace_of(ring), &lane->workspace);
    }
    return status;
}

/* Buffers for what is shared; they come before the plans, which are made for how it will
 * stand there. */
static rung_status make_shared(ring_t *ring)
{
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++) {
        rung_matrix *place = rungi_problem_place(&ring->there, i);
        int64_t items, bytes;
        if (!is_shared(ring, i))
            continue;
        status = measure(rungi_problem_view(ring->problem, i), ring->problem->batch, place, &items, &bytes);
        if (status == RUNG_OK)
            status = rungi_buffer_create_on(ring->lanes[0].queue, bytes, &ring->shared[i]);
        place->buffer = ring->shared[i];
    }
    return status;
}

static rung_status make_ring(ring_t *ring)
{
    panel_t first, last;
    rung_status status = take_lanes(ring);
    if (status == RUNG_OK)
        status = rungi_spans_align(&ring->spans, ring->lanes[0].queue);
    if (status == RUNG_OK)
        status = make_shared(ring);
    if (status == RUNG_OK)
        status = make_panel(ring, &ring->lanes[0], 0, &first);
    if (status == RUNG_OK)
        status = make_panel(ring, &ring->lanes[0], ring->cut.count - 1, &last);
    if (status == RUNG_OK)
        status = make_plans(ring, &first, &last);
    if (status == RUNG_OK)
        status = make_buffers(ring, &first);
    return status == RUNG_OK ? make_stages(ring, &first, &last) : status;
}

static void free_lane(ring_t *ring, lane_t *lane)
{
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        rung_buffer_destroy(lane->buffers[i]);
    rung_buffer_destroy(lane->workspace);
    rung_event_destroy(lane->leaving);
    if (lane->queue)
        rungi_context_give_queue(ring->context, lane->queue);
}

/* Whatever happened, nothing may still read or write what is freed. */
static void free_ring(ring_t *ring, rung_status status)
{
    for (int i = 0; status != RUNG_OK && i < ring->lane_count; i++)
        if (ring->lanes[i].queue)
            rung_queue_finish(ring->lanes[i].queue);
    if (status == RUNG_STATUS_DEVICE_LOST)
        rungi_context_forget_device(ring->context, ring->device);
    rung_plan_destroy(ring->plans[0]);
    rung_plan_destroy(ring->plans[1]);
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        rung_buffer_destroy(ring->shared[i]);
    for (int i = 0; i < ring->lane_count; i++)
        free_lane(ring, &ring->lanes[i]);
    rungi_context_give_staging(ring->context, ring->device, &ring->pinned);
    rungi_release(ring->context, ring->plain);
}

/* ---- Copying ------------------------------------------------------------------------------- */

/* Into the stage or out of it. */
static rung_status copy_items(ring_t *ring, const char *name, const rung_matrix *from, const rung_matrix *to,
                              int64_t items, int64_t bytes)
{
    int64_t start = rungi_spans_now(&ring->spans);
    for (int64_t i = 0; i < items; i++) {
        rung_matrix source = rungi_matrix_item(from, i), target = rungi_matrix_item(to, i);
        rungi_matrix_copy(&source, &target);
    }
    return rungi_spans_note_host(&ring->spans, name, -1, start, bytes);
}

/* An operand or a piece of one, on its way to a buffer. */
typedef struct part {
    rungi_operand operand;
    const rung_matrix *view;
    rung_matrix dense;            /* in the buffer */
    int64_t offset, items, bytes; /* from the buffer's start on */
    void *stage;                  /* NULL: as it stands */
} part_t;

/* On that lane's queue; `done` is what is signalled, unless the spans want an event of their
 * own, and becomes what was. */
static rung_status send(ring_t *ring, int number, const part_t *part, rung_event **done)
{
    static const char *const names[] = {"A up", "B up", "C up", "bias up", "residual up", "C up"};
    rung_event *span;
    void *from = part->stage;
    rung_status status = RUNG_OK;
    RUNGI_ASSERT(part->dense.buffer && part->bytes >= 0 && part->offset >= 0 &&
                 part->bytes <= part->dense.buffer->bytes - part->offset);
    if (from) {
        rung_matrix staged = part->dense;
        staged.buffer = NULL;
        staged.data = from;
        status = copy_items(ring, "pack", part->view, &staged, part->items, part->bytes);
    } else {
        from = rungi_matrix_first(part->view);
    }
    if (status == RUNG_OK)
        status = rungi_spans_note(&ring->spans, names[part->operand], number, part->bytes, &span);
    if (status != RUNG_OK)
        return status;
    if (span)
        *done = span;
    return rung_buffer_write(ring->lanes[number].queue, part->dense.buffer, part->offset, part->bytes, from,
                             &(rung_run_options){.size = sizeof(rung_run_options), .signal = *done});
}

/* Until the lane's stage may be written again. */
static rung_status wait_for_stage(lane_t *lane)
{
    rung_event *wait = lane->wait;
    lane->wait = NULL;
    return wait ? rung_event_wait(wait) : RUNG_OK;
}

/* Some lines of what is shared, through the stage of whichever lane is next, so that packing
 * one piece goes on while another is sent. All go on the first queue: one event is enough to
 * wait for. */
static rung_status send_piece(ring_t *ring, part_t *whole, lines_t lines, int64_t first)
{
    RUNGI_ASSERT(ring->lane_count > 0 && ring->lane_count <= LANES);
    lane_t *lane = &ring->lanes[ring->pieces++ % ring->lane_count];
    int64_t count = rungi_smaller(lines.step, lines.count - first);
    rung_matrix view = *whole->view;
    part_t piece = *whole;
    rung_event *done = lane->leaving;
    if (lines.count > 1) {
        view = lines.rows ? rung_matrix_block(view, first, 0, count, view.cols)
                          : rung_matrix_block(view, 0, first, view.rows, count);
        *(lines.rows ? &piece.dense.rows : &piece.dense.cols) = count;
    }
    piece.view = &view;
    piece.offset = first * lines.bytes;
    piece.bytes = count * lines.bytes;
    rung_status status = wait_for_stage(lane);
    if (status == RUNG_OK) {
        piece.stage = whole->stage ? lane->stage : NULL;
        status = send(ring, 0, &piece, &done);
    }
    lane->wait = ring->arrived = done;
    return status;
}

static rung_status send_shared(ring_t *ring, rungi_operand operand)
{
    const rung_matrix *view = rungi_problem_view(ring->problem, operand);
    rung_status status = RUNG_OK;
    part_t whole = {.operand = operand, .view = view, .items = 1, .dense = *rungi_problem_view(&ring->there, operand)};
    lines_t lines = lines_of(ring, &whole.dense, ring->shared[operand]->bytes);
    if (ring->pinned.memory || !stands_ready(view, 1))
        whole.stage = ring->lanes[0].stage;
    else
        lines.step = lines.count;
    for (int64_t first = 0; status == RUNG_OK && first < lines.count; first += lines.step)
        status = send_piece(ring, &whole, lines, first);
    return status;
}

/* ---- Running ------------------------------------------------------------------------------- */

/* Whether the result's memory is read, too. */
static bool reads_output(const rung_problem *problem)
{
    return problem->beta != 0.0 && rungi_matrix_is_absent(rungi_problem_addend(problem));
}

static rung_status send_panel(ring_t *ring, int number, const panel_t *panel)
{
    lane_t *lane = &ring->lanes[number];
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++) {
        rung_event *unused = NULL;
        part_t part = {.operand = i,
                       .view = rungi_problem_view(&panel->here, i),
                       .dense = *rungi_problem_view(&panel->there, i),
                       .items = panel->items[i],
                       .bytes = panel->bytes[i],
                       .stage = lane->stages[i]};
        if (panel->goes[i] && (i != RUNGI_C || reads_output(&panel->here)))
            status = send(ring, number, &part, &unused);
    }
    return status;
}

static rung_status run_panel(ring_t *ring, int number, const panel_t *panel, bool is_last)
{
    lane_t *lane = &ring->lanes[number];
    rung_plan *plan = is_last && ring->plans[1] ? ring->plans[1] : ring->plans[0];
    rung_run_options options = {.size = sizeof(rung_run_options),
                                .wait = &ring->arrived,
                                .wait_count = ring->arrived != NULL,
                                .workspace = lane->workspace};
    rung_status status = rungi_spans_note(&ring->spans, plan->info.kernel, number, 0, &options.signal);
    rung_problem given = rungi_problem_given(&panel->there);
    return status == RUNG_OK ? rung_plan_run(plan, lane->queue, &given, &options) : status;
}

static rung_status fetch_panel(ring_t *ring, int number, const panel_t *panel)
{
    lane_t *lane = &ring->lanes[number];
    rung_run_options options = {.size = sizeof(rung_run_options)};
    if (!panel->goes[RUNGI_C])
        return RUNG_OK;
    void *to = lane->stages[RUNGI_C] ? lane->stages[RUNGI_C] : rungi_matrix_first(&panel->here.c);
    rung_status status = rungi_spans_note(&ring->spans, "C down", number, panel->bytes[RUNGI_C], &options.signal);
    return status == RUNG_OK
               ? rung_buffer_read(lane->queue, lane->buffers[RUNGI_C], 0, panel->bytes[RUNGI_C], to, &options)
               : status;
}

/* Waits for the lane's panel and puts its C where it belongs. */
static rung_status retire(ring_t *ring, int number)
{
    lane_t *lane = &ring->lanes[number];
    panel_t panel;
    if (lane->panel < 0)
        return RUNG_OK;
    rung_status status = rung_queue_finish(lane->queue);
    if (status == RUNG_OK)
        status = make_panel(ring, lane, lane->panel, &panel);
    lane->panel = -1;
    if (status != RUNG_OK || !lane->stages[RUNGI_C] || !panel.goes[RUNGI_C])
        return status;
    rung_matrix staged = panel.there.c;
    staged.buffer = NULL;
    staged.data = lane->stages[RUNGI_C];
    return copy_items(ring, "unpack", &staged, &panel.here.c, panel.items[RUNGI_C], panel.bytes[RUNGI_C]);
}

static rung_status start_panel(ring_t *ring, int64_t index)
{
    panel_t panel;
    int number = (int)(index % ring->lane_count);
    rung_status status = retire(ring, number);
    if (status == RUNG_OK)
        status = wait_for_stage(&ring->lanes[number]);
    if (status == RUNG_OK)
        status = make_panel(ring, &ring->lanes[number], index, &panel);
    if (status == RUNG_OK)
        status = send_panel(ring, number, &panel);
    if (status == RUNG_OK)
        status = run_panel(ring, number, &panel, index == ring->cut.count - 1);
    if (status == RUNG_OK)
        status = fetch_panel(ring, number, &panel);
    RUNGI_ASSERT(ring->lanes[number].panel < 0 || status != RUNG_OK);
    ring->lanes[number].panel = index;
    return status;
}

static rung_status run_ring(ring_t *ring)
{
    rung_status status = make_ring(ring);
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++)
        if (is_shared(ring, i))
            status = send_shared(ring, i);
    for (int64_t i = 0; status == RUNG_OK && i < ring->cut.count; i++)
        status = start_panel(ring, i);
    for (int i = 0; status == RUNG_OK && i < ring->lane_count; i++)
        status = retire(ring, (int)((ring->cut.count + i) % ring->lane_count));
    return status;
}

rung_status rungi_overlap_run(rung_context *context, rung_device *device, const rung_problem *problem)
{
    ring_t ring = {.context = context, .device = device, .problem = problem, .there = *problem};
    rungi_error first;
    rungi_spans_begin(&ring.spans, device);
    ring.cut = rungi_cut_of(problem, context->overlap);
    rung_status status = run_ring(&ring);
    rungi_error_save(&first); /* cleaning up may fail too; that is not told */
    free_ring(&ring, status);
    rungi_error_restore(&first);
    return rungi_spans_end(&ring.spans, status);
}
