// SPDX-License-Identifier: MIT

// What all Go programs share; built together with each of them.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A heart that beats every five milliseconds, as long as others let it: how far apart its beats were.
const beatEvery = 5 * time.Millisecond

type heart struct {
	stop          int32
	beats         int
	longest, took time.Duration
}

func (h *heart) beat(done chan bool) {
	start := time.Now()
	last := start
	for atomic.LoadInt32(&h.stop) == 0 {
		time.Sleep(beatEvery)
		now := time.Now()
		if now.Sub(last) > h.longest {
			h.longest = now.Sub(last)
		}
		last = now
		h.beats++
	}
	h.took = time.Since(start)
	done <- true
}

func (h *heart) report() {
	check(h.beats > 0, "it never beat")
	fmt.Printf("every %.6g ms\nlongest %.6g ms\n", float64(h.took.Nanoseconds())/1e6/float64(h.beats),
		float64(h.longest.Nanoseconds())/1e6)
}

// Keep the compiler from leaving out what made x.
var kept uint64

func sink(x uint64) { atomic.StoreUint64(&kept, x) }

// Warm up, then do run(count) so many times: how long each took, from the quickest on.
func sortedNs(run func(int), count, times int) []float64 {
	run(count / 10)
	var taken []float64
	for i := 0; i < times; i++ {
		start := time.Now()
		run(count)
		taken = append(taken, float64(time.Since(start).Nanoseconds()))
	}
	sort.Float64s(taken)
	return taken
}

// How long the quickest took.
func quickestNs(run func(int), count, times int) float64 {
	return sortedNs(run, count, times)[0]
}

// What a quarter of them do not exceed: see common.h.
func quartileNs(run func(int), count, times int) float64 {
	return sortedNs(run, count, times)[times/4]
}

// End the program: the runner shows the message and calls the run failed.
func check(ok bool, message string) {
	if !ok {
		fmt.Fprintln(os.Stderr, message)
		os.Exit(1)
	}
}

// A field of /proc/self/status that is given in kB, in bytes.
func statusBytes(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	check(err == nil, "cannot read /proc/self/status")
	var kib float64
	at := strings.Index(string(status), field+":")
	fmt.Sscanf(string(status[at+len(field)+1:]), "%f", &kib)
	return kib * 1024
}

// The whole process's memory, as so much a goroutine: resident, page tables, and both.
func reportMemory(goroutines float64) {
	resident, tables := statusBytes("VmRSS")/goroutines, statusBytes("VmPTE")/goroutines
	fmt.Printf("resident %.6g bytes\ntables %.6g bytes\nmemory %.6g bytes\n", resident, tables, resident+tables)
}

// Processor time of the whole process, all threads.
func cpuNs() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil, "cannot read the processor time")
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}
