// SPDX-License-Identifier: MIT

// chan: one sender and one receiver, or four of each, at one buffered channel until it is closed; so long a message.
package main

import (
	"fmt"
	"sync"
)

const (
	times    = 31
	messages = 400000
)

func stream(messages, sides, capacity int) {
	c := make(chan int64, capacity)
	sums := make([]int64, sides)
	each := messages / sides
	var senders, receivers sync.WaitGroup
	senders.Add(sides)
	receivers.Add(sides)
	for i := 0; i < sides; i++ {
		go func(id int) {
			var sum int64
			for x := range c {
				sum += x
			}
			sums[id] = sum
			receivers.Done()
		}(i)
		go func(from, to int) {
			for x := from; x < to; x++ {
				c <- int64(x)
			}
			senders.Done()
		}(i*each, (i+1)*each)
	}
	senders.Wait()
	close(c)
	receivers.Wait()
	var sum int64
	for _, s := range sums {
		sum += s
	}
	check(sum == int64(messages)*int64(messages-1)/2, "not the sum of what was sent")
}

func measure(name string, sides, capacity int) {
	run := func(messages int) { stream(messages, sides, capacity) }
	fmt.Printf("%s %.6g ns\n", name, quartileNs(run, messages, times)/messages)
}

func main() {
	measure("1x1_128", 1, 128)
	measure("1x1_1024", 1, 1024)
	measure("4x4_128", 4, 128)
	measure("4x4_1024", 4, 1024)
}
