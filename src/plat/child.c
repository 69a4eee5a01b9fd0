/* SPDX-License-Identifier: MIT */
/* Child processes, by posix_spawn(): nothing of ours runs in the child, which shares our memory until it is exec'd.
 * Workers have all signals blocked, and a child would inherit that: it gets none blocked, and all at their defaults. It
 * would inherit the cpu, too, that its worker may be bound to: so the worker is not, for that time.
 *
 * Prev: plat/sigfd.c  Next: fiber/ctx.h */
#include "child.h"

#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int describe(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, const struct cc__child_plan *plan) {
    sigset_t none, all;
    int err = 0;
    sigemptyset(&none);
    sigfillset(&all);
    for (int i = 0; i < 3 && err == 0; i++)
        if (plan->fd[i] >= 0) err = posix_spawn_file_actions_adddup2(files, plan->fd[i], i);
    if (err == 0 && plan->dir != NULL) err = posix_spawn_file_actions_addchdir_np(files, plan->dir);
    if (err == 0) err = posix_spawnattr_setsigmask(attr, &none);
    if (err == 0) err = posix_spawnattr_setsigdefault(attr, &all);
    if (err == 0) err = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return err;
}

pid_t cc__child_start(const struct cc__child_plan *plan) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    pid_t pid = -1;
    int saved = errno;
    if (posix_spawn_file_actions_init(&files) != 0) return -ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return -ENOMEM;
    }
    int err = describe(&files, &attr, plan);
    char *const *argv = (char *const *)plan->argv, *const *env = plan->env == NULL ? environ : (char *const *)plan->env;
    void *cpu = cc__thread_unpin();
    if (err == 0) err = posix_spawnp(&pid, argv[0], &files, &attr, argv, env);
    cc__thread_pin_again(cpu);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    errno = saved;
    return err != 0 ? -err : pid;
}

int cc__child_fd(pid_t pid) {
    int saved = errno;
    long fd = syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) fd = -errno;
    errno = saved;
    return (int)fd;
}

int cc__child_reap(pid_t pid, int *status) {
    int saved = errno;
    pid_t rc;
    do rc = waitpid(pid, status, WNOHANG);
    while (rc < 0 && errno == EINTR);
    int out = rc < 0 ? -errno : rc == pid;
    errno = saved;
    return out;
}

int cc__child_kill(pid_t pid, int signo) {
    int saved = errno, rc = kill(pid, signo) < 0 ? -errno : 0;
    errno = saved;
    return rc;
}
