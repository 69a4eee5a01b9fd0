// SPDX-License-Identifier: MIT

// skynet: a tree of goroutines, each with ten children, down to a million leaves. Each sends a number to its parent
// by a channel: a leaf its own, another the sum of what it receives.
package main

import "fmt"

const (
	times  = 3
	leaves = 1000000
	fanOut = 10
)

func sumOfChildren(first, leaves int64) int64 {
	c := make(chan int64, fanOut)
	part := leaves / fanOut
	for i := int64(0); i < fanOut; i++ {
		go node(c, first+i*part, part)
	}
	var sum int64
	for i := 0; i < fanOut; i++ {
		sum += <-c
	}
	return sum
}

func node(parent chan<- int64, first, leaves int64) {
	if leaves == 1 {
		parent <- first
	} else {
		parent <- sumOfChildren(first, leaves)
	}
}

func run(leaves int) {
	check(sumOfChildren(0, int64(leaves)) == int64(leaves)*int64(leaves-1)/2, "not the sum of all leaves")
}

func main() {
	fmt.Printf("skynet %.6g ms\n", quickestNs(run, leaves, times)/1e6)
}
