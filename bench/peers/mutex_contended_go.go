// SPDX-License-Identifier: MIT

// mutex_contended: eight goroutines that all want one sync.Mutex, and hold it for an addition.
package main

import (
	"fmt"
	"sync"
)

const (
	goroutines = 8
	locks      = 100000
	times      = 31
)

var (
	mu      sync.Mutex
	counted int
)

func run(locks int) {
	var done sync.WaitGroup
	counted = 0
	done.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go func() {
			for i := 0; i < locks; i++ {
				mu.Lock()
				counted++
				mu.Unlock()
			}
			done.Done()
		}()
	}
	done.Wait()
	check(counted == goroutines*locks, "two had it at once")
}

func main() {
	fmt.Printf("mutex_contended %.6g ns\n", quartileNs(run, locks, times)/(goroutines*locks))
}
