// SPDX-License-Identifier: MIT

// herd: a thousand goroutines that wait for one sync.Cond, of which one is woken, or all; as herd.h has it.
package main

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

const (
	herdSize = 1000
	oneTimes = 2000
	allTimes = 20
)

var (
	mu                     sync.Mutex
	herd                   = sync.NewCond(&mu)
	shepherd               = sync.NewCond(&mu)
	waiting, calls, rounds int
	ended                  bool
	woken                  time.Time
	done                   sync.WaitGroup
)

func graze() {
	mu.Lock()
	for seen := rounds; !ended; {
		waiting++
		if waiting == herdSize {
			shepherd.Signal()
		}
		for calls == 0 && rounds == seen && !ended {
			herd.Wait()
		}
		woken = time.Now()
		if rounds == seen {
			calls = 0
		}
		seen = rounds
	}
	mu.Unlock()
	done.Done()
}

func gather() {
	for waiting < herdSize {
		shepherd.Wait()
	}
}

func callOne() float64 {
	waiting--
	calls = 1
	start := time.Now()
	herd.Signal()
	gather()
	return float64(woken.Sub(start).Nanoseconds())
}

func callAll() float64 {
	waiting = 0
	rounds++
	start := time.Now()
	herd.Broadcast()
	gather()
	return float64(time.Since(start).Nanoseconds())
}

func main() {
	done.Add(herdSize)
	for i := 0; i < herdSize; i++ {
		go graze()
	}
	mu.Lock()
	gather()
	one, all := make([]float64, oneTimes), make([]float64, allTimes)
	for i := range one {
		one[i] = callOne()
	}
	for i := range all {
		all[i] = callAll()
	}
	ended = true
	herd.Broadcast()
	mu.Unlock()
	done.Wait()
	sort.Float64s(one)
	sort.Float64s(all)
	check(one[0] > 0, "it woke before it was woken")
	fmt.Printf("one %.6g ns\none_p99 %.6g ns\nall %.6g ns\n", one[oneTimes/2], one[oneTimes*99/100], all[allTimes/2])
}
