// SPDX-License-Identifier: MIT

// nursery: a WaitGroup, a thousand goroutines of it, and waiting for them, again and again. The first error
// would be kept, as a nursery does.
package main

import (
	"fmt"
	"sync"
)

const (
	groups     = 200
	goroutines = 1000
	times      = 5
)

// A WaitGroup that keeps the first error of its goroutines.
type group struct {
	done  sync.WaitGroup
	once  sync.Once
	first error
}

func (g *group) spawn(f func() error) {
	g.done.Add(1)
	go func() {
		defer g.done.Done()
		if err := f(); err != nil {
			g.once.Do(func() { g.first = err })
		}
	}()
}

var marks [goroutines]int

func one(number int) {
	var g group
	for i := 0; i < goroutines; i++ {
		id := i
		g.spawn(func() error { marks[id] = number; return nil })
	}
	g.done.Wait()
	check(g.first == nil, "a goroutine failed")
	for _, mark := range marks {
		check(mark == number, "a goroutine did not run")
	}
}

func main() {
	number := 0
	run := func(groups int) {
		for i := 0; i < groups; i++ {
			number++
			one(number)
		}
	}
	fmt.Printf("nursery %.6g ns\n", quickestNs(run, groups, times)/(groups*goroutines))
}
