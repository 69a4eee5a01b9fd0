/* SPDX-License-Identifier: MIT */
/* For coverage builds, where the build puts it before a test's first line (-include): what a process
 * counted is kept also if it ends by abort() or _exit(), as the children of tests do. libgcov writes its
 * files at exit() only.
 *
 * A process that is killed by another signal still loses what it counted. */
#ifndef CCRT_TESTS_COVER_ABORT_H
#define CCRT_TESTS_COVER_ABORT_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Of libgcov. */
void __gcov_dump(void);

/* abort() raises the signal once more, with the default in place, when this returns. */
static void cover_abort(int sig) {
    (void)sig;
    __gcov_dump();
}

__attribute__((constructor)) static void cover_abort_begin(void) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = cover_abort;
    ours.sa_flags = SA_ONSTACK | (int)SA_RESETHAND;
    sigaction(SIGABRT, &ours, NULL);
}

#define _exit(status) (__gcov_dump(), _exit(status))

#endif /* CCRT_TESTS_COVER_ABORT_H */
