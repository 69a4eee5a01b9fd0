// SPDX-License-Identifier: MIT

// files: 1,000 files of 64 KiB, all in memory since they were written: opened, read and closed by 64 goroutines that
// take the next one each.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

const files, size, goroutines, times = 1000, 65536, 64, 7

func write(path string, data []byte) {
	f, err := os.Create(path)
	check(err == nil, "cannot create")
	_, err = f.Write(data)
	check(err == nil && f.Sync() == nil && f.Close() == nil, "cannot write")
}

func main() {
	folder, err := os.MkdirTemp("/var/tmp", "bench_files_go_")
	check(err == nil, "no folder")
	defer os.RemoveAll(folder)
	var paths [files]string
	data := make([]byte, size)
	for i := range paths {
		paths[i] = filepath.Join(folder, strconv.Itoa(i))
		binary.LittleEndian.PutUint32(data, uint32(i))
		write(paths[i], data)
	}
	var buffers [goroutines][size]byte
	run := func(int) {
		var next, sum int64
		var done sync.WaitGroup
		done.Add(goroutines)
		for g := 0; g < goroutines; g++ {
			go func(buf []byte) {
				for {
					i := atomic.AddInt64(&next, 1) - 1
					if i >= files {
						break
					}
					f, err := os.Open(paths[i])
					check(err == nil, "cannot open")
					n, err := f.ReadAt(buf, 0)
					check(n == size && err == nil, "cannot read")
					f.Close()
					atomic.AddInt64(&sum, int64(binary.LittleEndian.Uint32(buf)))
				}
				done.Done()
			}(buffers[g][:])
		}
		done.Wait()
		check(sum == files*(files-1)/2, "not what was written")
	}
	fmt.Printf("files %.6g ms\n", quickestNs(run, files, times)/1e6)
}
