/* SPDX-License-Identifier: Apache-2.0 */
/* locations.c - where instructions come from: .loc directives and the calls that the compiler has inlined.
 *
 * .loc names the position of the call that was inlined, and the .loc of this position names the next call:
 *     .loc 1 20 5
 *     .loc 2 8 5, function_name $L__info_string0, inlined_at 1 20 5
 *     .loc 2 4 5, function_name $L__info_string1, inlined_at 2 8 5
 * The compiler writes such a chain once. If line 21 calls the same function, position 2 8 5 has two callers, and a later
 * "2 4 5 inlined_at 2 8 5" does not say which of them it means. Then the registers of the instructions decide: those of one
 * call mostly use what the same call has computed, or addresses that only this call uses. If they do not decide either, the
 * instructions before do, or the last call is taken, and the location names another call that is possible. */
#include <stdlib.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/parser.h"

enum { UNIT = 64, DEPTH_MAX = 256 }; /* bytes of the smallest register; calls of a chain */

/* A .loc whose caller is not known yet. */
typedef struct ambiguous_location {
    int32_t location;    /* its entry, which has no caller */
    int32_t before;      /* location of the instructions before, or -1 */
    int32_t instruction; /* the first one behind the .loc */
    ptx_location_t caller;
} ambiguous_location_t;

static ptx_location_t *location_at(const ptx_parser_t *parser, int32_t index)
{
    return (ptx_location_t *)parser->locations.data + index;
}

static bool has_position(const ptx_location_t *location, const ptx_location_t *position)
{
    return location->file == position->file && location->line == position->line && location->column == position->column;
}

/* ---- Directives ---------------------------------------------------------------------------------------------------- */

void rungi_ptx_begin_locations(ptx_parser_t *parser)
{
    parser->location = -1;
    parser->first_location = parser->locations.count;
    parser->first_mention = parser->mentions.count;
    parser->ambiguous_locations.count = 0;
}

static rung_status append_location(ptx_parser_t *parser, const ptx_location_t *location, int32_t *index)
{
    ptx_location_t *added = rungi_ptx_vector_append(&parser->locations, sizeof *added, 1);
    if (!added)
        return RUNG_STATUS_NO_MEMORY;
    *added = *location;
    *index = parser->locations.count - 1;
    return RUNG_OK;
}

/* Finds a location of the function with the same position and caller. Returns -1 if the function has no such location. */
static int32_t find_location(const ptx_parser_t *parser, const ptx_location_t *wanted)
{
    for (int32_t i = parser->locations.count - 1; i >= parser->first_location; i--) {
        const ptx_location_t *location = location_at(parser, i);
        if (has_position(location, wanted) && location->inlined_at == wanted->inlined_at && !location->is_ambiguous)
            return i;
    }
    return -1;
}

static rung_status add_location(ptx_parser_t *parser, const ptx_location_t *location, int32_t *index)
{
    *index = find_location(parser, location);
    return *index >= 0 ? RUNG_OK : append_location(parser, location, index);
}

/* Finds the next location of a position, from `index` down. Returns -1 after the last one. */
static int32_t next_candidate(const ptx_parser_t *parser, const ptx_location_t *position, int32_t index)
{
    for (; index >= parser->first_location; index--)
        if (has_position(location_at(parser, index), position) && !location_at(parser, index)->is_ambiguous)
            return index;
    return -1;
}

/* Returns whether a location, or one of the calls that it was inlined at, is `wanted`. */
static bool chain_contains(const ptx_parser_t *parser, int32_t location, int32_t wanted)
{
    for (int depth = 0; depth < DEPTH_MAX && location >= 0 && location != wanted; depth++)
        location = location_at(parser, location)->inlined_at;
    return location == wanted && wanted >= 0;
}

/* Finds the caller of a location among those with the position. Returns -1 if there are several and nothing decides. */
static int32_t find_caller(const ptx_parser_t *parser, const ptx_location_t *location, const ptx_location_t *position)
{
    int32_t last = next_candidate(parser, position, parser->locations.count - 1);
    bool is_stated = parser->location_end == parser->instructions.count; /* by the .loc just before this one */
    if (last < 0 || next_candidate(parser, position, last - 1) < 0)
        return last;
    if (is_stated && parser->location >= 0 && has_position(location_at(parser, parser->location), position) &&
        !location_at(parser, parser->location)->is_ambiguous)
        return parser->location;
    for (int32_t i = last; i >= 0; i = next_candidate(parser, position, i - 1)) {
        ptx_location_t inlined = *location;
        inlined.inlined_at = i;
        if (chain_contains(parser, parser->location, i) && find_location(parser, &inlined) < 0)
            return i; /* the call of the instructions before, and a position in it that is new */
    }
    return -1;
}

static rung_status add_ambiguous(ptx_parser_t *parser, ptx_location_t location, const ptx_location_t *caller)
{
    ambiguous_location_t *ambiguous = rungi_ptx_vector_append(&parser->ambiguous_locations, sizeof *ambiguous, 1);
    if (!ambiguous)
        return RUNG_STATUS_NO_MEMORY;
    location.is_ambiguous = true;
    int32_t before = parser->location;
    TRY(append_location(parser, &location, &parser->location));
    *ambiguous = (ambiguous_location_t){
        .location = parser->location, .before = before, .instruction = parser->instructions.count, .caller = *caller};
    return RUNG_OK;
}

static rung_status parse_position(ptx_parser_t *parser, ptx_location_t *location)
{
    int64_t file, line, column;
    TRY(rungi_ptx_parser_expect_integer(parser, &file));
    TRY(rungi_ptx_parser_expect_integer(parser, &line));
    TRY(rungi_ptx_parser_expect_integer(parser, &column));
    *location = (ptx_location_t){
        .file = (int32_t)file, .line = (int32_t)line, .column = (int32_t)column, .inlined_at = -1};
    return RUNG_OK;
}

/* Adds the location of a .loc, with the position of its caller or NULL. */
static rung_status set_location(ptx_parser_t *parser, ptx_location_t *location, const ptx_location_t *caller)
{
    if (caller) {
        location->inlined_at = find_caller(parser, location, caller);
        if (location->inlined_at < 0 && next_candidate(parser, caller, parser->locations.count - 1) >= 0)
            return add_ambiguous(parser, *location, caller);
        if (location->inlined_at < 0)
            TRY(append_location(parser, caller, &location->inlined_at));
    }
    return add_location(parser, location, &parser->location);
}

rung_status rungi_ptx_parse_location(ptx_parser_t *parser)
{
    ptx_location_t location, caller;
    bool is_inlined = false;
    TRY(parse_position(parser, &location));
    while (rungi_ptx_parser_accept(parser, ',')) {
        rungi_string_view name;
        TRY(rungi_ptx_parser_expect_name(parser, &name));
        if (rungi_string_view_equals(name, "inlined_at")) {
            TRY(parse_position(parser, &caller));
            is_inlined = true;
        } else { /* function_name LABEL or LABEL + offset */
            int64_t offset;
            TRY(rungi_ptx_parser_expect_name(parser, &name));
            if (rungi_ptx_parser_accept(parser, '+'))
                TRY(rungi_ptx_parser_expect_integer(parser, &offset));
        }
    }
    TRY(set_location(parser, &location, is_inlined ? &caller : NULL));
    parser->location_end = parser->instructions.count;
    return RUNG_OK;
}

/* ---- Unknown callers ----------------------------------------------------------------------------------------------- */

/* Returns how many calls are between a caller and the first one of its chain that is also in the chain of `location`, or
 * DEPTH_MAX. */
static int distance(const ptx_parser_t *parser, int32_t caller, int32_t location)
{
    int depth = 0;
    while (depth < DEPTH_MAX && caller >= 0 && !chain_contains(parser, location, caller)) {
        caller = location_at(parser, caller)->inlined_at;
        depth++;
    }
    return caller >= 0 ? depth : DEPTH_MAX;
}

/* Returns the caller that is nearest to the inlined code that has computed a register, or -1. Code of the kernel itself
 * does not count: the compiler moves it. */
static int32_t caller_of(const ptx_parser_t *parser, const ambiguous_location_t *ambiguous, int32_t definition)
{
    int32_t found = -1;
    int nearest = DEPTH_MAX;
    if (definition < 0 || location_at(parser, definition)->inlined_at < 0)
        return -1;
    for (int32_t i = next_candidate(parser, &ambiguous->caller, ambiguous->location - 1); i >= 0;
         i = next_candidate(parser, &ambiguous->caller, i - 1)) {
        int depth = distance(parser, i, definition);
        if (depth <= nearest && depth < DEPTH_MAX) {
            found = depth < nearest ? i : -1;
            nearest = depth;
        }
    }
    return found;
}

/* Returns the last one of the possible callers if all of them have the same user's line, else -1. */
static int32_t common_caller(const ptx_parser_t *parser, const ambiguous_location_t *ambiguous)
{
    const ptx_location_t *locations = parser->locations.data;
    int32_t last = next_candidate(parser, &ambiguous->caller, ambiguous->location - 1);
    const ptx_location_t *user = &locations[rungi_ptx_user_location(locations, last)];
    for (int32_t i = last; i >= 0; i = next_candidate(parser, &ambiguous->caller, i - 1)) {
        const ptx_location_t *other = &locations[rungi_ptx_user_location(locations, i)];
        if (other->file != user->file || other->line != user->line)
            return -1;
    }
    return last;
}

/* What is known of each register: a location or -1. */
typedef struct register_locations {
    int32_t *definitions; /* of the instruction that wrote the register last */
    int32_t *uses;        /* of memory accesses of inlined code that read it, if they are all of one line of the user */
    size_t count;
} register_locations_t;
enum { SEVERAL_LINES = -2 };

static bool have_one_line(const ptx_parser_t *parser, int32_t a, int32_t b)
{
    const ptx_location_t *locations = parser->locations.data;
    const ptx_location_t *x = &locations[rungi_ptx_user_location(locations, a)];
    const ptx_location_t *y = &locations[rungi_ptx_user_location(locations, b)];
    return x->file == y->file && x->line == y->line;
}

/* Fills in the uses, of memory accesses with a known caller. */
static void find_uses(const ptx_parser_t *parser, const register_locations_t *registers)
{
    const ptx_mention_t *mentions = parser->mentions.data;
    const ptx_instruction_t *instructions = parser->instructions.data;
    for (int32_t i = parser->first_mention; i < parser->mentions.count; i++) {
        const ptx_instruction_t *instruction = &instructions[mentions[i].instruction];
        int32_t *use = &registers->uses[mentions[i].operand / UNIT], location = instruction->location;
        if (mentions[i].is_destination || instruction->address_bytes == 0 || location < 0 ||
            location_at(parser, location)->is_ambiguous || location_at(parser, location)->inlined_at < 0)
            continue;
        if (*use == -1)
            *use = location;
        else if (*use >= 0 && !have_one_line(parser, *use, location))
            *use = SEVERAL_LINES;
    }
}

/* Finds the caller of the instructions of a .loc by the registers that they read: by the inlined code that has computed one.
 * The address of a memory access counts more than other registers: the compiler shares constants between calls. `mention` is
 * the first one of the instructions. Returns -1 if nothing decides. */
static int32_t caller_by_definitions(const ptx_parser_t *parser, const ambiguous_location_t *ambiguous, int32_t mention,
                                     const int32_t *definitions)
{
    const ptx_mention_t *mentions = parser->mentions.data;
    const ptx_instruction_t *instructions = parser->instructions.data;
    int32_t found = -1;
    bool has_address = false;
    for (; mention < parser->mentions.count; mention++) {
        const ptx_instruction_t *instruction = &instructions[mentions[mention].instruction];
        if (instruction->location != ambiguous->location)
            break;
        bool is_memory = instruction->address_bytes > 0;
        int32_t caller = mentions[mention].is_destination || has_address
                             ? -1
                             : caller_of(parser, ambiguous, definitions[mentions[mention].operand / UNIT]);
        if (caller < 0 || (found >= 0 && !is_memory))
            continue;
        found = caller;
        has_address = is_memory;
    }
    return found;
}

/* The same by registers that only one call uses, which the kernel itself may have computed. */
static int32_t caller_by_uses(const ptx_parser_t *parser, const ambiguous_location_t *ambiguous, int32_t mention,
                              const int32_t *uses)
{
    const ptx_mention_t *mentions = parser->mentions.data;
    const ptx_instruction_t *instructions = parser->instructions.data;
    int32_t found = -1;
    for (; mention < parser->mentions.count && found < 0; mention++) {
        const ptx_instruction_t *instruction = &instructions[mentions[mention].instruction];
        if (instruction->location != ambiguous->location)
            break;
        if (instruction->address_bytes > 0 && !mentions[mention].is_destination)
            found = caller_of(parser, ambiguous, uses[mentions[mention].operand / UNIT]);
    }
    return found;
}

/* Returns the call of the instructions before, or the last possible call, and notes the line of another one. */
static int32_t likely_caller(const ptx_parser_t *parser, const ambiguous_location_t *ambiguous)
{
    const ptx_location_t *locations = parser->locations.data;
    int32_t likely = caller_of(parser, ambiguous, ambiguous->before);
    if (likely < 0)
        likely = next_candidate(parser, &ambiguous->caller, ambiguous->location - 1);
    const ptx_location_t *user = &locations[rungi_ptx_user_location(locations, likely)];
    for (int32_t i = next_candidate(parser, &ambiguous->caller, ambiguous->location - 1); i >= 0;
         i = next_candidate(parser, &ambiguous->caller, i - 1)) {
        const ptx_location_t *other = &locations[rungi_ptx_user_location(locations, i)];
        if (other->file == user->file && other->line != user->line)
            location_at(parser, ambiguous->location)->other_line = other->line;
    }
    return likely;
}

static void decide(const ptx_parser_t *parser, const ambiguous_location_t *ambiguous, int32_t mention,
                   const register_locations_t *registers)
{
    int32_t caller = caller_by_definitions(parser, ambiguous, mention, registers->definitions);
    if (caller < 0)
        caller = caller_by_uses(parser, ambiguous, mention, registers->uses);
    if (caller < 0)
        caller = common_caller(parser, ambiguous);
    if (caller < 0)
        caller = likely_caller(parser, ambiguous);
    location_at(parser, ambiguous->location)->inlined_at = caller;
}

void rungi_ptx_resolve_locations(ptx_parser_t *parser)
{
    const ptx_mention_t *mentions = parser->mentions.data;
    const ptx_instruction_t *instructions = parser->instructions.data;
    const ambiguous_location_t *ambiguous = parser->ambiguous_locations.data;
    int32_t next = 0, count = parser->ambiguous_locations.count;
    register_locations_t registers = {.count = (size_t)parser->function->frame_bytes / UNIT + 1};
    if (count == 0 || parser->lacks_mentions)
        return;
    registers.definitions = malloc(2 * registers.count * sizeof *registers.definitions);
    if (!registers.definitions)
        return;
    registers.uses = registers.definitions + registers.count;
    for (size_t i = 0; i < 2 * registers.count; i++)
        registers.definitions[i] = -1;
    find_uses(parser, &registers);
    for (int32_t i = parser->first_mention; i < parser->mentions.count && next < count; i++) {
        while (next < count && mentions[i].instruction >= ambiguous[next].instruction)
            decide(parser, &ambiguous[next++], i, &registers);
        if (mentions[i].is_destination)
            registers.definitions[mentions[i].operand / UNIT] = instructions[mentions[i].instruction].location;
    }
    for (; next < count; next++) /* no register follows, as behind the last barrier */
        decide(parser, &ambiguous[next], parser->mentions.count, &registers);
    free(registers.definitions);
}
