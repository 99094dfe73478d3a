/* SPDX-License-Identifier: Apache-2.0 */
/* driver_object.c - the list of all objects, and how objects of each kind are released. */
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"

static driver_object_t *objects;

void *object_new(object_kind_t kind, CUcontext context, size_t bytes)
{
    driver_object_t *made = calloc(1, bytes);
    if (!made)
        return NULL;
    *made = (driver_object_t){.kind = kind, .context = context, .next = objects};
    objects = made;
    return made;
}

bool object_is(object_kind_t kind, const void *handle)
{
    for (const driver_object_t *at = objects; at; at = at->next)
        if (at == handle)
            return at->kind == kind;
    return false;
}

driver_object_t *object_next(const driver_object_t *after, CUcontext context, object_kind_t kind)
{
    for (driver_object_t *at = after ? after->next : objects; at; at = at->next)
        if ((!context || at->context == context) && at->kind == kind)
            return at;
    return NULL;
}

static void release_stream(CUstream stream)
{
    capture_remove_stream(stream);
    queue_release(stream->queue);
}

/* Memory without an address is freed by a stream. */
static void release_memory(driver_memory_t *memory)
{
    if (memory->address)
        gpu_free(memory->address);
}

static void release_host_memory(driver_memory_t *memory)
{
    if (memory->is_in_emulator)
        gpu_free(memory->address);
    else if (!memory->is_registered)
        free((void *)(uintptr_t)memory->address);
}

static void release_held(driver_object_t *object)
{
    switch (object->kind) {
    case STREAM: release_stream((CUstream)object); break;
    case EVENT: marker_release(((CUevent)object)->marker); break;
    case MEMORY: release_memory((driver_memory_t *)object); break;
    case HOST_MEMORY: release_host_memory((driver_memory_t *)object); break;
    case MODULE: gpu_code_release(((CUmodule)object)->code); break;
    case FUNCTION: break; /* belongs to its module */
    case GRAPH: graph_release((CUgraph)object); break;
    case GRAPH_EXEC: graph_exec_release((CUgraphExec)object); break;
    case GRAPH_NODE: graph_node_release((CUgraphNode)object); break;
    case MEMORY_POOL:
    case LIBRARY: break; /* the module is in the list itself */
    case LINK: link_release((CUlinkState)object); break;
    }
}

void object_destroy(driver_object_t *object)
{
    struct driver_object **at = &objects;
    while (*at && *at != object)
        at = &(*at)->next;
    if (*at)
        *at = object->next;
    release_held(object);
    free(object);
}

void object_destroy_all(CUcontext context)
{
    driver_object_t *next;
    for (driver_object_t *at = objects; at; at = next) {
        next = at->next;
        if (at->context == context)
            object_destroy(at);
    }
}

static long count_kind(object_kind_t kind)
{
    long count = 0;
    for (const driver_object_t *at = objects; at; at = at->next)
        count += at->kind == kind;
    return count;
}

static long count_called(const char *kind)
{
    static const char *const names[] = {"streams", "events", "memory", "host_memory", "modules"};
    if (strcmp(kind, "contexts") == 0)
        return context_count();
    if (strcmp(kind, "graphs") == 0)
        return count_kind(GRAPH) + count_kind(GRAPH_EXEC);
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], kind) == 0)
            return count_kind((object_kind_t)i);
    return -1;
}

long rung_emulated_live_objects(const char *kind)
{
    call_lock();
    long count = count_called(kind);
    call_unlock();
    return count;
}
