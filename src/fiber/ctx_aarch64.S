/* SPDX-License-Identifier: MIT */
/* Context switch for aarch64, AAPCS64. ctx.h enters it by a branch, with the place to go on at in x30.
 *
 * The saved frame, from the saved stack pointer upwards: x19 to x28, x29 (frame pointer), x30 (next
 * instruction); 96 bytes. The vector registers are the compiler's to save: ctx.h says they are lost.
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
    sub     sp, sp, #96
    .cfi_def_cfa_offset 96
    stp     x19, x20, [sp, #0]
    stp     x21, x22, [sp, #16]
    stp     x23, x24, [sp, #32]
    stp     x25, x26, [sp, #48]
    stp     x27, x28, [sp, #64]
    stp     x29, x30, [sp, #80]
    .cfi_offset x19, -96
    .cfi_offset x20, -88
    .cfi_offset x21, -80
    .cfi_offset x22, -72
    .cfi_offset x23, -64
    .cfi_offset x24, -56
    .cfi_offset x25, -48
    .cfi_offset x26, -40
    .cfi_offset x27, -32
    .cfi_offset x28, -24
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov     x9, sp
    str     x9, [x0]
    ldr     x9, [x1]
    mov     sp, x9
    .globl  cc__ctx_resume
    .hidden cc__ctx_resume
cc__ctx_resume:
    ldp     x19, x20, [sp, #0]
    ldp     x21, x22, [sp, #16]
    ldp     x23, x24, [sp, #32]
    ldp     x25, x26, [sp, #48]
    ldp     x27, x28, [sp, #64]
    ldp     x29, x30, [sp, #80]
    add     sp, sp, #96
    .cfi_def_cfa_offset 0
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore x29
    .cfi_restore x30
    JUMP
    .cfi_endproc
    .size   cc__ctx_jump, . - cc__ctx_jump

    .p2align 4
    .globl  cc__ctx_entry
    .hidden cc__ctx_entry
    .type   cc__ctx_entry, %function
cc__ctx_entry:                          // first instruction of a new context: x19 = fn, x20 = arg
    .cfi_startproc
    .cfi_undefined x30
    LANDING
    mov     x0, x20
    blr     x19
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
