/* SPDX-License-Identifier: MIT */
/* Context switch for riscv64, lp64d. ctx.h enters it by a jump, with the place to go on at in ra.
 *
 * The saved frame, from the saved stack pointer upwards: ra (next instruction), s0 (frame pointer). See
 * ctx_x86_64.S for the rest. */

    .text
    .p2align 2
    .globl  cc__ctx_jump
    .hidden cc__ctx_jump
    .type   cc__ctx_jump, @function
cc__ctx_jump:                           # (a0: from, a1: to, ra: where `from` goes on)
    .cfi_startproc
    addi    sp, sp, -16
    .cfi_def_cfa_offset 16
    sd      ra, 0(sp)
    .cfi_offset ra, -16
    sd      s0, 8(sp)
    .cfi_offset s0, -8
    sd      sp, 0(a0)
    ld      sp, 0(a1)
    .globl  cc__ctx_resume
    .hidden cc__ctx_resume
cc__ctx_resume:
    ld      ra, 0(sp)
    ld      s0, 8(sp)
    addi    sp, sp, 16
    .cfi_def_cfa_offset 0
    .cfi_restore ra
    .cfi_restore s0
    mv      t1, ra                      # a jump through ra would be predicted as a return
    jr      t1
    .cfi_endproc
    .size   cc__ctx_jump, . - cc__ctx_jump

    .p2align 2
    .globl  cc__ctx_entry
    .hidden cc__ctx_entry
    .type   cc__ctx_entry, @function
cc__ctx_entry:                          # first instruction of a new context, on top of: fn, arg
    .cfi_startproc
    .cfi_undefined ra
    ld      t0, 0(sp)
    ld      a0, 8(sp)
    jalr    t0
    ebreak
    .cfi_endproc
    .size   cc__ctx_entry, . - cc__ctx_entry

    .section .note.GNU-stack, "", @progbits
