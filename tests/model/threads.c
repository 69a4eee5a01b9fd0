/* SPDX-License-Identifier: MIT */
/* The scenario's threads: stacks that one real thread switches between.
 *
 * A thread that has said what it wants to do next lies still, its stack pointer in mc.thread[]; the driver,
 * which is mc_explore(), has the process's own stack. An execution that fails or is given up just leaves
 * all stacks as they are; the next one begins them anew.
 *
 * Code under test may switch stacks itself, by the library's switch or any other: where a thread was when
 * it stopped is a stack pointer, whoever that stack belongs to. A fiber that one thread suspends and
 * another resumes therefore works, and its frames are plain memory to race.c: two threads on one stack are
 * a race.
 *
 * What lies below the frames of a thread that waits is left over from functions that have returned, as is all of the
 * stack of a thread that has ended: who accesses that has kept a pointer for too long.
 *
 * Thread-locals of the program are exchanged at each switch (image.c).
 *
 * A crash of the code under test (the alternate stack is for overflows of ours) ends the execution like a
 * failed assertion, with a replay string.
 *
 * The switch is six registers and a return; x86-64 only, as is the checker. */
#include "internal.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 64 * 1024, STRIDE = STACK_BYTES + GUARD_BYTES };
enum { EXTRA_STACKS = 8, EXTRA_BYTES = 64 * 1024 };

static char *stacks;       /* all of them, each above its guard */
static char *extra_stacks; /* for mc_stack() */
static size_t extra_used;

void mc__switch(void **save, void *to);
__asm__(".text\n"
        ".type mc__switch, @function\n"
        ".hidden mc__switch\n"
        "mc__switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size mc__switch, . - mc__switch\n");

static void crash(int signal, siginfo_t *info, void *context) {
    const ucontext_t *uc = context;
    if (!mc.running) { /* not the scenario's: die of it */
        struct sigaction deadly = {.sa_handler = SIG_DFL};
        sigaction(signal, &deadly, NULL);
        return;
    }
    mc__fail(MC_CRASH, (const void *)uc->uc_mcontext.gregs[REG_RIP], "%s at address %p",
             signal == SIGFPE   ? "arithmetic fault"
             : signal == SIGILL ? "illegal instruction"
                                : "memory fault",
             info->si_addr);
}

static void crash_install(void) {
    static char alternate[64 * 1024];
    stack_t ss = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&ss, NULL);
    /* SA_NODEFER: the handler does not return, and must run again in a later execution. */
    struct sigaction sa = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) sigaction(signals[i], &sa, NULL);
}

static char *map(size_t bytes) {
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) mc__die("out of memory for stacks");
    return at;
}

void mc__threads_init(void) {
    if (stacks != NULL) return;
    stacks = map((size_t)MC__ALL * STRIDE);
    for (unsigned i = 0; i < MC__ALL; i++) mprotect(stacks + (size_t)i * STRIDE, GUARD_BYTES, PROT_NONE);
    extra_stacks = map((size_t)EXTRA_STACKS * EXTRA_BYTES);
    crash_install();
}

void mc__threads_reset(void) {
    for (unsigned i = 0; i < MC__ALL; i++) mc__thread_clear(i);
    mc.threads = 0;
    extra_used = 0;
}

void mc__thread_clear(unsigned tid) {
    struct mc__thread *t = &mc.thread[tid];
    memset(t, 0, sizeof *t);
    t->tid = tid;
    t->last = -1;
    t->stack = stacks + (size_t)tid * STRIDE + GUARD_BYTES;
}

/* Whether all threads are on their own stacks. */
bool mc__threads_can_tape(void) {
    bool can = extra_used == 0;
    for (unsigned i = 0; i < mc.threads; i++) {
        const struct mc__thread *t = &mc.thread[i];
        can = can && (t->done || (size_t)((char *)t->sp - t->stack) < STACK_BYTES);
    }
    return can;
}

/* The stacks of those that have not ended, what is in use of them. */
void mc__threads_tape(struct mc__tape *tape) {
    for (unsigned i = 0; i < mc.threads; i++) {
        const struct mc__thread *t = &mc.thread[i];
        if (!t->done) mc__tape(tape, t->sp, (size_t)(t->stack + STACK_BYTES - (char *)t->sp));
    }
}

void *mc_stack(size_t bytes) {
    bytes = (bytes + 63) & ~(size_t)63;
    if (extra_used + bytes > (size_t)EXTRA_STACKS * EXTRA_BYTES) mc__die("too much asked of mc_stack()");
    void *at = extra_stacks + extra_used;
    extra_used += bytes;
    return at;
}

/* A thread's stack below its frames, or that of one that has ended: what was there is gone. */
void mc__stack_check(uintptr_t addr, const void *pc) {
    uintptr_t offset = addr - (uintptr_t)stacks;
    if (offset >= (uintptr_t)MC__MAIN * STRIDE) return;
    const struct mc__thread *t = &mc.thread[offset / STRIDE];
    uintptr_t frame = t->tid == mc.self ? (uintptr_t)__builtin_frame_address(0) : t->frame;
    bool here = frame - (uintptr_t)t->stack < STACK_BYTES; /* and not on another stack */
    if (mc.by_states && t->tid != mc.self) mc__die(".states, and a thread accesses another's stack");
    if (t->done || (here && addr < frame))
        mc__fail(MC_USE_AFTER_FREE, pc, "an access by T%u to %s, of a function that has returned", mc.self,
                 mc__trace_name(addr));
}

bool mc__stack_describe(uintptr_t addr, char *text, size_t size) {
    uintptr_t base = (uintptr_t)stacks;
    if (stacks == NULL || addr < base || addr >= base + (uintptr_t)MC__ALL * STRIDE) {
        bool extra = stacks != NULL && addr - (uintptr_t)extra_stacks < extra_used;
        if (extra) snprintf(text, size, "mc_stack+%#zx", (size_t)(addr - (uintptr_t)extra_stacks));
        return extra;
    }
    unsigned tid = (unsigned)((addr - base) / STRIDE);
    uintptr_t top = base + (uintptr_t)(tid + 1) * STRIDE;
    if (tid == MC__MAIN)
        snprintf(text, size, "setup's stack-%#zx", (size_t)(top - addr));
    else
        snprintf(text, size, "T%u's stack-%#zx", tid, (size_t)(top - addr));
    return true;
}

/* ---- switching ---- */

static void become(unsigned tid) {
    mc.self = tid;
    mc__image_thread(tid);
}

static void thread_main(void) {
    struct mc__thread *t = mc__self();
    if (t->body != NULL)
        t->body();
    else
        t->result = t->start(t->arg);
    mc__thread_end();
}

void mc__thread_prepare(unsigned tid) {
    struct mc__thread *t = &mc.thread[tid];
    void **sp = (void **)(void *)(t->stack + STACK_BYTES);
    *--sp = NULL; /* where thread_main() would return to; also, at entry the stack is 8 off a multiple of 16 */
    *--sp = (void *)(uintptr_t)thread_main;
    for (unsigned i = 0; i < 6; i++) *--sp = NULL;
    t->sp = sp;
}

void mc__thread_start(unsigned tid, void **from) {
    struct mc__thread *t = &mc.thread[tid];
    unsigned by = mc.self;
    t->starting = true;
    t->back = from;
    become(tid);
    mc__switch(from, t->sp);
    become(by);
}

void mc__thread_started(void) {
    struct mc__thread *t = mc__self();
    t->starting = false;
    mc__switch(&t->sp, *t->back);
}

void mc__thread_end(void) {
    struct mc__thread *t = mc__self();
    if (t->tid == MC__MAIN) mc__to_driver();
    mc__shims_thread_end();
    t->done = true;
    mc__trace(NULL, "ends");
    if (t->starting)
        mc__thread_started();
    else
        mc__go_on();
    __builtin_unreachable();
}

void mc__switch_to(unsigned tid) {
    struct mc__thread *from = mc__self();
    become(tid);
    mc__switch(&from->sp, mc.thread[tid].sp);
}

void mc__thread_pause(void) {
    mc__switch(&mc__self()->sp, mc.driver);
}

void mc__enter(unsigned tid) {
    become(tid);
    mc__switch(&mc.driver, mc.thread[tid].sp);
}

void mc__run_main(void (*body)(void)) {
    mc.thread[MC__MAIN].body = body;
    mc__thread_prepare(MC__MAIN);
    mc__enter(MC__MAIN);
}

void mc__to_driver(void) {
    void *gone;
    mc__switch(&gone, mc.driver);
    __builtin_unreachable();
}
