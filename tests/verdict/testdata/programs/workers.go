// Workers wait for jobs that a server brings.
package main

import (
	"fmt"
	"net"
)

func main() {
	jobs := make(chan net.Conn)
	for range 8 {
		go func() {
			for c := range jobs {
				c.Close()
			}
		}()
	}
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		jobs <- c
	}
}
