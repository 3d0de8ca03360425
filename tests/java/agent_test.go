//go:build linux && (amd64 || arm64)

package java

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestAgent: what the agent sends of a JVM has methods, classes and files.
func TestAgent(t *testing.T) {
	versions(t)
	fpstack := built(t)
	var mu sync.Mutex
	var sent bytes.Buffer
	store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			if z, err := gzip.NewReader(body); err == nil {
				body = z
			}
		}
		mu.Lock()
		defer mu.Unlock()
		io.Copy(&sent, body)
	}))
	defer store.Close()
	p := start(t, "17", "Ring")
	agent := exec.Command(fpstack, "agent", "-p", fmt.Sprint(p.pid), "--interval", "1s", "--push",
		"otlp+http://"+strings.TrimPrefix(store.URL, "http://"))
	agent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	agent.Stderr = &said
	if err := harness.Start(agent); err != nil {
		t.Fatal(err)
	}
	defer func() { agent.Process.Signal(syscall.SIGTERM); agent.Wait() }()
	want := []string{"Ring.main", "Ring.round", "Ring.a", "Ring.b", "Ring.c", "Ring.java", "JavaCalls::call_helper"}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		missing := ""
		mu.Lock()
		for _, w := range want {
			if !bytes.Contains(sent.Bytes(), []byte(w)) {
				missing = w
			}
		}
		mu.Unlock()
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q was not sent, in %d bytes: %s", missing, sent.Len(), said.String())
		}
	}
}
