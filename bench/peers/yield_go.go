// SPDX-License-Identifier: MIT

// yield: two goroutines on one processor, a million runtime.Gosched each.
package main

import (
	"fmt"
	"runtime"
	"sync"
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
	fmt.Printf("yield %.6g ns\n", quickestNs(run, yields, times)/(2*yields))
}
