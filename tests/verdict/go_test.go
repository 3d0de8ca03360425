//go:build linux

package verdict

import (
	"os"
	"path/filepath"
)

// Programs in Go, and go test.
var goRows = []row{
	// That hang.
	{name: "Go two mutexes in two orders", needs: golang, files: one("locks.go"), argv: []string{"./locks"},
		ready: "ready", is: truth{state: hangs, culprit: "locks", function: "main.transfer"}},
	{name: "Go reader reads again", needs: golang, files: one("readlocks.go"), argv: []string{"./readlocks"},
		ready: "ready", is: truth{state: hangs, culprit: "readlocks", function: "main.lookup|main.insert"}},
	{name: "Go WaitGroup that is never done", needs: golang, files: one("group.go"), argv: []string{"./group"},
		ready: "ready", is: truth{state: hangs, culprit: "group", function: "main.collect"}},
	{name: "Go HTTP client without an answer", needs: append(golang, "python3"), files: []string{"get.go",
		"silent.py"},
		start: silent, argv: []string{"./get"}, ready: "ready",
		is: truth{state: hangs, culprit: "get|silent.py", function: "main.fetch|ignore"}},
	{name: "Go sender without a receiver", needs: golang, files: one("leak.go"), argv: []string{"./leak"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "leak", function: "main.produce"}},
	{name: "Go grandchild keeps a pipe", needs: golang, files: one("grandchild.go"), argv: []string{"./grandchild"},
		ready: "ready", is: truth{state: hangs, culprit: "sleep 1000"}},
	{name: "go test hangs in a channel", needs: golang, texts: module("queue_test.go"), argv: []string{"go", "test"},
		ready: "ready", is: truth{state: hangs, culprit: "queue.test", function: ".*queue.drain",
			test: "TestDrain/empty"}},

	// That are healthy.
	{name: "healthy Go idle HTTP server", needs: golang, files: one("idle.go"), argv: []string{"./idle"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy Go ticker", needs: golang, files: one("ticker.go"), argv: []string{"./ticker"}, ready: "ready",
		is: truth{state: healthy}},
	{name: "healthy Go waits for SIGTERM", needs: golang, files: one("signal.go"), argv: []string{"./signal"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy Go goroutines compute", needs: golang, files: one("hash.go"), argv: []string{"./hash"},
		ready: "ready",
		cpu:   true, is: truth{state: healthy, culprit: "hash", function: `main\.(digest|order|main).*`}},
	{name: "healthy Go idle workers", needs: golang, files: one("workers.go"), argv: []string{"./workers"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy Go waits for the next job", needs: golang, files: one("cron.go"), argv: []string{"./cron"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy go test with slow steps", needs: golang, texts: module("steps_test.go"),
		argv:  []string{"go", "test"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy Go workers that sleep", needs: golang, files: one("sleepers.go"), argv: []string{"./sleepers"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy Go command that sleeps", needs: golang, files: one("command.go"), argv: []string{"./command"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy Go slow pipeline", needs: golang, files: one("pipeline.go"), argv: []string{"./pipeline"},
		ready: "ready",
		is:    truth{state: healthy}},
}

var golang = []string{"go"}

// module is a Go module with one file, of testdata/programs/NAME.txt.
func module(name string) map[string]string {
	text, err := os.ReadFile(filepath.Join("testdata/programs", name+".txt"))
	if err != nil {
		panic(err) // a table of this package
	}
	return map[string]string{"go.mod": "module example.com/queue\n\ngo 1.22\n", name: string(text)}
}
