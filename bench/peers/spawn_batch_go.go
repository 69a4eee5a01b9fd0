// SPDX-License-Identifier: MIT

// spawn_batch: one goroutine starts a hundred thousand and waits for all. Each only leaves a mark.
package main

import (
	"fmt"
	"sync"
)

const (
	goroutines = 100000
	times      = 10
)

var marks [goroutines]byte

func run(goroutines int) {
	marks = [len(marks)]byte{}
	var done sync.WaitGroup
	done.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go func(id int) {
			marks[id] = 1
			done.Done()
		}(i)
	}
	done.Wait()
	for _, mark := range marks[:goroutines] {
		check(mark == 1, "a goroutine did not run")
	}
}

func main() {
	fmt.Printf("spawn_batch %.6g ns\n", quickestNs(run, goroutines, times)/goroutines)
}
