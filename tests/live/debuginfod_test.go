//go:build linux

package live

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serveDebugFiles runs Debian's debuginfod on loopback for the files in dir, and waits until it
// knows the one with that build id.
func serveDebugFiles(t *testing.T, dir, buildID string) (url string) {
	t.Helper()
	server := installed(t, "debuginfod")
	for range 10 { // the port may be taken by somebody else before the server has it
		port := freePort(t)
		url = fmt.Sprintf("http://127.0.0.1:%d", port)
		cmd := exec.Command(server, "-F", "-p", strconv.Itoa(port), "-d", filepath.Join(room(t), "db"), dir)
		cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=")
		p := launch(t, cmd)
		answers := false
		await(t, "the server has the debug file, or ends", func() bool {
			answers = hasDebugFile(url, buildID)
			return answers || stateOf(p.pid) == 'Z'
		})
		if answers {
			return url
		}
	}
	t.Fatal("debuginfod ends as soon as it is started")
	return ""
}

// freePort is a port of loopback that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// hasDebugFile reports whether a server knows a debug file.
func hasDebugFile(url, buildID string) bool {
	answer, err := http.Get(url + "/buildid/" + buildID + "/debuginfo")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// remote is a stripped program whose debug file only a server has.
type remote struct {
	pid, id, cache string
	kept           string // folder of the debug file
	patience       string // how long a server is waited for, in seconds
}

func newRemote(t *testing.T) remote {
	t.Helper()
	dir := room(t)
	r := remote{cache: room(t), kept: filepath.Join(dir, "kept"), patience: "60"}
	stripTo(t, program(t, "threads"), filepath.Join(dir, "t"), r.kept)
	r.id = sh(t, dir, byBuildID+`echo "$id"`, filepath.Join(dir, "t"), dir)
	r.pid = strconv.Itoa(launchAsleep(t, exec.Command(filepath.Join(dir, "t"), "2", "5")).pid)
	return r
}

// run runs fpstack with servers and the cache of r, on its process.
func (r remote) run(t *testing.T, urls string, args ...string) outcome {
	t.Helper()
	env := []string{"DEBUGINFOD_URLS=" + urls, "DEBUGINFOD_CACHE_PATH=" + r.cache, "DEBUGINFOD_TIMEOUT=" +
		r.patience, fpstack}
	o := execute(t, bound, "env", append(env, args...)...)
	checkEnd(t, o, args)
	return o
}

func TestDebuginfod(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url := serveDebugFiles(t, r.kept, r.id)
	dump := []string{"-p", r.pid}
	t.Run("never without the flag", func(t *testing.T) {
		o := r.run(t, url, dump...)
		if cached, _ := os.ReadDir(r.cache); strings.Contains(o.stdout, "descend") || len(cached) != 0 {
			t.Errorf("cache: %v\n%s", cached, o.stdout)
		}
	})
	t.Run("fetched", func(t *testing.T) {
		o := r.run(t, url, append(dump, "--debuginfod")...)
		if o.status != 0 || strings.Count(o.stdout, " descend ") != 5 || !strings.Contains(o.stdout, "threads.c:") ||
			o.stderr != "" {
			t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
	})
	t.Run("the cache is that of elfutils", func(t *testing.T) {
		find := installed(t, "debuginfod-find")
		o := execute(t, bound, "env", "DEBUGINFOD_URLS=http://127.0.0.1:1", "DEBUGINFOD_CACHE_PATH="+r.cache, find,
			"debuginfo", r.id)
		if o.status != 0 || !strings.HasPrefix(o.stdout, r.cache) {
			t.Errorf("status %d, %s%s", o.status, o.stdout, o.stderr)
		}
	})
	t.Run("from the cache, and no server", func(t *testing.T) {
		// libc's debug file is here; the rest asks nobody but for the vDSO, if a frame lies in it.
		o := r.run(t, "http://127.0.0.1:1", append(dump, "--debuginfod")...)
		if !strings.Contains(o.stdout, " descend ") {
			t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
	})
	t.Run("recording", func(t *testing.T) {
		other := r
		other.cache = room(t)
		o := other.run(t, url, "record", "-p", r.pid, "-d", "300ms", "-q", "--debuginfod")
		if o.status != 0 || !strings.Contains(o.stdout, "thread_main;descend;descend;") {
			t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
	})
	t.Run("progress on a terminal", func(t *testing.T) {
		script := installed(t, "script")
		o := execute(t, bound, "env", "DEBUGINFOD_URLS="+url, "DEBUGINFOD_CACHE_PATH="+room(t), "TERM=xterm", script,
			"-q", "-e", "-c",
			fpstack+" --debuginfod -p "+r.pid, "/dev/null")
		if !strings.Contains(o.stdout, "downloading debug file "+r.id[:12]) ||
			!strings.Contains(o.stdout, " descend ") {
			t.Errorf("status %d, %q", o.status, o.stdout)
		}
	})
}

func TestDebuginfodRefusals(t *testing.T) {
	r := newRemote(t)
	if o := r.run(t, "", "-p", r.pid, "--debuginfod"); o.status != 64 ||
		!strings.Contains(o.stderr, "DEBUGINFOD_URLS") {
		t.Errorf("no server named: status %d, %q; want 64 and the variable's name", o.status, o.stderr)
	}
	o := r.run(t, "http://127.0.0.1:1", "-p", r.pid, "--debuginfod")
	if o.status != 1 || !strings.Contains(o.stderr, "127.0.0.1:1") || !strings.Contains(o.stdout, "  pause ") {
		t.Errorf("nobody listens: status %d, want 1 and the rest of the dump\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// A server that says nothing costs us time, and the target none.
func TestDebuginfodSilentServer(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.patience = "2"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	states := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		gaveUp := make(chan struct{})
		go func() {
			defer close(gaveUp)
			io.Copy(io.Discard, c) // until fpstack does
		}()
		states <- statesUntil(r.pid, gaveUp, "SSS")
		<-gaveUp
	}()
	o := r.run(t, "http://"+l.Addr().String(), "-p", r.pid, "--debuginfod")
	l.Close()
	if got := <-states; got != "SSS" {
		t.Errorf("states of the threads while the server is queried: %q, want SSS", got)
	}
	if o.status != 1 || !strings.Contains(o.stderr, "no answer within 2s") || !strings.Contains(o.stdout, "  pause ") {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// statesUntil gives the states of the threads of a process when they are those wanted, as threads fall asleep
// again a moment after they were let go, and what they are in the end if that never comes before over.
func statesUntil(pid string, over <-chan struct{}, want string) string {
	n, _ := strconv.Atoi(pid)
	for {
		seen := ""
		for _, tid := range threadsOf(n) {
			seen += string(stateOf(tid))
		}
		select {
		case <-over:
			return seen
		case <-time.After(time.Millisecond):
		}
		if seen == want {
			return seen
		}
	}
}
