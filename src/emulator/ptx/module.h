/* SPDX-License-Identifier: Apache-2.0 */
/* module.h - a PTX module in decoded form.
 *
 * Every operand, register or not, is an array of 32 lanes (a predicate is one 32-bit mask), so executors never ask
 * whether an operand is a register or a constant. An operand is a byte offset from one of three bases; the two lowest
 * bits select the base. Offset 0 of the frame is reserved, so that operand 0 means "absent". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_view.h"
#include "rung/emulator.h"

enum { PTX_WARP_LANES = 32, PTX_ALL_LANES = -1, PTX_OPERANDS_MAX = 7, PTX_LANE_ARRAY_ALIGNMENT = 64 };

typedef struct ptx_warp ptx_warp_t;
typedef struct ptx_instruction ptx_instruction_t;

/* Executes an instruction for the lanes of `mask`, which is not 0. */
typedef void (*ptx_execute_fn)(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask);

typedef enum ptx_type {
    PTX_TYPE_NONE,
#define PTX_TYPE(enumerator, name, bits, kind) PTX_##enumerator,
#include "emulator/ptx/types.def"
#undef PTX_TYPE
    PTX_TYPE_COUNT
} ptx_type_t;

typedef enum ptx_type_kind {
    PTX_KIND_NONE,
    PTX_KIND_PREDICATE,
    PTX_KIND_BITS,
    PTX_KIND_SIGNED,
    PTX_KIND_UNSIGNED,
    PTX_KIND_FLOAT,
    PTX_KIND_PACKED
} ptx_type_kind_t;

/* Returns the type of this name, or PTX_TYPE_NONE. */
ptx_type_t rungi_ptx_type_of(rungi_string_view name);

const char *rungi_ptx_type_name(ptx_type_t type);
int rungi_ptx_type_bits(ptx_type_t type);
ptx_type_kind_t rungi_ptx_type_kind(ptx_type_t type);

/* Returns the bytes of one lane of a register of this type. Types under 16 bits live in 16-bit registers. */
int rungi_ptx_register_bytes(ptx_type_t type);

/* ---- Operands ----------------------------------------------------------------------------------------------------- */

typedef uint32_t ptx_operand_t;
typedef enum ptx_base { PTX_BASE_FRAME, PTX_BASE_CONSTANT, PTX_BASE_SPECIAL, PTX_BASE_COUNT } ptx_base_t;
enum { PTX_BASE_MASK = 3 };

/* Special registers, in the order of their lane arrays. */
typedef enum ptx_special {
#define PTX_SPECIAL(enumerator, name, bits) PTX_SPECIAL_##enumerator,
#include "emulator/ptx/special_registers.def"
#undef PTX_SPECIAL
    PTX_SPECIAL_COUNT
} ptx_special_t;
enum { PTX_SPECIAL_BYTES = 256 }; /* of one special register: 32 lanes of 8 bytes */

/* ---- Instructions ------------------------------------------------------------------------------------------------- */

/* What the warp scheduler does. Everything but PTX_CONTROL_NONE ends the scheduler's inner loop. */
typedef enum ptx_control {
    PTX_CONTROL_NONE,
    PTX_CONTROL_BRANCH,
    PTX_CONTROL_INDEXED_BRANCH,
    PTX_CONTROL_CALL,
    PTX_CONTROL_RETURN,
    PTX_CONTROL_EXIT,
    PTX_CONTROL_BARRIER,   /* bar, barrier */
    PTX_CONTROL_WARP_SYNC, /* instructions with a member mask wait for its lanes, then execute */
    PTX_CONTROL_WAIT,      /* executes until its condition holds: mbarrier.try_wait and others */
    PTX_CONTROL_TRAP
} ptx_control_t;

typedef enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_CONST,
    PTX_SPACE_PARAM,          /* parameters of the kernel */
    PTX_SPACE_FUNCTION_PARAM, /* parameters of functions, in the frame */
    PTX_SPACE_SHARED_CLUSTER
} ptx_space_t;

typedef enum ptx_rounding {
    PTX_ROUND_NONE,
    PTX_ROUND_RN,
    PTX_ROUND_RZ,
    PTX_ROUND_RM,
    PTX_ROUND_RP,
    PTX_ROUND_RNA,
    PTX_ROUND_RS,
    PTX_ROUND_RNI,
    PTX_ROUND_RZI,
    PTX_ROUND_RMI,
    PTX_ROUND_RPI
} ptx_rounding_t;

enum {
    PTX_FLAG_FTZ = 1 << 0,
    PTX_FLAG_SAT = 1 << 1,
    PTX_FLAG_NEGATE_A = 1 << 2, /* predicates written !p */
    PTX_FLAG_NEGATE_B = 1 << 3,
    PTX_FLAG_NEGATE_C = 1 << 4,
    PTX_FLAG_APPROXIMATE = 1 << 5,
    PTX_FLAG_RELU = 1 << 6,
    PTX_FLAG_NAN = 1 << 7,
    PTX_FLAG_XORSIGN_ABS = 1 << 8,
    PTX_FLAG_VOLATILE = 1 << 9,
    PTX_FLAG_ACQUIRE = 1 << 10,
    PTX_FLAG_RELEASE = 1 << 11,
    PTX_FLAG_LOCAL_SYMBOL = 1 << 12, /* the address is relative to the frame's local variables */
    PTX_FLAG_TRANSPOSE = 1 << 13,
    PTX_FLAG_SATFINITE = 1 << 20,
    PTX_FLAG_ABS = 1 << 21,
    PTX_FLAG_RELAXED = 1 << 14 /* a strong access: relaxed, acquire, release or atomic */
};

struct ptx_instruction {
    ptx_execute_fn execute;
    ptx_operand_t guard; /* 0: always executed */
    uint8_t control;     /* ptx_control_t */
    uint8_t guard_negated;
    uint8_t space;                           /* ptx_space_t of memory instructions */
    uint8_t vector_length;                   /* elements of ld.v2, ldmatrix.x4 and others */
    uint8_t element_bytes;                   /* of one element in memory */
    uint8_t register_bytes;                  /* of one lane of a data register */
    uint8_t address_bytes;                   /* of one lane of the address register: 4 or 8 */
    uint8_t rounding;                        /* ptx_rounding_t */
    uint8_t operation;                       /* of atom, red, setp, vote and others; the executor's own enum */
    uint8_t combine;                         /* boolean operator of setp and set */
    uint8_t type, source_type;               /* ptx_type_t */
    uint32_t flags;                          /* PTX_FLAG_ */
    ptx_operand_t operand[PTX_OPERANDS_MAX]; /* destinations first, in the order of the instruction's text */
    int64_t offset;                          /* added to the address */
    int64_t offset2;                         /* added to a second address */
    const ptx_operand_t *list;               /* vectors, fragments, arguments */
    int32_t list_first, list_length;         /* in ptx_module_t.lists */
    int32_t target;                          /* index of the branch target, or of the called function */
    int32_t run_end;                         /* index of the next control instruction, from this one on */
    int32_t reconvergence;                   /* immediate post-dominator of a branch; -1: the function's exit */
    int32_t location;                        /* index into ptx_module_t.locations, or -1 */
    int32_t line;                            /* of the PTX text */
    int32_t row;                             /* of the instruction table */
    int32_t address_definition;              /* index of the instruction that computes the address; negative: unknown */
    int32_t array_first, array_end;          /* bytes of the shared array that the address is in; 0 and 0: unknown */
    int8_t merged; /* bytes of the wider access that ptxas makes of this and others; -1: counted there; 0: not merged */
};

/* ---- Functions and variables -------------------------------------------------------------------------------------- */

typedef struct ptx_parameter {
    char *name;
    int64_t offset, bytes, alignment;
} ptx_parameter_t;

/* A large part of a frame that no instruction uses, because registers share places. */
typedef struct ptx_frame_gap {
    int64_t first, end; /* bytes */
} ptx_frame_gap_t;

enum { PTX_FRAME_GAPS_MAX = 16 };

typedef struct ptx_function {
    char *name;
    bool is_kernel, is_defined;
    int32_t first, end;                       /* instructions [first, end) */
    int64_t frame_bytes;                      /* registers and parameters of one warp */
    ptx_frame_gap_t gaps[PTX_FRAME_GAPS_MAX]; /* in the order of addresses */
    int gap_count;
    int64_t local_bytes;         /* of one thread, without callees */
    int64_t stack_bytes;         /* of kernels: local memory of one thread, callees included */
    int64_t static_shared_bytes; /* of kernels, callees included */
    bool uses_dynamic_shared, uses_recursion;
    bool needs_block_order; /* results may depend on the order of blocks: see block_order.c */
    ptx_parameter_t *parameters;
    int32_t parameter_count;
    ptx_parameter_t *results; /* of functions: at most one */
    int32_t result_count;
    int64_t parameter_bytes; /* of kernels */
    uint32_t required_block[3], max_block[3], required_cluster[3];
} ptx_function_t;

/* Where an instruction comes from. */
typedef struct ptx_location {
    int32_t file, line, column;
    int32_t inlined_at; /* location of the call, or -1 */
    int32_t
        other_line;    /* of the user, if nothing says that inlined_at is the call rather than one of this line; or 0 */
    bool is_ambiguous; /* the text does not say which call was inlined; inlined_at is a conclusion, or -1 */
} ptx_location_t;

/* A variable of the module in global or const memory. */
typedef struct ptx_variable {
    char *name;
    ptx_space_t space;
    int64_t bytes, alignment;
    uint64_t address;
    bool is_extern;
} ptx_variable_t;

/* A variable in shared memory, of one of the kernels that use it. */
typedef struct ptx_shared_array {
    char *name; /* without the mangled name of its function */
    int32_t kernel;
    int64_t offset, bytes; /* dynamic shared memory extends to the end */
} ptx_shared_array_t;

/* An instruction that reads a register without a defined value, and its executor (undefined_registers.c). */
typedef struct ptx_undefined_read {
    int32_t pc;
    ptx_execute_fn execute;
} ptx_undefined_read_t;

typedef struct ptx_module {
    ptx_instruction_t *instructions;
    int32_t instruction_count;
    ptx_function_t *functions;
    int32_t function_count;
    ptx_location_t *locations;
    int32_t location_count;
    char **files; /* index 0 is unused */
    int32_t file_count;
    ptx_variable_t *variables;
    int32_t variable_count;
    ptx_shared_array_t *shared_arrays;
    int32_t shared_array_count;
    ptx_operand_t *lists; /* of all instructions */
    int32_t list_count;
    ptx_undefined_read_t *undefined_reads; /* sorted by pc */
    int32_t undefined_count;
    char target_suffix;       /* 'a' for sm_120a, 'f' for sm_120f, otherwise 0 */
    unsigned char *constants; /* lane arrays of constants, aligned to 64 bytes */
    int64_t constant_bytes;
    int64_t dynamic_shared_offset; /* where dynamic shared memory begins */
    int version, target;           /* 83 for PTX 8.3; 86 for sm_86 */
    char *text;                    /* the PTX text, for messages */
    size_t text_bytes;
    char *name;
    unsigned char
        *executed; /* flags by instruction: bit 0 is set when a counted launch executes it; NULL: not wanted */
} ptx_module_t;

/* Returns the location in the caller's own source file: of inlined code, the outermost call. -1 stays -1. */
int32_t rungi_ptx_user_location(const ptx_location_t *locations, int32_t location);
int32_t rungi_ptx_module_user_location(const ptx_module_t *module, int32_t location);

void rungi_ptx_module_destroy(ptx_module_t *module);
