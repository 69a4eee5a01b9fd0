// SPDX-License-Identifier: MIT

// parked_1m: a million goroutines that all wait on a channel, then end: time to create one, and its memory.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const goroutines = 1000000

func main() {
	var started, done sync.WaitGroup
	var ended int64
	started.Add(goroutines)
	done.Add(goroutines)
	release := make(chan struct{})

	start := time.Now()
	for i := 0; i < goroutines; i++ {
		go func() {
			started.Done()
			<-release
			atomic.AddInt64(&ended, 1)
			done.Done()
		}()
	}
	started.Wait()
	fmt.Printf("create %.6g ns\n", float64(time.Since(start).Nanoseconds())/goroutines)
	reportMemory(goroutines)
	check(atomic.LoadInt64(&ended) == 0, "not all goroutines are parked")
	close(release)
	done.Wait()
	check(ended == goroutines, "not all goroutines ended")
}
