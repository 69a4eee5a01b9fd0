// SPDX-License-Identifier: MIT

// The load of the echo rows and of the one of idle connections, for the Go program that serves it.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

type load struct {
	command     *exec.Cmd
	to          io.WriteCloser
	from        io.Reader
	connections int
	idle        bool    // the connections rest after one message each
	before      float64 // memory of this process when it began to listen
}

func memory() float64 { return statusBytes("VmRSS") + statusBytes("VmPTE") }

type loadResult struct{ Measured, Ns, P50, P99, P999, Answered float64 }

// Start it, by the program that stands beside this one.
func startLoad() *load {
	connections, err := strconv.Atoi(os.Getenv("BENCH_CONNECTIONS"))
	check(err == nil, "BENCH_CONNECTIONS")
	self, err := os.Executable()
	check(err == nil, "where is this program?")
	l := &load{connections: connections, idle: os.Getenv("BENCH_IDLE") != ""}
	words := []string{strconv.Itoa(connections)}
	if l.idle {
		words = append(words, "idle")
	}
	l.command = exec.Command(filepath.Join(filepath.Dir(self), "load"), words...)
	l.to, err = l.command.StdinPipe()
	check(err == nil, "no pipe")
	l.from, err = l.command.StdoutPipe()
	check(err == nil, "no pipe")
	l.command.Stderr = os.Stderr
	check(l.command.Start() == nil, "cannot start the load")
	return l
}

// The server listens there.
func (l *load) begin(port int) {
	l.before = memory()
	check(binary.Write(l.to, binary.LittleEndian, uint16(port)) == nil, "cannot tell the port")
}

func (l *load) result() (r loadResult) {
	check(binary.Read(l.from, binary.LittleEndian, &r) == nil, "no result")
	return r
}

// All connections rest: what memory this process has got since it listens, by their number. Then they are closed.
func (l *load) reportIdle() {
	l.result()
	fmt.Printf("memory %.6g bytes\n", (memory()-l.before)/float64(l.connections))
	l.to.Close()
	l.command.Wait()
}

// The result comes twice: when all is warm, and at the end.
func (l *load) report() {
	if l.idle {
		l.reportIdle()
		return
	}
	l.result()
	cpu := cpuNs()
	r := l.result()
	cpu = cpuNs() - cpu
	check(r.Measured > 0, "no result")
	fmt.Printf("echo_%d %.6g ns\np50 %.6g ns\np99 %.6g ns\np999 %.6g ns\ncpu %.6g ns\n", l.connections,
		r.Ns/r.Measured, r.P50, r.P99, r.P999, cpu/r.Answered)
	l.command.Wait()
}
