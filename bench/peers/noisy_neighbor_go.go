// SPDX-License-Identifier: MIT

// noisy_neighbor: eight goroutines compute for a second, and one beats beside them.
package main

import (
	"sync"
	"sync/atomic"
	"time"
)

const hogs = 8

func main() {
	var stop int32
	var h heart
	var done sync.WaitGroup
	beating := make(chan bool)
	go h.beat(beating)
	time.Sleep(beatEvery)
	done.Add(hogs)
	for i := 0; i < hogs; i++ {
		go func() {
			x := uint64(1)
			for atomic.LoadInt32(&stop) == 0 {
				x = x*6364136223846793005 + 1
			}
			sink(x)
			done.Done()
		}()
	}
	time.Sleep(time.Second)
	atomic.StoreInt32(&h.stop, 1)
	<-beating
	atomic.StoreInt32(&stop, 1)
	done.Wait()
	h.report()
}
