// SPDX-License-Identifier: MIT

// yield: two goroutines on one processor, a million runtime.Gosched each.
package main

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	times  = 3
	yields = 1000000
)

func run(yields int) {
	var done sync.WaitGroup
	for i := 0; i < 2; i++ {
		done.Add(1)
		go func() {
			for n := yields; n > 0; n-- {
				runtime.Gosched()
			}
			done.Done()
		}()
	}
	done.Wait()
}

func main() {
	runtime.GOMAXPROCS(1)
	run(yields / 10) // warm-up
	quickest := time.Duration(math.MaxInt64)
	for i := 0; i < times; i++ {
		start := time.Now()
		run(yields)
		if taken := time.Since(start); taken < quickest {
			quickest = taken
		}
	}
	fmt.Printf("yield %.6g ns\n", float64(quickest.Nanoseconds())/(2*yields))
}
