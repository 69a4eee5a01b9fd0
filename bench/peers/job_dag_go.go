// SPDX-License-Identifier: MIT

// job_dag: a goroutine for each tile. One way, the last of those that it depends on starts it. The other, `waiting`:
// all are started at once, and each waits for a WaitGroup of those it depends on.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	side    = 100
	tiles   = side * side
	width   = 16
	length  = side * width
	longest = 1041
	times   = 5
)

var (
	text     [2][length]byte
	table    [length + 1][length + 1]uint16 // with a row and a column of zeros
	waitsFor [tiles]int32
	before   [tiles]sync.WaitGroup
	all      sync.WaitGroup
)

func tile(row, column int) {
	for y := row * width; y < (row+1)*width; y++ {
		here, above := &table[y+1], &table[y]
		for x := column * width; x < (column+1)*width; x++ {
			if text[0][y] == text[1][x] {
				here[x+1] = above[x] + 1
			} else if above[x+1] > here[x] {
				here[x+1] = above[x+1]
			} else {
				here[x+1] = here[x]
			}
		}
	}
}

func edges(i int) int {
	n := 0
	if i/side > 0 {
		n++
	}
	if i%side > 0 {
		n++
	}
	return n
}

func spawned(i int) {
	tile(i/side, i%side)
	if i/side+1 < side && atomic.AddInt32(&waitsFor[i+side], -1) == 0 {
		go spawned(i + side)
	}
	if i%side+1 < side && atomic.AddInt32(&waitsFor[i+1], -1) == 0 {
		go spawned(i + 1)
	}
	all.Done()
}

func waits(i int) {
	before[i].Wait()
	tile(i/side, i%side)
	if i/side+1 < side {
		before[i+side].Done()
	}
	if i%side+1 < side {
		before[i+1].Done()
	}
	all.Done()
}

func spawnAsReady() {
	for i := range waitsFor {
		waitsFor[i] = int32(edges(i))
	}
	all.Add(tiles)
	go spawned(0)
	all.Wait()
}

func spawnAll() {
	for i := range before {
		before[i].Add(edges(i))
	}
	all.Add(tiles)
	for i := 0; i < tiles; i++ {
		go waits(i)
	}
	all.Wait()
}

// Compute all tiles some times: the quickest, by their number.
func tileNs(compute func()) float64 {
	quickest := 0.0
	for i := -1; i < times; i++ {
		for y := range table {
			table[y] = [length + 1]uint16{}
		}
		start := time.Now()
		compute()
		taken := float64(time.Since(start).Nanoseconds())
		check(table[length][length] == longest, "not the length of the longest subsequence")
		if i <= 0 || taken < quickest {
			quickest = taken
		}
	}
	return quickest / tiles
}

func main() {
	x := uint64(88172645463325252)
	for i := 0; i < 2*length; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		text[i%2][i/2] = byte(x >> 62)
	}
	fmt.Printf("job_dag %.6g ns\n", tileNs(spawnAsReady))
	fmt.Printf("waiting %.6g ns\n", tileNs(spawnAll))
}
