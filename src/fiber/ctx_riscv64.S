/* SPDX-License-Identifier: MIT */
/* Context switch for riscv64, lp64d. ctx.h enters it by a jump, with the place to go on at in ra.
 *
 * The saved frame, from the saved stack pointer upwards: ra (next instruction), s0 to s11, fs0 to
 * fs11; 208 bytes with padding. See ctx_x86_64.S for the rest. */

    .text
    .p2align 2
    .globl  cc__ctx_jump
    .hidden cc__ctx_jump
    .type   cc__ctx_jump, @function
cc__ctx_jump:                           # (a0: from, a1: to, ra: where `from` goes on)
    .cfi_startproc
    addi    sp, sp, -208
    .cfi_def_cfa_offset 208
    sd      ra, 0(sp)
    .cfi_offset ra, -208
    sd      s0, 8(sp)
    .cfi_offset s0, -200
    sd      s1, 16(sp)
    .cfi_offset s1, -192
    sd      s2, 24(sp)
    .cfi_offset s2, -184
    sd      s3, 32(sp)
    .cfi_offset s3, -176
    sd      s4, 40(sp)
    .cfi_offset s4, -168
    sd      s5, 48(sp)
    .cfi_offset s5, -160
    sd      s6, 56(sp)
    .cfi_offset s6, -152
    sd      s7, 64(sp)
    .cfi_offset s7, -144
    sd      s8, 72(sp)
    .cfi_offset s8, -136
    sd      s9, 80(sp)
    .cfi_offset s9, -128
    sd      s10, 88(sp)
    .cfi_offset s10, -120
    sd      s11, 96(sp)
    .cfi_offset s11, -112
    fsd     fs0, 104(sp)
    .cfi_offset fs0, -104
    fsd     fs1, 112(sp)
    .cfi_offset fs1, -96
    fsd     fs2, 120(sp)
    .cfi_offset fs2, -88
    fsd     fs3, 128(sp)
    .cfi_offset fs3, -80
    fsd     fs4, 136(sp)
    .cfi_offset fs4, -72
    fsd     fs5, 144(sp)
    .cfi_offset fs5, -64
    fsd     fs6, 152(sp)
    .cfi_offset fs6, -56
    fsd     fs7, 160(sp)
    .cfi_offset fs7, -48
    fsd     fs8, 168(sp)
    .cfi_offset fs8, -40
    fsd     fs9, 176(sp)
    .cfi_offset fs9, -32
    fsd     fs10, 184(sp)
    .cfi_offset fs10, -24
    fsd     fs11, 192(sp)
    .cfi_offset fs11, -16
    sd      sp, 0(a0)
    ld      sp, 0(a1)
    .globl  cc__ctx_resume
    .hidden cc__ctx_resume
cc__ctx_resume:
    ld      ra, 0(sp)
    ld      s0, 8(sp)
    ld      s1, 16(sp)
    ld      s2, 24(sp)
    ld      s3, 32(sp)
    ld      s4, 40(sp)
    ld      s5, 48(sp)
    ld      s6, 56(sp)
    ld      s7, 64(sp)
    ld      s8, 72(sp)
    ld      s9, 80(sp)
    ld      s10, 88(sp)
    ld      s11, 96(sp)
    fld     fs0, 104(sp)
    fld     fs1, 112(sp)
    fld     fs2, 120(sp)
    fld     fs3, 128(sp)
    fld     fs4, 136(sp)
    fld     fs5, 144(sp)
    fld     fs6, 152(sp)
    fld     fs7, 160(sp)
    fld     fs8, 168(sp)
    fld     fs9, 176(sp)
    fld     fs10, 184(sp)
    fld     fs11, 192(sp)
    addi    sp, sp, 208
    .cfi_def_cfa_offset 0
    .cfi_restore ra
    .cfi_restore s0
    .cfi_restore s1
    .cfi_restore s2
    .cfi_restore s3
    .cfi_restore s4
    .cfi_restore s5
    .cfi_restore s6
    .cfi_restore s7
    .cfi_restore s8
    .cfi_restore s9
    .cfi_restore s10
    .cfi_restore s11
    .cfi_restore fs0
    .cfi_restore fs1
    .cfi_restore fs2
    .cfi_restore fs3
    .cfi_restore fs4
    .cfi_restore fs5
    .cfi_restore fs6
    .cfi_restore fs7
    .cfi_restore fs8
    .cfi_restore fs9
    .cfi_restore fs10
    .cfi_restore fs11
    mv      t1, ra                      # a jump through ra would be predicted as a return
    jr      t1
    .cfi_endproc
    .size   cc__ctx_jump, . - cc__ctx_jump

    .p2align 2
    .globl  cc__ctx_entry
    .hidden cc__ctx_entry
    .type   cc__ctx_entry, @function
cc__ctx_entry:                          # first instruction of a new context: s1 = fn, s2 = arg
    .cfi_startproc
    .cfi_undefined ra
    mv      a0, s2
    jalr    s1
    ebreak
    .cfi_endproc
    .size   cc__ctx_entry, . - cc__ctx_entry

    .section .note.GNU-stack, "", @progbits
