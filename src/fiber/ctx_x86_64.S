/* SPDX-License-Identifier: MIT */
/* Context switch for x86-64, System V. ctx.h enters it by a jump, with the place to go on at in rcx.
 *
 * The saved frame, from the saved stack pointer upwards: rbp, next instruction, and 128 bytes that may
 * be the red zone of the function that left, which makes no call here and so need not have moved its
 * stack pointer. The other registers are the compiler's to save: ctx.h says they are lost.
 *
 * The .cfi lines hold at every instruction on both stacks, whose frames are alike, so that a debugger
 * unwinds through a switch and through a parked context.
 *
 * Built with -fcf-protection, the object says that it keeps to indirect branch tracking, and does not
 * say so of shadow stacks: the linker then leaves those off for the whole program. */

#if defined(__CET__) && (__CET__ & 1)
#define LANDING endbr64
#define JUMP    notrack jmp
#else
#define LANDING
#define JUMP    jmp
#endif

    .text
    .p2align 4
    .globl  cc__ctx_jump
    .hidden cc__ctx_jump
    .type   cc__ctx_jump, @function
cc__ctx_jump:                           /* (rdi: from, rsi: to, rcx: where `from` goes on) */
    .cfi_startproc
    .cfi_def_cfa_offset 0
    .cfi_register rip, rcx
    subq    $128, %rsp
    .cfi_adjust_cfa_offset 128
    pushq   %rcx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rip, 0
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    movq    %rsp, (%rdi)
    movq    (%rsi), %rsp
    .globl  cc__ctx_resume
    .hidden cc__ctx_resume
cc__ctx_resume:                         /* where a parked context is: debuggers start unwinding here */
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbp
    popq    %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    subq    $-128, %rsp
    .cfi_adjust_cfa_offset -128
    JUMP    *%rcx
    .cfi_endproc
    .size   cc__ctx_jump, . - cc__ctx_jump

    .p2align 4
    .globl  cc__ctx_entry
    .hidden cc__ctx_entry
    .type   cc__ctx_entry, @function
cc__ctx_entry:                          /* first instruction of a new context, on top of: fn, arg */
    .cfi_startproc
    .cfi_undefined rip                  /* the end of the stack: unwinders stop here */
    LANDING
    movq    8(%rsp), %rdi
    xorl    %ebp, %ebp
    callq   *(%rsp)
    ud2
    .cfi_endproc
    .size   cc__ctx_entry, . - cc__ctx_entry

    .section .note.GNU-stack, "", @progbits

#if defined(__CET__) && (__CET__ & 1)
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5                    /* name and descriptor lengths, NT_GNU_PROPERTY_TYPE_0 */
    .asciz  "GNU"
    .long   0xc0000002, 4, 1, 0         /* GNU_PROPERTY_X86_FEATURE_1_AND: IBT */
#endif
