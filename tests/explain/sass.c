/* SPDX-License-Identifier: Apache-2.0 */
/* sass.c - reading disassemblies: what each instruction counts as, which loop is the hottest, whose line
 * a spill is. tests/tools/hot_loop.sh has the shapes of loops. */
#include "explain/sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Numbers the instructions, one a line, as nvdisasm does; labels and comments stay. */
static char *numbered(const char *lines)
{
    size_t capacity = 64 * strlen(lines) + 1, used = 0;
    char *text = malloc(capacity);
    assert_non_null(text);
    *text = '\0';
    for (int address = 0; *lines; lines += strcspn(lines, "\n") + 1) {
        int length = (int)strcspn(lines, "\n");
        bool plain = *lines == '.' || *lines == '/';
        used += (size_t)(plain ? snprintf(text + used, capacity - used, "%.*s\n", length, lines)
                               : snprintf(text + used, capacity - used, "        /*%04x*/   %.*s ;\n", address, length,
                                          lines));
        address += plain ? 0 : 16;
    }
    return text;
}

static lab_sass read(const char *lines)
{
    char why[256] = "", *text = numbered(lines);
    lab_sass code;
    FILE *in = fmemopen(text, strlen(text), "r");
    assert_non_null(in);
    if (!lab_sass_parse(in, NULL, &code, why, sizeof why))
        fail_msg("not read: %s", why);
    fclose(in);
    free(text);
    return code;
}

static void counts_every_kind(void **state)
{
    (void)state;
    lab_sass code = read(".L_x_0:\n"
                         "FFMA R0, R4, R5, R0\n"
                         "FFMA R1, R4, R6, R1\n"
                         "FFMA.FTZ R1, R4, R6, R1\n"
                         "LDS R4, [R8]\n"
                         "LDS.U.64 R4, [R8]\n"
                         "LDS.128 R4, [R8+0x80]\n"
                         "LDS.U8 R4, [R8]\n"
                         "LDSM.16.MT88.4 R4, [R8]\n"
                         "LDSM.16.M88.2 R4, [R8]\n"
                         "@!PT LDS RZ, [RZ]\n"
                         "LDG.E.128.CONSTANT R4, [R2.64]\n"
                         "LDG.E.U16 R4, [R2.64]\n"
                         "LDGSTS.E.BYPASS.LTC128B.128 [R5], desc[UR8][R2.64]\n"
                         "LDGDEPBAR\n"
                         "STS.128 [R4], R8\n"
                         "STG.E.64 [R4.64], R8\n"
                         "LDL.LU R4, [R1]\n"
                         "STL.64 [R1+0x8], R4\n"
                         "IMAD.WIDE.U32 R4, R4, R5, R6\n"
                         "IADD3 R1, R1, 0x4, RZ\n"
                         "BAR.SYNC 0x0\n"
                         "UIADD3 UR4, UR4, 0x1, URZ\n"
                         "MOV R1, R2\n"
                         "@P0 BRA `(.L_x_0)\n"
                         "EXIT\n");
    const lab_instruction_mix *loop = &code.loop;
    assert_true(code.has_loop);
    assert_int_equal(loop->instructions, 24);
    assert_int_equal(loop->math, 3);
    assert_string_equal(loop->operation, "FFMA");
    assert_int_equal(loop->multiply_adds, 3 * 32);
    const int64_t moves[LAB_MEMORY_OP_COUNT][LAB_ACCESS_WIDTHS] = {
        [LAB_MEMORY_OP_SHARED_LOAD] = {1, 0, 1, 1, 1, 0},  [LAB_MEMORY_OP_MATRIX_LOAD] = {0, 0, 0, 1, 1, 0},
        [LAB_MEMORY_OP_SHARED_STORE] = {0, 0, 0, 0, 1, 0}, [LAB_MEMORY_OP_GLOBAL_LOAD] = {0, 1, 0, 0, 1, 0},
        [LAB_MEMORY_OP_GLOBAL_COPY] = {0, 0, 0, 0, 1, 0},  [LAB_MEMORY_OP_GLOBAL_STORE] = {0, 0, 0, 1, 0, 0},
        [LAB_MEMORY_OP_LOCAL_LOAD] = {0, 0, 1, 0, 0, 0},   [LAB_MEMORY_OP_LOCAL_STORE] = {0, 0, 0, 1, 0, 0},
    };
    assert_memory_equal(loop->moves, moves, sizeof moves);
    assert_int_equal(lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_SHARED_LOAD), 4);
    assert_int_equal(loop->integer, 2);
    assert_int_equal(loop->barriers, 1);
    assert_int_equal(loop->branches, 1);
    assert_int_equal(loop->other, 4); /* @!PT LDS, LDGDEPBAR, UIADD3, MOV */
    assert_int_equal(code.whole.instructions, 25);
    assert_int_equal(code.whole.branches, 2);
}

/* Multiply-adds of one instruction in a loop. */
static int64_t multiply_adds(const char *operation)
{
    char text[128];
    snprintf(text, sizeof text, ".L_x_0:\n%s R4, R8, R12, R4\n@P0 BRA `(.L_x_0)\nEXIT\n", operation);
    lab_sass code = read(text);
    assert_string_equal(code.loop.operation, operation);
    return code.loop.multiply_adds;
}

static void knows_shapes(void **state)
{
    (void)state;
    assert_int_equal(multiply_adds("FFMA"), 32);
    assert_int_equal(multiply_adds("FFMA2"), 64);
    assert_int_equal(multiply_adds("DFMA"), 32);
    assert_int_equal(multiply_adds("HFMA2"), 64);
    assert_int_equal(multiply_adds("IDP.4A.S8.S8"), 128);
    assert_int_equal(multiply_adds("HMMA.16816.F32"), 16 * 8 * 16);
    assert_int_equal(multiply_adds("HMMA.16816.F32.BF16"), 16 * 8 * 16);
    assert_int_equal(multiply_adds("HMMA.1688.F32.TF32"), 16 * 8 * 8);
    assert_int_equal(multiply_adds("HMMA.1684.F32.TF32"), 16 * 8 * 4);
    assert_int_equal(multiply_adds("IMMA.16832.S8.S8"), 16 * 8 * 32);
    assert_int_equal(multiply_adds("IMMA.8816.S8.S8"), 8 * 8 * 16);
    assert_int_equal(multiply_adds("DMMA.884"), 8 * 8 * 4);
    assert_int_equal(multiply_adds("DMMA.16x8x4"), 16 * 8 * 4);
}

/* Scalar halves are one multiply-add per thread, and a constant made of zeros is not a multiply-add. */
static void tells_halves_and_constants_apart(void **state)
{
    (void)state;
    lab_sass code = read(".L_x_0:\n"
                         "HFMA2 R0, R4.H0_H0, R5.H1_H1, R0.H0_H0\n"
                         "HFMA2.MMA R7, -RZ, RZ, 1.875, 0\n"
                         "@P0 BRA `(.L_x_0)\nEXIT\n");
    assert_int_equal(code.loop.multiply_adds, 32);
    assert_int_equal(code.loop.math, 1);
}

/* The loop of whole numbers is the one that loads what it multiplies, and not the longer one
 * that only makes addresses; and where anything multiplies for certain, IMAD is not asked. */
static void finds_integer_loops(void **state)
{
    (void)state;
    static const char addresses[] = ".L_x_0:\nIMAD R1, R1, R2, R3\nIMAD R1, R1, R2, R3\nIMAD R1, R1, R2, R3\n"
                                    "IMAD R1, R1, R2, R3\n@P0 BRA `(.L_x_0)\n";
    static const char sums[] = ".L_x_1:\nLDS R4, [R8]\nIMAD R0, R4, R5, R0\nIMAD.MOV.U32 R6, RZ, RZ, R4\n"
                               "@P0 BRA `(.L_x_1)\n";
    char text[512];
    snprintf(text, sizeof text, "%s%sEXIT\n", addresses, sums);
    lab_sass code = read(text);
    assert_true(code.has_loop && code.loop.is_integer);
    assert_int_equal(code.loop.instructions, 4);
    assert_int_equal(code.loop.math, 1);
    assert_int_equal(code.loop.integer, 1);
    assert_string_equal(code.loop.operation, "IMAD");
    snprintf(text, sizeof text, "%s%s.L_x_2:\nDFMA R0, R4, R6, R0\n@P0 BRA `(.L_x_2)\nEXIT\n", addresses, sums);
    code = read(text);
    assert_true(code.has_loop && !code.loop.is_integer);
    assert_int_equal(code.loop.instructions, 2);
}

/* Of two functions the one that multiplies for certain, whichever is first. */
static void chooses_among_functions(void **state)
{
    (void)state;
    static const char sure[] = ".section .text.sure\n.L_x_0:\nFFMA R0, R4, R5, R0\n@P0 BRA `(.L_x_0)\nEXIT\n";
    static const char maybe[] = ".section .text.maybe\n.L_x_1:\nLDS R4, [R8]\nIMAD R0, R4, R5, R0\n"
                                "IMAD R0, R4, R5, R0\n@P0 BRA `(.L_x_1)\nEXIT\n";
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", i ? sure : maybe, i ? maybe : sure);
        lab_sass code = read(text);
        assert_string_equal(code.loop.operation, "FFMA");
        assert_int_equal(code.loop.instructions, 2);
        assert_int_equal(code.whole.instructions, 3);
    }
}

/* A function that is asked for by name hides the others, also hotter ones. */
static void reads_the_named_function(void **state)
{
    (void)state;
    char text[] = "\t.section\t.text.other,\"ax\",@progbits\n\t.sectioninfo\t@\"SHI_REGISTERS=8\"\n.L_x_0:\n"
                  "  /*0000*/ DFMA R0, R4, R6, R0 ;\n  /*0010*/ DFMA R2, R4, R6, R2 ;\n"
                  "  /*0020*/ @P0 BRA `(.L_x_0) ;\n"
                  "\t.section\t.text.mine,\"ax\",@progbits\n\t.sectioninfo\t@\"SHI_REGISTERS=8\"\n.L_x_1:\n"
                  "  /*0000*/ FFMA R0, R4, R6, R0 ;\n  /*0010*/ @P0 BRA `(.L_x_1) ;\n";
    char why[256];
    lab_sass code;
    FILE *in = fmemopen(text, strlen(text), "r");
    assert_true(lab_sass_parse(in, "mine", &code, why, sizeof why));
    assert_string_equal(code.loop.operation, "FFMA");
    assert_int_equal(code.whole.instructions, 2);
    rewind(in);
    assert_true(lab_sass_parse(in, NULL, &code, why, sizeof why));
    assert_string_equal(code.loop.operation, "DFMA");
    fclose(in);
}

/* The timing of each instruction is in bits 41 to 61 of the upper half of its encoding. The words are ptxas's. */
static void decodes_the_timing(void **state)
{
    (void)state;
    lab_sass code = read(".L_x_0:\n"
                         "FFMA R29, R32, R36.reuse, R67\n/* 0x088fe20000000043 */\n"
                         "LDGDEPBAR\n/* 0x000e220000000000 */\n"
                         "DEPBAR.LE SB0, 0x1\n/* 0x000fc80000000000 */\n"
                         "//## File \"mine.cu\", line 9\n"
                         "@P0 LDGSTS.E.BYPASS.128 [R3], [R80.64]\n/* 0x0005e2000b901c4a */\n"
                         "@P0 BRA `(.L_x_0)\n/* 0x000fea000383ffff */\n"
                         "EXIT\n");
    const lab_loop_instruction *loop = code.loop_code;
    assert_int_equal(code.loop_code_count, 5);
    assert_int_equal(loop[0].unit, LAB_UNIT_FMA);
    assert_int_equal(loop[0].stall, 1);
    assert_int_equal(loop[0].wait_mask, 1 << 3);
    assert_int_equal(loop[0].reuse, 1 << 1);
    assert_int_equal(loop[0].write_scoreboard, LAB_NO_SCOREBOARD);
    assert_true(loop[0].source[0] == 32 && loop[0].source[1] == 36 && loop[0].source[2] == 67);
    assert_int_equal(loop[1].unit, LAB_UNIT_COPY_GROUP);
    assert_int_equal(loop[1].write_scoreboard, 0);
    assert_int_equal(loop[2].unit, LAB_UNIT_WAIT);
    assert_true(loop[2].wait_scoreboard == 0 && loop[2].wait_remaining == 1);
    assert_int_equal(loop[3].move, LAB_MEMORY_OP_GLOBAL_COPY);
    assert_int_equal(loop[3].width, 16);
    assert_int_equal(loop[3].line, 9);
    assert_int_equal(loop[3].read_scoreboard, 2);
    lab_sass_free(&code);
}

/* The barrier is in the loop around the hottest one: both are kept, and which part is repeated. A jump over a piece of
 * code makes it conditional. */
static void keeps_the_loop_with_the_barrier(void **state)
{
    (void)state;
    lab_sass code = read(".L_x_0:\n"
                         "BAR.SYNC 0x0\n/* 0x000fec0000010000 */\n"
                         "@P1 BRA `(.L_x_2)\n/* 0x000fea0003800000 */\n"
                         "MOV R1, R2\n/* 0x000fe200078e00ff */\n"
                         ".L_x_2:\n"
                         "LDG.E R4, [R2.64]\n/* 0x000ea2000c1e1900 */\n"
                         ".L_x_1:\n"
                         "FFMA R0, R4, R5, R0\n/* 0x000fe20000000000 */\n"
                         "@P0 BRA `(.L_x_1)\n/* 0x000fea000383ffff */\n"
                         "@P2 BRA `(.L_x_0)\n/* 0x000fea000383ffff */\n"
                         "EXIT\n");
    assert_int_equal(code.loop.instructions, 2);
    assert_int_equal(code.loop_code_count, 7);
    assert_int_equal(code.loop_barriers, 1);
    assert_true(code.repeat_begin == 4 && code.repeat_end == 6);
    assert_true(code.loop_code[2].is_conditional && !code.loop_code[1].is_conditional);
    assert_false(code.loop_code[3].is_conditional);
    assert_true(code.loop_code[2].basic_block != code.loop_code[3].basic_block);
    lab_sass_free(&code);
}

/* Of an instruction that was inlined the outermost line counts, wherever it spills. */
static void reports_the_line_of_a_spill(void **state)
{
    (void)state;
    lab_sass code = read("//## File \"/a/folder/mine.cu\", line 7\n"
                         "STL [R1], R4\n"
                         "//## File \"tile.h\", line 62 inlined at \"mine.cu\", line 74\n"
                         "//## File \"mine.cu\", line 74\n"
                         "STL [R1], R4\n"
                         "STL.64 [R1+0x8], R4\n"
                         "//## File \"mine.cu\", line 80\n"
                         "MOV R1, R2\n"
                         "//## File \"tile.h\", line 99 inlined at \"mine.cu\", line 74\n"
                         "//## File \"mine.cu\", line 74\n"
                         "LDL R4, [R1]\n"
                         "EXIT\n");
    assert_false(code.has_loop);
    assert_int_equal(code.spill_count, 2);
    assert_string_equal(code.spills[0].file, "mine.cu");
    assert_int_equal(code.spills[0].line, 7);
    assert_int_equal(code.spills[0].stores, 1);
    assert_int_equal(code.spills[1].line, 74);
    assert_int_equal(code.spills[1].stores, 2);
    assert_int_equal(code.spills[1].loads, 1);
    assert_int_equal(lab_instruction_mix_memory_ops(&code.whole, LAB_MEMORY_OP_LOCAL_STORE), 3);
    code = read("STL [R1], R4\nEXIT\n"); /* without lines */
    assert_int_equal(code.spill_count, 1);
    assert_string_equal(code.spills[0].file, "");
}

static void reports_spills_after_the_last_line(void **state)
{
    (void)state;
    char text[8192] = "";
    for (int i = 0; i < LAB_SPILLS_MAX + 5; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "//## File \"x.cu\", line %d\nSTL [R1], R4\n", i + 1);
    lab_sass code = read(text);
    assert_int_equal(code.spill_count, LAB_SPILLS_MAX + 5);
    assert_int_equal(code.spills[LAB_SPILLS_MAX - 1].line, LAB_SPILLS_MAX);
    assert_int_equal(lab_instruction_mix_memory_ops(&code.whole, LAB_MEMORY_OP_LOCAL_STORE), LAB_SPILLS_MAX + 5);
}

static void rejects_other_text(void **state)
{
    (void)state;
    char why[256] = "", text[] = "nvdisasm fatal   : not a cubin\n";
    lab_sass code;
    FILE *in = fmemopen(text, strlen(text), "r");
    assert_non_null(in);
    assert_false(lab_sass_parse(in, NULL, &code, why, sizeof why));
    assert_string_equal(why, "the disassembly has no instructions");
    fclose(in);
    FILE *long_code = tmpfile(); /* more than is kept of a function */
    assert_non_null(long_code);
    for (int i = 0; i <= 1 << 16; i++)
        fprintf(long_code, "        /*%x*/   NOP ;\n", 16 * i);
    rewind(long_code);
    assert_false(lab_sass_parse(long_code, NULL, &code, why, sizeof why));
    assert_non_null(strstr(why, "more than 65536 instructions"));
    fclose(long_code);
}

/* Stand-ins for nvdisasm: absent, failing, failing late, and as it should be. */
static void runs_the_disassembler(void **state)
{
    (void)state;
    static const struct {
        const char *script, *why; /* NULL: it is well */
    } all[] = {
        {"echo 'nvdisasm warning : old' >&2; echo 'nvdisasm fatal   : no SM60' >&2; exit 1",
         "nvdisasm failed: nvdisasm fatal   : no SM60"},
        {"echo '  /*0000*/  NOP ;'; kill -9 $$", "nvdisasm failed: no error message"},
        {"[ \"$1 $2\" = '-c -gi' ] && grep -q image \"$4\" && echo '  /*0000*/  EXIT ;'", NULL},
    };
    char path[] = "/tmp/rung-test-XXXXXX", why[256];
    lab_sass code;
    int file = mkstemp(path);
    assert_true(file >= 0);
    setenv("RUNG_NVDISASM", "/nowhere/nvdisasm", 1);
    assert_false(lab_sass_disassemble("image", 5, NULL, &code, why, sizeof why));
    assert_non_null(strstr(why, "was not found: pip install"));
    setenv("RUNG_NVDISASM", path, 1);
    fclose(fdopen(file, "w"));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "#!/bin/sh\n%s\n", all[i].script);
        fclose(out);
        char command[64];
        snprintf(command, sizeof command, "chmod 700 %s", path);
        assert_int_equal(system(command), 0);
        bool good = lab_sass_disassemble("image", 5, NULL, &code, why, sizeof why);
        assert_true(good == !all[i].why);
        if (all[i].why)
            assert_string_equal(why, all[i].why);
        else
            assert_int_equal(code.whole.instructions, 1);
    }
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_every_kind),
        cmocka_unit_test(knows_shapes),
        cmocka_unit_test(tells_halves_and_constants_apart),
        cmocka_unit_test(finds_integer_loops),
        cmocka_unit_test(chooses_among_functions),
        cmocka_unit_test(reports_the_line_of_a_spill),
        cmocka_unit_test(reports_spills_after_the_last_line),
        cmocka_unit_test(reads_the_named_function),
        cmocka_unit_test(decodes_the_timing),
        cmocka_unit_test(keeps_the_loop_with_the_barrier),
        cmocka_unit_test(rejects_other_text),
        cmocka_unit_test(runs_the_disassembler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
