// An HTTP client without a time limit.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

//go:noinline
func fetch(port []byte) {
	r, err := http.Get("http://127.0.0.1:" + string(port) + "/") // HERE
	if err == nil {
		io.ReadAll(r.Body)
	}
}

func main() {
	port, _ := os.ReadFile("port")
	fmt.Println("ready")
	fetch(port)
}
