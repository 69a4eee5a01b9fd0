// SPDX-License-Identifier: MIT

// yield_mn: a hundred goroutines, each so many runtime.Gosched.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

const (
	goroutines = 100
	times      = 5
	yields     = 10000
)

func run(yields int) {
	var done sync.WaitGroup
	var yielded [goroutines]int
	done.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go func(id int) {
			n := 0
			for ; n < yields; n++ {
				runtime.Gosched()
			}
			yielded[id] = n
			done.Done()
		}(i)
	}
	done.Wait()
	for _, n := range yielded {
		check(n == yields, "a goroutine did not yield so often")
	}
}

func main() {
	fmt.Printf("yield_mn %.6g ns\n", quickestNs(run, yields, times)/(goroutines*yields))
}
