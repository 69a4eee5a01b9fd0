// SPDX-License-Identifier: MIT

// pingpong: two goroutines and two unbuffered channels; one sends a number, the other sends the next one back.
package main

import (
	"fmt"
	"sync"
)

const (
	times = 15
	turns = 200000
)

func run(turns int) {
	there, back := make(chan int64), make(chan int64)
	var done sync.WaitGroup
	done.Add(2)
	go func() {
		for x := range there {
			back <- x + 1
		}
		done.Done()
	}()
	go func() {
		var x int64
		for i := 0; i < turns; i++ {
			there <- x
			x = <-back
		}
		check(x == int64(turns), "not the number of turns")
		close(there)
		done.Done()
	}()
	done.Wait()
}

func main() {
	fmt.Printf("pingpong %.6g ns\n", quickestNs(run, turns, times)/turns)
}
