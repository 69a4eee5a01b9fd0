// SPDX-License-Identifier: MIT

// spawn_join: one goroutine starts a goroutine and waits for its result, one after the other.
package main

import "fmt"

const (
	times = 5
	turns = 100000
)

func run(turns int) {
	result := make(chan int)
	for i := 0; i < turns; i++ {
		go func(id int) { result <- id }(i)
		check(<-result == i, "not its result")
	}
}

func main() {
	fmt.Printf("spawn_join %.6g ns\n", quickestNs(run, turns, times)/turns)
}
