//go:build linux && amd64

package agent

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// waitingServer has requests that wait for a lock that nobody gives back, and others whose promise was forgotten.
const waitingServer = `
const queue = []
async function lock() { await new Promise(resolve => queue.push(resolve)) }
async function handler() { await lock() }
async function lost() { await new Promise(() => {}) }
for (let i = 0; i < 7; i++) handler()
for (let i = 0; i < 2; i++) lost()
process.stdin.resume()
console.log(process.version)
`

// TestAsyncCalls: the page of metrics has how many requests of Node.js wait, and how many nothing can let go on.
func TestAsyncCalls(t *testing.T) {
	t.Parallel()
	const version = "22.23.3"
	program, err := filepath.Abs("../../testdata/bin/node/" + version + "/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skipf("Node.js %s is not built: scripts/build-node", version)
	}
	node := exec.Command(program, "-e", waitingServer)
	node.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if _, err := node.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Process.Kill(); node.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "v"+version+"\n" {
		t.Fatalf("node says %q: %v", line, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	a := startAgent(t, newStore(t, takes), folder(t), nil, "--pid", fmt.Sprint(node.Process.Pid), "--interval", "1s",
		"--metrics", l.Addr().String(), "--async-calls",
		"--max-overhead", "100%") // a count that is not whole is made again at once
	of := fmt.Sprintf(`{pid="%d",service="node"} `, node.Process.Pid)
	var page string
	await(t, "async calls are counted", func() bool {
		answer, err := http.Get("http://" + l.Addr().String() + "/metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		all, _ := io.ReadAll(answer.Body)
		page = string(all)
		return strings.Contains(page, "fpstack_agent_async_calls_whole"+of+"1\n")
	})
	for _, want := range []string{"async_calls" + of + "9", "async_calls_abandoned" + of + "2"} {
		if !strings.Contains(page, "\nfpstack_agent_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	a.end(t)
}
