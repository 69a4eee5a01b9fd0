// SPDX-License-Identifier: MIT

// select8_ready: one goroutine sends to one of eight buffered channels, then selects over all of them: one is ready.
package main

import "fmt"

const (
	times = 5
	turns = 500000
)

func run(turns int) {
	var c [8]chan int64
	for i := range c {
		c[i] = make(chan int64, 16)
	}
	var x, sum int64
	for i := 0; i < turns; i++ {
		c[i%8] <- int64(i)
		which := 0
		select {
		case x = <-c[0]:
		case x = <-c[1]:
			which = 1
		case x = <-c[2]:
			which = 2
		case x = <-c[3]:
			which = 3
		case x = <-c[4]:
			which = 4
		case x = <-c[5]:
			which = 5
		case x = <-c[6]:
			which = 6
		case x = <-c[7]:
			which = 7
		}
		check(which == i%8, "not the case that was ready")
		sum += x
	}
	check(sum == int64(turns)*int64(turns-1)/2, "not the sum of what was sent")
}

func main() {
	fmt.Printf("select8_ready %.6g ns\n", quickestNs(run, turns, times)/turns)
}
