// SPDX-License-Identifier: MIT

// many: a million goroutines on one processor, all parked at once, then all ended.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

const goroutines = 1000000

func main() {
	runtime.GOMAXPROCS(1)
	var started, ended sync.WaitGroup
	started.Add(goroutines)
	ended.Add(goroutines)
	release := make(chan struct{})

	start := time.Now()
	for i := 0; i < goroutines; i++ {
		go func() {
			started.Done()
			<-release
			ended.Done()
		}()
	}
	started.Wait()
	fmt.Printf("create %.6g ns\n", float64(time.Since(start).Nanoseconds())/goroutines)
	reportMemory(goroutines)
	close(release)
	ended.Wait()
}
