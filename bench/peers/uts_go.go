// SPDX-License-Identifier: MIT

// uts: a goroutine for each child but the last, and a channel by which its parent hears how many there are below it.
package main

import "fmt"

const (
	nodes = 2768986
	depth = 10
	most  = 100
	times = 3
	root  = 0x118e846ea93bc949
)

func child(node uint64, i int) uint64 {
	x := node + uint64(i+1)*0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func children(node uint64, level int) int {
	draw, bound, count := node>>32, uint64(3435973836), 0
	if level == depth {
		return 0
	}
	for ; draw < bound && count < most; count++ {
		bound = bound * 52429 >> 16
	}
	return count
}

func visit(node uint64, level int) int {
	count := children(node, level)
	if count == 0 {
		return 1
	}
	below := make(chan int, count)
	for i := 0; i+1 < count; i++ {
		go func(i int) { below <- visit(child(node, i), level+1) }(i)
	}
	sum := 1 + visit(child(node, count-1), level+1)
	for i := 0; i+1 < count; i++ {
		sum += <-below
	}
	return sum
}

func run(int) { check(visit(root, 0) == nodes, "not all nodes") }

func main() {
	fmt.Printf("uts %.6g ns\n", quickestNs(run, nodes, times)/nodes)
}
