/* SPDX-License-Identifier: MIT */
/* Of this library alone: the thread's variables, for what stands inline in the program. */
#ifndef CCRT_HERE_H
#define CCRT_HERE_H

/* CC_PRIV_HERE(out, name): a variable of this thread's, read each time: a task that has moved must not find that of the
 * thread it came from, so its address is never an expression of C that a compiler could keep. */
#if defined(__x86_64__) && defined(__LP64__)
#define CC_PRIV_HERE(out, name) __asm__ volatile("movq " #name "@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(out))
#elif defined(__aarch64__)
#define CC_PRIV_HERE(out, name)                                                                                        \
    do {                                                                                                               \
        void *cc_at_;                                                                                                  \
        __asm__ volatile("mrs %0, tpidr_el0\n\tadrp %1, :gottprel:" #name "\n\t"                                       \
                         "ldr %1, [%1, :gottprel_lo12:" #name "]\n\tldr %0, [%0, %1]"                                  \
                         : "=&r"(out), "=&r"(cc_at_));                                                                 \
    } while (0)
#elif defined(__riscv) && __riscv_xlen == 64
#define CC_PRIV_HERE(out, name)                                                                                        \
    __asm__ volatile("la.tls.ie %0, " #name "\n\tadd %0, %0, tp\n\tld %0, 0(%0)" : "=&r"(out))
#endif

/* CC_PRIV_TASK_HERE(out): the task or thread that runs here; 0: it is not known, or runs a cc_sched. A function is run
 * by one task from its beginning to its end, wherever that moves: so this may be kept, and a lock and its unlock read
 * it once. (But a function of a cc_sched is run by whoever steps that.) Where it is in a fiber: */
#define CC_PRIV_FIBER_UP 24
#define CC_PRIV_FIBER_TASK 32
#if defined(__x86_64__) && defined(__LP64__)
#define CC_PRIV_TASK_HERE(out)                                                                                         \
    __asm__("movq cc_priv_fiber_here@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0\n\ttestq %0, %0\n\tje 1f\n\t"           \
            "cmpq $0, %c1(%0)\n\tmovq %c2(%0), %0\n\tje 1f\n\txorl %k0, %k0\n1:"                                       \
            : "=&r"(out)                                                                                               \
            : "i"(CC_PRIV_FIBER_UP), "i"(CC_PRIV_FIBER_TASK)                                                           \
            : "cc")
#endif

/* 1: nothing stands inline. ThreadSanitizer sees what is called, and does not know the fences that stand inline. */
#if defined(__SANITIZE_THREAD__)
#define CC_PRIV_CALLS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CC_PRIV_CALLS 1
#endif
#endif
#ifndef CC_PRIV_CALLS
#define CC_PRIV_CALLS 0
#endif

#define CC_PRIV_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif /* CCRT_HERE_H */
