/* SPDX-License-Identifier: MIT */
/* echo_64: 64 connections, a message of 64 bytes under way on each. */
#include "ours/echo.h"

int main(void) {
    return echo_main(64);
}
