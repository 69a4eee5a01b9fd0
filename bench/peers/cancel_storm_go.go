// SPDX-License-Identifier: MIT

// cancel_storm: a hundred thousand goroutines that wait to receive, cancelled by their context and waited for. Spawning
// them, until all have begun, is timed as well.
package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	goroutines = 100000
	times      = 5
)

func storm() (spawn, cancelled time.Duration) {
	start := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	c, allBegun := make(chan int64), make(chan bool, 1)
	var begun, ended int64
	var done sync.WaitGroup
	done.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go func() {
			defer done.Done()
			if atomic.AddInt64(&begun, 1) == goroutines {
				allBegun <- true
			}
			select {
			case <-c:
			case <-ctx.Done():
				atomic.AddInt64(&ended, 1)
			}
		}()
	}
	<-allBegun
	middle := time.Now()
	cancel()
	done.Wait()
	check(ended == goroutines, "not all were cancelled")
	return middle.Sub(start), time.Since(middle)
}

func main() {
	spawn, cancelled := time.Hour, time.Hour
	for i := 0; i < times; i++ {
		s, c := storm()
		if s < spawn {
			spawn = s
		}
		if c < cancelled {
			cancelled = c
		}
	}
	fmt.Printf("cancel_storm %.6g ns\nspawn %.6g ns\n", float64(cancelled.Nanoseconds())/goroutines,
		float64(spawn.Nanoseconds())/goroutines)
}
