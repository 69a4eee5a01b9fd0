// SPDX-License-Identifier: MIT

// sleep_1m: a million goroutines that each sleep once, for 1 to 1,000 ms; from the first start until all have ended.
package main

import (
	"fmt"
	"sync"
	"time"
)

const (
	goroutines = 1000000
	longestMs  = 1000
)

var marks [goroutines]byte

func main() {
	var done sync.WaitGroup
	done.Add(goroutines)
	start, startCpu := time.Now(), cpuNs()
	for i := 0; i < goroutines; i++ {
		go func(id int) {
			time.Sleep(time.Duration(1+id%longestMs) * time.Millisecond)
			marks[id] = 1
			done.Done()
		}(i)
	}
	done.Wait()
	wall, cpu := float64(time.Since(start).Nanoseconds()), cpuNs()-startCpu

	check(wall >= longestMs*1e6, "some slept too short")
	for _, mark := range marks {
		check(mark == 1, "a goroutine did not sleep")
	}
	fmt.Printf("wall %.6g ms\ncpu %.6g ms\n", wall/1e6, cpu/1e6)
}
