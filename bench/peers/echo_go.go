// SPDX-License-Identifier: MIT

// The echo rows, and idle_conns: a goroutine with a buffer of 4 KiB for each connection, as one writes a server.
package main

import "net"

func session(c net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			break
		}
		if _, err = c.Write(buf[:n]); err != nil {
			break
		}
	}
	c.Close()
}

func main() {
	l := startLoad()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err == nil, "cannot listen")
	go func() {
		for {
			c, err := listener.Accept()
			check(err == nil, "cannot accept")
			go session(c)
		}
	}()
	l.begin(listener.Addr().(*net.TCPAddr).Port)
	l.report()
}
