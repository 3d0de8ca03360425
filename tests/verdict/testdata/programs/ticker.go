package main

import (
	"fmt"
	"time"
)

func main() {
	fmt.Println("ready")
	for range time.Tick(100 * time.Millisecond) {
	}
}
