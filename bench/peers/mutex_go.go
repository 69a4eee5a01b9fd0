// SPDX-License-Identifier: MIT

// mutex: one goroutine locks and unlocks a sync.Mutex that nobody else wants.
package main

import (
	"fmt"
	"sync"
)

const (
	locks = 1000000
	times = 7
)

var (
	mu      sync.Mutex
	counted int
)

func run(locks int) {
	counted = 0
	for i := 0; i < locks; i++ {
		mu.Lock()
		counted++
		mu.Unlock()
	}
	check(counted == locks, "it was not locked so often")
}

func main() {
	fmt.Printf("mutex %.6g ns\n", quickestNs(run, locks, times)/locks)
}
