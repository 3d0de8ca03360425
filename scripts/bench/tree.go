//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// treeProgram is 30 processes with 510 threads that wait.
const treeProgram = `
#include <pthread.h>
#include <unistd.h>
static void *sleeper(void *x) { for (;;) pause(); return x; }
int main(void) {
	for (int i = 0; i < 29; i++) if (fork() == 0) break;
	pthread_t t;
	for (int i = 0; i < 16; i++) pthread_create(&t, 0, sleeper, 0);
	sleeper(0);
}
`

// tree measures a capture of fpstack run: how long after the trigger what is known without a stop is on the disk, and
// how long after the last dump the verdict is in the log.
func (b *bench) tree() error {
	dir, err := os.MkdirTemp("", "tree")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "tree.c"), filepath.Join(dir, "tree")
	if err := os.WriteFile(source, []byte(treeProgram), 0o644); err != nil {
		return err
	}
	if out, err := exec.Command("cc", "-O1", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		return fmt.Errorf("build tree: %w: %s", err, out)
	}
	var facts, verdicts []float64
	for round := range b.rounds {
		fact, last, err := b.capture(program, filepath.Join(dir, fmt.Sprint(round)))
		if err != nil {
			return err
		}
		facts, verdicts = append(facts, fact), append(verdicts, last)
	}
	same := func(v float64) float64 { return v }
	spread := func(vs []float64) string {
		most := 0.0
		for _, v := range vs {
			most = max(most, v)
		}
		return fmt.Sprintf("median of %d, the longest %.3f s", len(vs), most)
	}
	verdict("30 processes, 510 threads: facts on the disk after the trigger", medianOf(facts, same), 0.2, "s",
		spread(facts))
	verdict("the same: verdict in the log after the last dump", medianOf(verdicts, same), 2, "s", spread(verdicts))
	return nil
}

// capture runs the tree until a limit, and returns both times in seconds.
func (b *bench) capture(program, report string) (facts, last float64, err error) {
	cmd := exec.Command(b.fpstack, "run", "--deadline", "1", "--report", report, "--", program)
	log, err := cmd.StderrPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	seen := make(chan time.Time, 1)
	go func() {
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(report, "hang.json")); err == nil {
				break
			}
		}
		seen <- time.Now()
	}()
	lines := bufio.NewReader(log)
	for text := "\n"; text == "\n"; { // an empty line comes before the verdict
		if text, err = lines.ReadString('\n'); err != nil {
			return 0, 0, fmt.Errorf("read verdict: %w", err)
		}
	}
	said := time.Now()
	if _, err := lines.WriteTo(io.Discard); err != nil {
		return 0, 0, err
	}
	cmd.Wait() // 124
	text, err := os.ReadFile(filepath.Join(report, "hang.json"))
	if err != nil {
		return 0, 0, err
	}
	var doc struct {
		Triggered time.Time
		Dumps     []struct{ Time time.Time }
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Dumps) < 30 {
		return 0, 0, fmt.Errorf("read report: %d dumps: %w", len(doc.Dumps), err)
	}
	var latest time.Time
	for _, d := range doc.Dumps {
		if d.Time.After(latest) {
			latest = d.Time
		}
	}
	return (<-seen).Sub(doc.Triggered).Seconds(), said.Sub(latest).Seconds(), nil
}
