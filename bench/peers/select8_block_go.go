// SPDX-License-Identifier: MIT

// select8_block: one goroutine selects over eight unbuffered channels and replies; another sends to them in turn, and
// waits for each reply: so each select has to wait. There is room for the reply, or who replies would wait, and then
// find the next sender waiting.
package main

import (
	"fmt"
	"sync"
)

const (
	times = 15
	turns = 200000
)

func selector(c *[8]chan int64, reply chan int64, turns int) {
	var x, sum int64
	for i := 0; i < turns; i++ {
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
		check(which == i%8, "not the case whose channel was sent to")
		sum += x
		reply <- sum
	}
}

func sender(c *[8]chan int64, reply chan int64, turns int) {
	var sum int64
	for i := 0; i < turns; i++ {
		c[i%8] <- int64(i)
		sum = <-reply
	}
	check(sum == int64(turns)*int64(turns-1)/2, "not the sum of what was sent")
}

func run(turns int) {
	var c [8]chan int64
	for i := range c {
		c[i] = make(chan int64)
	}
	reply := make(chan int64, 1)
	var done sync.WaitGroup
	done.Add(2)
	go func() { selector(&c, reply, turns); done.Done() }()
	go func() { sender(&c, reply, turns); done.Done() }()
	done.Wait()
}

func main() {
	fmt.Printf("select8_block %.6g ns\n", quickestNs(run, turns, times)/turns)
}
