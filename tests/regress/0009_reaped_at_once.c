/* SPDX-License-Identifier: MIT */
/* Goal: a call on a file that the kernel makes (driver/files.c) is seen whole by another thread that takes its result
 * before the caller has come to wait. Nothing that C11 knows of ordered what the two write into the call: on the
 * machine the kernel does, but ThreadSanitizer reported a data race.
 * Method: a thread takes what is over, all the while; another asks for calls, and looks at each only when it must long
 * be over. Without io_uring there is nothing to see.
 */
#include "test.h"

#include "driver/files.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static struct cc__files files;
static _Atomic int ended; /* W: the test */

static void *reaps(void *arg) {
    struct cc__claims woken = {0};
    while (cc__load_relaxed(&ended) == 0) cc__files_reap(&files, &woken);
    assert_null(woken.first); /* nobody waits */
    return arg;
}

static bool is_over(struct cc__files_call *call) {
    cc__waitlist_lock(&files.over);
    bool over = call->over;
    cc__waitlist_unlock(&files.over);
    return over;
}

static void a_call_is_reaped_before_its_caller_looks(void **state) {
    (void)state;
    pthread_t thread;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    cc__files_init(&files);
    if (cc__files_start(&files) != 0) skip();
    assert_int_equal(pthread_create(&thread, NULL, reaps, NULL), 0);
    for (int i = 0; i < 100; i++) {
        struct cc__files_call call;
        struct cc__file_call what = {.what = CC__FILE_WRITE, .fd = fd, .buf = (char[]){"x"}, .n = 1};
        assert_int_equal(cc__files_ask(&files, &call, &what), 0);
        usleep(200);
        while (!is_over(&call)) usleep(200);
        assert_int_equal(call.result, 1);
    }
    cc__store_relaxed(&ended, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    cc__files_end(&files);
    close(fd);
}

TEST_MAIN(cmocka_unit_test(a_call_is_reaped_before_its_caller_looks))
