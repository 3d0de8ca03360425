// A grandchild keeps the pipe of a command's output.
package main

import (
	"fmt"
	"os/exec"
	"time"
)

func main() {
	cmd := exec.Command("sh", "-c", "sleep 1000 & sleep 0.2")
	time.AfterFunc(time.Second, func() { fmt.Println("ready") })
	cmd.CombinedOutput()
}
