/* SPDX-License-Identifier: MIT */
/* Context switch for aarch64, AAPCS64. ctx.h enters it by a branch, with the place to go on at in x30.
 *
 * The saved frame, from the saved stack pointer upwards: x29 (frame pointer), x30 (next instruction).
 * See ctx_x86_64.S for the rest. */

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define LANDING hint #34                /* bti c */
#define JUMP    ret                     /* an indirect branch may only land on a bti */
#else
#define LANDING
#define JUMP    br x30
#endif

    .text
    .p2align 4
    .globl  cc__ctx_jump
    .hidden cc__ctx_jump
    .type   cc__ctx_jump, %function
cc__ctx_jump:                           // (x0: from, x1: to, x30: where `from` goes on)
    .cfi_startproc
    stp     x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov     x9, sp
    str     x9, [x0]
    ldr     x9, [x1]
    mov     sp, x9
    .globl  cc__ctx_resume
    .hidden cc__ctx_resume
cc__ctx_resume:
    ldp     x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    JUMP
    .cfi_endproc
    .size   cc__ctx_jump, . - cc__ctx_jump

    .p2align 4
    .globl  cc__ctx_entry
    .hidden cc__ctx_entry
    .type   cc__ctx_entry, %function
cc__ctx_entry:                          // first instruction of a new context, on top of: fn, arg
    .cfi_startproc
    .cfi_undefined x30
    LANDING
    ldp     x9, x0, [sp]
    blr     x9
    brk     #1
    .cfi_endproc
    .size   cc__ctx_entry, . - cc__ctx_entry

    .section .note.GNU-stack, "", %progbits

#if defined(__ARM_FEATURE_BTI_DEFAULT)
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000000, 4, 1, 0         // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
#endif
