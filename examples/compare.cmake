# SPDX-License-Identifier: MIT
# Run PROGRAM and compare what it prints with the file EXPECTED.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ended with ${code}")
elseif(NOT output STREQUAL expected)
    message(FATAL_ERROR "expected:\n${expected}\nprinted:\n${output}")
endif()
