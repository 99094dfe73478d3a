#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hot_loop finds the right loop in texts written for it, counts what it should, and says so
# where there is none.
set -u
hot_loop=$RUNG_BUILD/tools/hot_loop
bad=0

# number: an address before each instruction of standard input, as nvdisasm writes it.
number() { awk '/:$/ { print; next } { printf "        /*%04x*/                   %s ;\n", 16 * n++, $0 }'; }

# expect WHAT LOOP MATH LOADS COPIES: of the text on standard input.
expect() {
    local row
    row=$(number | "$hot_loop" sm_86 256 128 25344 2>&1 | cut -f 1,2,4,5 | tr '\t' ' ')
    [ "$row" = "$2 $3 $4 $5" ] || { echo "$1: $row instead of $2 $3 $4 $5"; bad=1; }
}

expect "one loop: what is before and behind it does not count" 6 2 1 1 << 'END'
FFMA R0, R0, R0, R0
.L_x_0:
LDGSTS.E.BYPASS.128 [R5], [R2.64]
LDS.128 R4, [R8]
@P1 FFMA R0, R4, R5, R0
NOP
FFMA.FTZ R1, R4, R6, R1
@P0 BRA `(.L_x_0)
FFMA R0, R0, R0, R0
EXIT
END

expect "an inner loop goes before the outer one, which multiplies more" 3 2 0 0 << 'END'
.L_x_0:
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
.L_x_1:
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
@P0 BRA `(.L_x_1)
@P1 BRA `(.L_x_0)
EXIT
END

expect "an inner loop that does not multiply is part of the outer one" 5 2 0 1 << 'END'
.L_x_0:
FFMA R0, R0, R0, R0
.L_x_1:
LDG.E R4, [R2.64]
@P0 BRA `(.L_x_1)
FFMA R0, R0, R0, R0
@P1 BRA `(.L_x_0)
EXIT
END

expect "of two loops the one that multiplies more, though it is shorter" 4 3 0 0 << 'END'
.L_x_0:
FFMA R0, R0, R0, R0
IADD3 R1, R1, 0x1, RZ
IADD3 R1, R1, 0x1, RZ
IADD3 R1, R1, 0x1, RZ
IADD3 R1, R1, 0x1, RZ
@P0 BRA `(.L_x_0)
.L_x_1:
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
@P0 BRA `(.L_x_1)
EXIT
END

expect "rare code behind the end belongs to the loop, and its way back makes no other" 7 2 0 2 << 'END'
IADD3 R1, R1, 0x1, RZ
.L_x_0:
@P2 BRA `(.L_x_1)
.L_x_2:
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
@P0 BRA `(.L_x_0)
FFMA R0, R0, R0, R0
EXIT
.L_x_1:
LDGSTS.E [R5], [R2.64]
LDGSTS.E [R5+0x4], [R2.64+0x4]
BRA `(.L_x_2)
END

expect "a turned loop, entered in its middle" 5 1 1 0 << 'END'
BRA `(.L_x_1)
.L_x_0:
LDS R4, [R8]
FFMA R0, R0, R4, R0
.L_x_1:
ISETP.NE.AND P0, PT, R1, RZ, PT
IADD3 R1, R1, -0x1, RZ
@P0 BRA `(.L_x_0)
EXIT
END

expect "loops that are left by a call, and one behind them" 4 2 0 0 << 'END'
.L_x_0:
FFMA R0, R0, R0, R0
@P0 CALL.REL.NOINC `(.L_x_1)
BRA `(.L_x_0)
.L_x_1:
FFMA R0, R0, R0, R0
.L_x_2:
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
@P0 CALL.REL.NOINC `(.L_x_3)
BRA `(.L_x_2)
.L_x_3:
EXIT
END

expect "a branch whose condition is an operand, and a loop behind it" 3 2 0 0 << 'END'
.L_x_0:
FFMA R0, R0, R0, R0
BRA.U UP0, `(.L_x_0)
FFMA R0, R0, R0, R0
.L_x_1:
FFMA R0, R0, R0, R0
FFMA R0, R0, R0, R0
BRA P0, `(.L_x_1)
EXIT
END

expect "two ways back to one head are one loop" 6 2 0 0 << 'END'
.L_x_0:
FFMA R0, R0, R0, R0
@P1 BRA `(.L_x_0)
FFMA R0, R0, R0, R0
IADD3 R1, R1, -0x1, RZ
BRA.U UP0, `(.L_x_0)
BRA P1, `(.L_x_0)
EXIT
END

expect "ways that meet at a barrier" 8 2 0 0 << 'END'
.L_x_0:
BSSY B0, `(.L_x_3)
@P0 BRA `(.L_x_2)
FFMA R0, R0, R0, R0
BSYNC B0
.L_x_2:
IADD3 R1, R1, 0x2, RZ
BSYNC B0
.L_x_3:
FFMA R0, R0, R0, R0
@P1 BRA `(.L_x_0)
EXIT
END

expect "what multiplies, what loads and what copies, and what only looks like it" 18 6 3 2 << 'END'
.L_x_0:
FFMA R0, R4, R5, R0
FFMA2 R0, R4, R6, R0
DFMA R0, R4, R6, R0
HMMA.16816.F32 R4, R8, R12, R4
IMMA.16832.S8.S8.SAT R4, R8.ROW, R12.COL, R4
DMMA.884 R4, R8, R12, R4
HFMA2.MMA R4, -RZ, RZ, 0, 0
IMAD R4, R4, R5, R6
FADD R4, R4, R5
LDS.128 R4, [R8+0x80]
LDSM.16.MT88.4 R4, [R8]
LDS.U R4, [R8]
@!PT LDS RZ, [RZ]
LDGSTS.E.BYPASS.128 [R5], desc[UR8][R2.64]
LDG.E.128 R4, [R2.64]
LDGDEPBAR
STS.128 [R4], R8
@P0 BRA `(.L_x_0)
EXIT
END

# The other disassembler: addresses instead of labels, a second comment, several functions.
row=$("$hot_loop" sm_86 256 128 25344 << 'END' | cut -f 1,2
		Function : first
        /*0000*/                   FFMA R0, R0, R0, R0 ;   /* 0x0000000000007223 */
                                                           /* 0x000fc80000000000 */
        /*0010*/              @!P0 BRA 0x0 ;               /* 0x0000000000007223 */
		Function : second
        /*0000*/                   MOV R1, c[0x0][0x28] ;  /* 0x0000000000007223 */
        /*0010*/                   FFMA R0, R0, R0, R0 ;   /* 0x0000000000007223 */
        /*0020*/                   FFMA R0, R0, R0, R0 ;   /* 0x0000000000007223 */
        /*0030*/              @!P0 BRA 0x10 ;              /* 0x0000000000007223 */
END
)
[ "$row" = "3	2" ] || { echo "two functions: $row"; bad=1; }

printf '        /*0000*/   FFMA R0, R0, R0, R0 ;\n' | "$hot_loop" sm_86 256 128 0 > /dev/null 2>&1 &&
    { echo "a loop was found where none is"; bad=1; }
"$hot_loop" sm_10 256 128 0 < /dev/null > /dev/null 2>&1 && { echo "sm_10 has limits"; bad=1; }

# Warps: by registers, by shared memory, by what a multiprocessor has of warps and of blocks.
warps() {
    local row
    row=$(printf '%s\n' '.L_x_0:' 'FFMA R0, R0, R0, R0' '@P0 BRA `(.L_x_0)' | number | "$hot_loop" $1 | cut -f 11,12)
    [ "$row" = "$2	$3" ] || { echo "warps of $1: $row instead of $2 $3"; bad=1; }
}
warps "sm_86 256 128 0" 16 48
warps "sm_86 256 129 0" 8 48
warps "sm_80 64 144 0" 12 64
warps "sm_86 256 32 25344" 24 48
warps "sm_90 256 32 25344" 64 64
warps "sm_86 1024 32 0" 32 48
warps "sm_86 32 32 0" 16 48
warps "sm_89 32 32 0" 24 48
warps "sm_86 128 232 65536" 4 48

exit $bad
