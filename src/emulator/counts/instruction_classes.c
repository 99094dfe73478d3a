/* SPDX-License-Identifier: Apache-2.0 */
/* instruction_classes.c - the classes of the instruction mix. */
#include "emulator/counts/instruction_classes.h"

#include <stdbool.h>
#include <string.h>

#include "emulator/ptx/instruction_table.h"

static const char *const class_names[PTX_CLASS_COUNT] = {"float",  "integer",   "special", "matrix",          "compare",
                                                         "move",   "parameter", "global",  "shared",          "local",
                                                         "atomic", "warp",      "control", "synchronization", "other"};

const char *rung_emulator_class_name(rung_emulator_class instruction_class)
{
    bool is_known = instruction_class >= 0 && (int)instruction_class < PTX_CLASS_COUNT;
    return is_known ? class_names[instruction_class] : "unknown";
}

/* Opcodes that always have the same class. Each list begins and ends with a space. */
static const struct {
    rung_emulator_class instruction_class;
    const char *opcodes;
} opcode_classes[] = {
    {RUNG_EMULATOR_SPECIAL, " rcp rsqrt sqrt sin cos ex2 lg2 tanh "},
    {RUNG_EMULATOR_MATRIX, " mma wgmma tcgen05 "},
    {RUNG_EMULATOR_COMPARE, " set setp selp slct testp isspacep "},
    {RUNG_EMULATOR_MOVE, " mov cvt cvta movmatrix mapa getctarank "},
    {RUNG_EMULATOR_ATOMIC, " atom red multimem "},
    {RUNG_EMULATOR_WARP, " shfl vote match redux activemask elect "},
    {RUNG_EMULATOR_CONTROL, " bra brx call ret exit trap brkpt nanosleep "},
    {RUNG_EMULATOR_SYNCHRONIZATION, " bar barrier fence membar mbarrier griddepcontrol "},
    {RUNG_EMULATOR_INTEGER,
     " and or xor not cnot lop3 shl shr shf bfe bfi bfind bmsk brev clz popc prmt fns addc subc madc mul24 mad24 sad dp2a "
     "dp4a rem szext vadd vadd2 vadd4 vsub vsub2 vsub4 vmad vmin vmax vshl vshr vset vset2 vset4 vabsdiff vabsdiff2 "
     "vabsdiff4 vavrg2 vavrg4 vmin2 vmin4 vmax2 vmax4 "},
};

static bool lists(const char *opcodes, const char *opcode)
{
    size_t length = strlen(opcode);
    for (const char *found = strstr(opcodes, opcode); found; found = strstr(found + 1, opcode))
        if (found > opcodes && found[-1] == ' ' && found[length] == ' ')
            return true;
    return false;
}

static rung_emulator_class class_of_space(ptx_space_t space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return RUNG_EMULATOR_SHARED;
    case PTX_SPACE_LOCAL: return RUNG_EMULATOR_LOCAL;
    case PTX_SPACE_CONST:
    case PTX_SPACE_PARAM:
    case PTX_SPACE_FUNCTION_PARAM: return RUNG_EMULATOR_PARAMETER;
    default: return RUNG_EMULATOR_GLOBAL;
    }
}

/* cp.async and cp.async.bulk copy; their commits and waits synchronize. */
static rung_emulator_class class_of_copy(const ptx_instruction_t *instruction)
{
    return instruction->element_bytes > 0 ? RUNG_EMULATOR_GLOBAL : RUNG_EMULATOR_SYNCHRONIZATION;
}

rung_emulator_class rungi_ptx_class_of(const ptx_instruction_t *instruction)
{
    const ptx_table_row_t *row = rungi_ptx_table_row(instruction->row);
    const char *opcode = row->entry.opcode;
    static const char memory[] = " ld ldu st ldmatrix stmatrix ";
    static const char arithmetic[] = " add sub mul mad fma div min max abs neg copysign ";
    for (size_t i = 0; i < sizeof opcode_classes / sizeof *opcode_classes; i++)
        if (lists(opcode_classes[i].opcodes, opcode))
            return opcode_classes[i].instruction_class;
    if (lists(memory, opcode))
        return class_of_space((ptx_space_t)instruction->space);
    if (strcmp(opcode, "cp") == 0)
        return class_of_copy(instruction);
    if (strcmp(opcode, "wmma") == 0)
        return strncmp(row->entry.modifiers, "op:mma", 6) == 0 ? RUNG_EMULATOR_MATRIX
                                                               : class_of_space((ptx_space_t)instruction->space);
    if (lists(arithmetic, opcode)) {
        const char *type = rungi_ptx_type_name((ptx_type_t)instruction->type);
        return type[0] == 'f' || type[0] == 'b' ? RUNG_EMULATOR_FLOAT : RUNG_EMULATOR_INTEGER;
    }
    return RUNG_EMULATOR_OTHER;
}
