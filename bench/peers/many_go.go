// SPDX-License-Identifier: MIT

// many: a million goroutines on one processor, all parked at once, then all ended.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

const goroutines = 1000000

func statusBytes(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	var kib float64
	at := strings.Index(string(status), field+":")
	fmt.Sscanf(string(status[at+len(field)+1:]), "%f", &kib)
	return kib * 1024
}

func main() {
	runtime.GOMAXPROCS(1)
	var started, ended sync.WaitGroup
	started.Add(goroutines)
	ended.Add(goroutines)
	release := make(chan struct{})

	start := time.Now()
	for i := 0; i < goroutines; i++ {
		go func() {
			started.Done()
			<-release
			ended.Done()
		}()
	}
	started.Wait()
	fmt.Printf("create %.6g ns\n", float64(time.Since(start).Nanoseconds())/goroutines)

	resident, tables := statusBytes("VmRSS")/goroutines, statusBytes("VmPTE")/goroutines
	fmt.Printf("resident %.6g bytes\ntables %.6g bytes\nmemory %.6g bytes\n", resident, tables, resident+tables)
	close(release)
	ended.Wait()
}
