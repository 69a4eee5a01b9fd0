/* SPDX-License-Identifier: MIT */
/* echo_1: 1 connection, a message of 64 bytes under way on each. */
#include "ours/echo.h"

int main(void) {
    return echo_main(1);
}
