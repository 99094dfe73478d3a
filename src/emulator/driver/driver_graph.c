/* SPDX-License-Identifier: Apache-2.0 */
/* driver_graph.c - graphs: nodes with dependencies, and executable graphs, which are lists of work.
 *
 * A GPU may run independent nodes concurrently. An executable graph runs its nodes one after the other, in an order that
 * satisfies the dependencies. */
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

/* ---- Nodes -------------------------------------------------------------------------------------- */

/* Returns the next node of a graph, in no particular order. */
static CUgraphNode next_node(CUgraph graph, CUgraphNode after)
{
    driver_object_t *at = object_next(after ? &after->base : NULL, NULL, GRAPH_NODE);
    while (at && ((CUgraphNode)at)->graph != graph)
        at = object_next(at, NULL, GRAPH_NODE);
    return (CUgraphNode)at;
}

static bool nodes_are_valid(CUgraph graph, const CUgraphNode *nodes, size_t count)
{
    if (count > 0 && !nodes)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!object_is(GRAPH_NODE, nodes[i]) || nodes[i]->graph != graph)
            return false;
    return true;
}

static CUresult add_dependency(CUgraphNode node, CUgraphNode on)
{
    CUgraphNode *longer = realloc(node->dependencies, (node->dependency_count + 1) * sizeof *longer);
    if (!longer)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->dependencies = longer;
    node->dependencies[node->dependency_count++] = on;
    return CUDA_SUCCESS;
}

/* Adds a node and takes over the work, which is NULL for an empty node. */
static CUresult add_node(CUgraph graph, CUgraphNodeType type, const CUgraphNode *on, size_t count, driver_work_t *work,
                         CUgraphNode *out)
{
    CUgraphNode node = object_new(GRAPH_NODE, NULL, sizeof *node);
    if (!node) {
        if (work)
            work_release(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->graph = graph;
    node->type = type;
    node->work = work;
    node->number = graph->node_count++;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = add_dependency(node, on[i]);
    if (result == CUDA_SUCCESS)
        *out = node;
    else
        object_destroy(&node->base);
    return result;
}

static CUgraphNodeType type_of(const driver_work_t *work)
{
    switch (work->kind) {
    case LAUNCH: return CU_GRAPH_NODE_TYPE_KERNEL;
    case COPY: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case FILL: return CU_GRAPH_NODE_TYPE_MEMSET;
    case FREE_MEMORY: return CU_GRAPH_NODE_TYPE_MEM_FREE;
    default: return CU_GRAPH_NODE_TYPE_HOST;
    }
}

CUgraph graph_of_recording(driver_recording_t *recording)
{
    CUgraph graph = object_new(GRAPH, NULL, sizeof *graph);
    CUgraphNode last = NULL;
    CUresult result = CUDA_SUCCESS;
    if (!graph)
        return NULL;
    for (driver_work_t *at = recording_take(recording), *next; at; at = next) {
        next = at->next;
        at->next = NULL;
        if (result == CUDA_SUCCESS)
            result = add_node(graph, type_of(at), &last, last ? 1 : 0, at, &last);
        else
            work_release(at);
    }
    if (result == CUDA_SUCCESS)
        return graph;
    object_destroy(&graph->base);
    return NULL;
}

void graph_node_release(CUgraphNode node)
{
    if (node->work)
        work_release(node->work);
    free(node->dependencies);
}

void graph_release(CUgraph graph)
{
    for (CUgraphNode at = next_node(graph, NULL), next; at; at = next) {
        next = next_node(graph, at);
        object_destroy(&at->base);
    }
}

void graph_exec_release(CUgraphExec exec)
{
    for (size_t i = 0; i < exec->count; i++)
        if (exec->items[i].work)
            work_release(exec->items[i].work);
    free(exec->items);
}

/* ---- Creating graphs ------------------------------------------------------------------------------ */

CUresult CUDAAPI cuGraphCreate(CUgraph *out, unsigned int flags)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuGraphCreate", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!out || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    CUgraph graph = result == CUDA_SUCCESS ? object_new(GRAPH, NULL, sizeof *graph) : NULL;
    if (result == CUDA_SUCCESS && !graph)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *out = graph;
    return call_end(&here, result);
}

/* Begins a call that adds a node. */
static CUresult begin_add(driver_call_t *here, const char *symbol, CUgraphNode *out, CUgraph graph,
                          const CUgraphNode *on, size_t count, const void *parameters)
{
    CUresult result = call_begin(here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS &&
        (!out || !parameters || !object_is(GRAPH, graph) || !nodes_are_valid(graph, on, count)))
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

static CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS_v1 *given, CUkernel kernel, driver_work_t **work)
{
    const unsigned grid[3] = {given->gridDimX, given->gridDimY, given->gridDimZ};
    const unsigned block[3] = {given->blockDimX, given->blockDimY, given->blockDimZ}, cluster[3] = {0};
    CUfunction function = given->func ? given->func : (CUfunction)kernel;
    if (!object_is(FUNCTION, function))
        return CUDA_ERROR_INVALID_HANDLE;
    return launch_work(function, grid, block, cluster, given->sharedMemBytes, given->kernelParams, given->extra, work);
}

static CUDA_KERNEL_NODE_PARAMS_v1 first_version(const CUDA_KERNEL_NODE_PARAMS *given)
{
    CUDA_KERNEL_NODE_PARAMS_v1 first;
    memcpy(&first, given, sizeof first); /* the new fields follow the old ones */
    return first;
}

static CUresult add_kernel(const char *symbol, CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                           const CUDA_KERNEL_NODE_PARAMS_v1 *given, CUkernel kernel)
{
    driver_call_t here;
    driver_work_t *work = NULL;
    CUresult result = begin_add(&here, symbol, out, graph, on, count, given);
    if (result == CUDA_SUCCESS)
        result = kernel_work(given, kernel, &work);
    if (result == CUDA_SUCCESS)
        result = add_node(graph, CU_GRAPH_NODE_TYPE_KERNEL, on, count, work, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
    return add_kernel("cuGraphAddKernelNode", out, graph, on, count, given, NULL);
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS *given)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v1 first = first_version(given);
    return add_kernel("cuGraphAddKernelNode_v2", out, graph, on, count, &first, given->kern);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                                      const CUDA_MEMCPY3D *given, CUcontext context)
{
    driver_call_t here;
    driver_work_t *work = NULL;
    CUresult result = begin_add(&here, "cuGraphAddMemcpyNode", out, graph, on, count, given);
    (void)context;
    if (result == CUDA_SUCCESS)
        result = copy_work_3d(given, &work);
    if (result == CUDA_SUCCESS)
        result = add_node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, on, count, work, out);
    return call_end(&here, result);
}

static CUresult memset_work(const CUDA_MEMSET_NODE_PARAMS *given, driver_work_t **work)
{
    const driver_fill_t fill = {given->dst,    given->pitch, given->width,
                                given->height, given->value, given->elementSize};
    if (given->width == 0 || given->height == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return fill_work(&fill, work);
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS *given, CUcontext context)
{
    driver_call_t here;
    driver_work_t *work = NULL;
    CUresult result = begin_add(&here, "cuGraphAddMemsetNode", out, graph, on, count, given);
    (void)context;
    if (result == CUDA_SUCCESS)
        result = memset_work(given, &work);
    if (result == CUDA_SUCCESS)
        result = add_node(graph, CU_GRAPH_NODE_TYPE_MEMSET, on, count, work, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                                    const CUDA_HOST_NODE_PARAMS *given)
{
    driver_call_t here;
    CUresult result = begin_add(&here, "cuGraphAddHostNode", out, graph, on, count, given);
    if (result == CUDA_SUCCESS && !given->fn)
        result = CUDA_ERROR_INVALID_VALUE;
    driver_work_t *work = result == CUDA_SUCCESS ? work_new(HOST_FUNCTION) : NULL;
    if (result == CUDA_SUCCESS && !work)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        work->host = given->fn;
        work->user = given->userData;
        result = add_node(graph, CU_GRAPH_NODE_TYPE_HOST, on, count, work, out);
    }
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count)
{
    driver_call_t here;
    CUresult result = begin_add(&here, "cuGraphAddEmptyNode", out, graph, on, count, graph);
    if (result == CUDA_SUCCESS)
        result = add_node(graph, CU_GRAPH_NODE_TYPE_EMPTY, on, count, NULL, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuGraphAddDependencies", NEEDS_INIT);
    if (result == CUDA_SUCCESS &&
        (!object_is(GRAPH, graph) || !nodes_are_valid(graph, from, count) || !nodes_are_valid(graph, to, count)))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = add_dependency(to[i], from[i]);
    return call_end(&here, result);
}

/* ---- Order ------------------------------------------------------------------------------------------ */

static int compare_numbers(const void *a, const void *b)
{
    const CUgraphNode *left = a, *right = b;
    return (*left)->number < (*right)->number ? -1 : (*left)->number > (*right)->number;
}

/* Returns the nodes by their order of creation; the caller frees the list. NULL for an empty graph or if memory is short. */
static CUgraphNode *list_nodes(CUgraph graph, size_t *count)
{
    *count = 0;
    for (CUgraphNode at = next_node(graph, NULL); at; at = next_node(graph, at))
        ++*count;
    CUgraphNode *list = calloc(*count + 1, sizeof *list);
    size_t i = 0;
    for (CUgraphNode at = next_node(graph, NULL); list && at; at = next_node(graph, at))
        list[i++] = at;
    if (list)
        qsort(list, *count, sizeof *list, compare_numbers);
    return list;
}

static bool is_before(CUgraphNode *list, size_t end, CUgraphNode node)
{
    for (size_t i = 0; i < end; i++)
        if (list[i] == node)
            return true;
    return false;
}

static bool is_ready(CUgraphNode *list, size_t end, CUgraphNode node)
{
    for (size_t i = 0; i < node->dependency_count; i++)
        if (!is_before(list, end, node->dependencies[i]))
            return false;
    return true;
}

/* Moves each node behind its dependencies. Returns false if they form a cycle. */
static bool sort_nodes(CUgraphNode *list, size_t count)
{
    for (size_t done = 0; done < count; done++) {
        size_t at = done;
        while (at < count && !is_ready(list, done, list[at]))
            at++;
        if (at == count)
            return false;
        CUgraphNode next = list[at];
        memmove(list + done + 1, list + done, (at - done) * sizeof *list);
        list[done] = next;
    }
    return true;
}

/* Returns the work of a graph in order. */
static CUresult build_items(CUgraph graph, exec_item_t **out, size_t *count)
{
    CUgraphNode *list = list_nodes(graph, count);
    exec_item_t *items = list ? calloc(*count + 1, sizeof *items) : NULL;
    CUresult result = items ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (items && !sort_nodes(list, *count))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; result == CUDA_SUCCESS && i < *count; i++) {
        items[i] = (exec_item_t){list[i], list[i]->work};
        if (list[i]->work)
            atomic_fetch_add(&list[i]->work->references, 1);
    }
    free(list);
    if (result == CUDA_SUCCESS)
        *out = items;
    else
        free(items);
    return result;
}

/* ---- Queries ----------------------------------------------------------------------------------------- */

/* Writes up to `*count` nodes, and their number. */
static CUresult get_nodes(const char *symbol, CUgraph graph, CUgraphNode *nodes, size_t *count, bool only_roots)
{
    driver_call_t here;
    CUresult result = call_begin(&here, symbol, NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!count || !object_is(GRAPH, graph)))
        result = CUDA_ERROR_INVALID_VALUE;
    size_t total = 0, found = 0;
    CUgraphNode *list = result == CUDA_SUCCESS ? list_nodes(graph, &total) : NULL;
    if (result == CUDA_SUCCESS && !list)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; list && i < total; i++) {
        if (only_roots && list[i]->dependency_count > 0)
            continue;
        if (nodes && found < *count)
            nodes[found] = list[i];
        found++;
    }
    if (result == CUDA_SUCCESS)
        *count = nodes && found > *count ? *count : found;
    free(list);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return get_nodes("cuGraphGetNodes", graph, nodes, count, false);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return get_nodes("cuGraphGetRootNodes", graph, nodes, count, true);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    driver_call_t here;
    CUresult result = call_begin(&here, "cuGraphNodeGetType", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!type || !object_is(GRAPH_NODE, node)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *type = node->type;
    return call_end(&here, result);
}

/* Copies all nodes of a graph behind `first`, if it is not NULL. Returns the last copy in `last`. */
static CUresult copy_nodes(CUgraph from, CUgraph to, const CUgraphNode *on, size_t on_count, CUgraphNode *last)
{
    exec_item_t *items = NULL;
    size_t count = 0;
    CUresult result = build_items(from, &items, &count);
    for (size_t i = 0; i < count && items; i++) {
        CUgraphNodeType type = items[i].node->type;
        if (result == CUDA_SUCCESS)
            result = add_node(to, type, i == 0 ? on : last, i == 0 ? on_count : 1, items[i].work, last);
        else if (items[i].work)
            work_release(items[i].work);
    }
    free(items);
    return result;
}

CUresult CUDAAPI cuGraphClone(CUgraph *out, CUgraph graph)
{
    driver_call_t here;
    CUgraphNode last = NULL;
    CUresult result = call_begin(&here, "cuGraphClone", NEEDS_INIT);
    if (result == CUDA_SUCCESS && (!out || !object_is(GRAPH, graph)))
        result = CUDA_ERROR_INVALID_VALUE;
    CUgraph clone = result == CUDA_SUCCESS ? object_new(GRAPH, NULL, sizeof *clone) : NULL;
    if (result == CUDA_SUCCESS)
        result = clone ? copy_nodes(graph, clone, NULL, 0, &last) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *out = clone;
    return call_end(&here, result);
}

/* The nodes of the child become nodes of the graph; the last of them is the node of the child. */
CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *on, size_t count,
                                          CUgraph child)
{
    driver_call_t here;
    CUgraphNode last = NULL;
    CUresult result = begin_add(&here, "cuGraphAddChildGraphNode", out, graph, on, count, child);
    if (result == CUDA_SUCCESS && (!object_is(GRAPH, child) || child == graph))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = copy_nodes(child, graph, on, count, &last);
    if (result == CUDA_SUCCESS && !last)
        result = add_node(graph, CU_GRAPH_NODE_TYPE_EMPTY, on, count, NULL, &last);
    if (result == CUDA_SUCCESS)
        *out = last;
    return call_end(&here, result);
}

/* ---- Executable graphs ---------------------------------------------------------------------------------- */

static CUresult instantiate(CUgraph graph, CUgraphExec *out)
{
    CUgraphExec exec = object_new(GRAPH_EXEC, NULL, sizeof *exec);
    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = build_items(graph, &exec->items, &exec->count);
    if (result == CUDA_SUCCESS)
        *out = exec;
    else {
        exec->count = 0;
        object_destroy(&exec->base);
    }
    return result;
}

/* Flags choose where graphs are launched from, and free memory of earlier launches. */
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    enum { FLAGS_ALL = 15 };
    driver_call_t here;
    CUresult result = call_begin(&here, "cuGraphInstantiateWithFlags", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!out || flags > FLAGS_ALL || !object_is(GRAPH, graph)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = instantiate(graph, out);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *node, char *log, size_t bytes)
{
    if (node)
        *node = NULL;
    if (log && bytes > 0)
        log[0] = '\0';
    return cuGraphInstantiateWithFlags(out, graph, 0);
}

/* A graph that is launched in a capture becomes part of it. */
static CUresult launch(CUstream stream, CUgraphExec exec)
{
    CUresult result = CUDA_SUCCESS;
    if (stream->capture)
        return capture_invalidate(stream->capture);
    for (size_t i = 0; i < exec->count && result == CUDA_SUCCESS; i++)
        if (exec->items[i].work)
            result = work_enqueue(stream, exec->items[i].work);
    return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuGraphLaunch", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !object_is(GRAPH_EXEC, exec))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    if (result == CUDA_SUCCESS)
        result = launch(stream, exec);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream handle)
{
    driver_call_t here;
    CUstream stream = NULL;
    CUresult result = call_begin(&here, "cuGraphUpload", NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && !object_is(GRAPH_EXEC, exec))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = stream_of(here.context, handle, &stream);
    return call_end(&here, result);
}

/* ---- Changing executable graphs ---------------------------------------------------------------------------- */

/* Replaces the work of a node, and takes it over. */
static CUresult replace_work(CUgraphExec exec, CUgraphNode node, driver_work_t *work)
{
    for (size_t i = 0; i < exec->count; i++)
        if (exec->items[i].node == node && exec->items[i].work && exec->items[i].work->kind == work->kind) {
            work_release(exec->items[i].work);
            exec->items[i].work = work;
            return CUDA_SUCCESS;
        }
    work_release(work);
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult begin_set(driver_call_t *here, const char *symbol, CUgraphExec exec, const void *parameters)
{
    CUresult result = call_begin(here, symbol, NEEDS_NO_STICKY_ERROR);
    if (result == CUDA_SUCCESS && (!parameters || !object_is(GRAPH_EXEC, exec)))
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

static CUresult set_kernel(const char *symbol, CUgraphExec exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS_v1 *given, CUkernel kernel)
{
    driver_call_t here;
    driver_work_t *work = NULL;
    CUresult result = begin_set(&here, symbol, exec, given);
    if (result == CUDA_SUCCESS)
        result = kernel_work(given, kernel, &work);
    if (result == CUDA_SUCCESS)
        result = replace_work(exec, node, work);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
    return set_kernel("cuGraphExecKernelNodeSetParams", exec, node, given, NULL);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS *given)
{
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v1 first = first_version(given);
    return set_kernel("cuGraphExecKernelNodeSetParams_v2", exec, node, &first, given->kern);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *given,
                                                CUcontext context)
{
    driver_call_t here;
    driver_work_t *work = NULL;
    CUresult result = begin_set(&here, "cuGraphExecMemcpyNodeSetParams", exec, given);
    (void)context;
    if (result == CUDA_SUCCESS)
        result = copy_work_3d(given, &work);
    if (result == CUDA_SUCCESS)
        result = replace_work(exec, node, work);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS *given, CUcontext context)
{
    driver_call_t here;
    driver_work_t *work = NULL;
    CUresult result = begin_set(&here, "cuGraphExecMemsetNodeSetParams", exec, given);
    (void)context;
    if (result == CUDA_SUCCESS)
        result = memset_work(given, &work);
    if (result == CUDA_SUCCESS)
        result = replace_work(exec, node, work);
    return call_end(&here, result);
}

static bool same_kind(const driver_work_t *a, const driver_work_t *b)
{
    return (!a && !b) || (a && b && a->kind == b->kind);
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult *what)
{
    exec_item_t *items = NULL;
    size_t count = 0;
    CUresult result = build_items(graph, &items, &count);
    if (result != CUDA_SUCCESS)
        return result;
    *what = count == exec->count ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < count && *what == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++)
        if (!same_kind(items[i].work, exec->items[i].work))
            *what = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    struct CUgraphExec_st old = {.items = items, .count = count};
    if (*what == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        for (size_t i = 0; i < count; i++)
            items[i].node = exec->items[i].node; /* handles of the first graph stay valid */
        old.items = exec->items;
        exec->items = items;
    }
    graph_exec_release(&old);
    return *what == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    driver_call_t here;
    CUgraphExecUpdateResult what = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUresult result = begin_set(&here, "cuGraphExecUpdate_v2", exec, info);
    if (result == CUDA_SUCCESS && !object_is(GRAPH, graph))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = update(exec, graph, &what);
    if (info)
        *info = (CUgraphExecUpdateResultInfo){.result = what};
    return call_end(&here, result);
}

/* ---- Destroying --------------------------------------------------------------------------------------------- */

static CUresult destroy(const char *symbol, object_kind_t kind, void *handle)
{
    driver_call_t here;
    CUresult result = call_begin(&here, symbol, NEEDS_INIT);
    if (result == CUDA_SUCCESS && !object_is(kind, handle))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        object_destroy(handle);
    return call_end(&here, result);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    return destroy("cuGraphDestroy", GRAPH, graph);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    return destroy("cuGraphExecDestroy", GRAPH_EXEC, exec);
}
