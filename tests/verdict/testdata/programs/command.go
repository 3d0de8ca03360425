// Waits for a command that sleeps, and reads what it writes.
package main

import (
	"fmt"
	"os/exec"
)

func main() {
	fmt.Println("ready")
	exec.Command("sleep", "40").CombinedOutput()
}
