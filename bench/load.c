/* SPDX-License-Identifier: MIT */
/* The load as a program of its own, for servers that cannot fork it: load CONNECTIONS [idle]. It reads the port, two
 * bytes, from standard input, and writes its results to standard output. */
#define _GNU_SOURCE
#include "load.h"

int main(int argc, char **argv) {
    int connections = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    bench_check(connections > 0 && connections <= LOAD_MOST, "load CONNECTIONS [idle]");
    load_raise_limit();
    if (argc > 2)
        load_idle_main(STDIN_FILENO, STDOUT_FILENO, connections);
    else
        load_main(STDIN_FILENO, STDOUT_FILENO, connections);
    return 0;
}
