// SPDX-License-Identifier: MIT

// syscall_kidnap: a hundred goroutines sleep in the kernel, by plain system calls, ten times 100 ms each, and one beats
// beside them.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const sleepers, times, each = 100, 10, 100 * time.Millisecond

func main() {
	var h heart
	var done sync.WaitGroup
	beating := make(chan bool)
	go h.beat(beating)
	time.Sleep(beatEvery)
	done.Add(sleepers)
	for i := 0; i < sleepers; i++ {
		go func() {
			for k := 0; k < times; k++ {
				ts := syscall.NsecToTimespec(int64(each))
				syscall.Nanosleep(&ts, nil)
			}
			done.Done()
		}()
	}
	done.Wait()
	atomic.StoreInt32(&h.stop, 1)
	<-beating
	h.report()
	fmt.Printf("total %.6g ms\n", float64(h.took.Nanoseconds())/1e6)
}
