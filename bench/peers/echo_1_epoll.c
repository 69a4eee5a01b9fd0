/* SPDX-License-Identifier: MIT */
/* echo_1 by a bare epoll loop on one thread. */
#define _GNU_SOURCE
#include "echo_epoll.h"

int main(void) {
    return echo_main("echo_1", 1);
}
