//go:build linux

package push

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// fpstackIn runs fpstack in a folder, and returns what it wrote and its status.
func fpstackIn(t *testing.T, dir string, args ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command(fpstack, args...)
	cmd.Dir = dir
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// sleeper is a process that waits, until the test ends.
func sleeper(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// away is an address where nobody listens.
func away(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	defer s.Close()
	return strings.TrimPrefix(s.URL, "http")
}

// TestRecordFolder: a command that is recorded into a folder, whose status is passed on; nothing is on standard output.
func TestRecordFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, status := fpstackIn(t, dir, "record", "-q", "--push", "file://"+dir+"/profiles", "--",
		"sh", "-c", "exec bash -c 'sleep 1; exit 7'")
	files, err := filepath.Glob(dir + "/profiles/fpstack-*-bash-*.pb.gz")
	if err != nil || status != 7 || out != "" || len(files) == 0 {
		t.Fatalf("status %d, %q, files %q, %v", status, out, files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(b)
	if err != nil || strings.Contains(strings.Join(p.Comments, "\n"), "exit 7") {
		t.Errorf("%v: %v", err, p)
	}
	if here, _ := os.ReadDir(dir); len(here) != 1 {
		t.Errorf("files beside: %v", here)
	}
}

// TestRecordUnsent: what no store takes is in a file, with the reason; other stores get theirs.
func TestRecordUnsent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		http.Error(w, "no such tenant", http.StatusForbidden)
	}))
	defer refuses.Close()
	pid := sleeper(t)
	address := strings.TrimPrefix(refuses.URL, "http")
	out, status := fpstackIn(t, dir, "record", "-q", "-p", pid, "-d", "0.3", "--push", "file://"+dir+"/ok",
		"--push", "pyroscope"+address)
	if status != 1 || !strings.Contains(out, "403 Forbidden: no such tenant") ||
		!strings.Contains(out, "1 dropped (refused by the store)") {
		t.Errorf("status %d: %s", status, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "fpstack-"+pid+"-unsent.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := pprof.ParseData(b); err != nil || !strings.Contains(strings.Join(p.Comments, "\n"),
		"not sent to pyroscope"+address) {
		t.Errorf("%v: %v", err, p)
	}
	if files, _ := filepath.Glob(dir + "/ok/fpstack-*.pb.gz"); len(files) != 1 {
		t.Errorf("the other store has %q", files)
	}
}

// TestAgentSpool: what a store does not take stays in the spool, and the next agent sends it.
func TestAgentSpool(t *testing.T) {
	t.Parallel()
	dir, pid := t.TempDir(), sleeper(t)
	var mu sync.Mutex
	up, bodies := false, [][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if !up {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		bodies = append(bodies, body)
	}))
	defer s.Close()
	args := []string{"agent", "-q", "-p", pid, "--interval", "1s", "--spool", dir + "/spool", "--push",
		"pyroscope" + strings.TrimPrefix(s.URL, "http")}
	first := exec.Command(fpstack, args...)
	first.Dir = dir
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	spooled := func() bool {
		files, _ := filepath.Glob(dir + "/spool/*/*.push")
		return len(files) > 0
	}
	wait(t, "a file in the spool", spooled)
	second, status := fpstackIn(t, dir, args...)
	if status != 2 || !strings.Contains(second, "another process uses it") {
		t.Errorf("a second one with the same spool: status %d: %s", status, second)
	}
	first.Process.Signal(syscall.SIGKILL)
	first.Wait()
	mu.Lock()
	up = true
	mu.Unlock()
	if third := agentUntil(t, dir, func() bool { return !spooled() }, args...); third != "" {
		t.Errorf("the next one: %s", third)
	}
	if len(bodies) == 0 {
		t.Error("nothing was sent")
	}
}

// agentUntil runs an agent until done holds, ends it, and returns what it wrote.
func agentUntil(t *testing.T, dir string, done func() bool, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command(fpstack, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "the agent", done)
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("%q: %v: %s", args, err, out.String())
	}
	return out.String()
}

// wait waits until f holds.
func wait(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// TestRecordRefusals: mistakes are refused before anything is recorded, and tokens are in no message.
func TestRecordRefusals(t *testing.T) {
	t.Parallel()
	dir, pid := t.TempDir(), sleeper(t)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil || os.Chmod(open, 0o777) != nil {
		t.Fatal(err)
	}
	to := "pyroscope" + away(t)
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{64, "no such kind of store", []string{"--push", "http://x"}},
		{64, "use a file with a token", []string{"--push", "pyroscope://me:secret@x"}},
		{64, "given twice", []string{"--push", "parca://x", "--push", "parca://x:7070"}},
		{64, "--push-header without --push", []string{"--push-header", "a: b"}},
		{64, "want a header", []string{"--push", to, "--push-header", "a"}},
		{64, "others may read or change it", []string{"--push", to, "--push-header", "@" + token}},
		{64, "no such file", []string{"--push", to, "--push-header", "@" + token + "x"}},
		{2, "others may write to it", []string{"--push", "file://" + open}},
	} {
		out, status := fpstackIn(t, dir, append([]string{"record", "-p", pid, "-d", "0.2"}, c.args...)...)
		if status != c.status || !strings.Contains(out, c.says) || strings.Contains(out, "secret") {
			t.Errorf("%q: status %d: %s", c.args, status, out)
		}
	}
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{64, "label", []string{"--label", "a"}},
		{64, "want bytes", []string{"--spool-limit", "7"}},
		{2, "others may read or change it", []string{"--push-token-file", token}},
		{2, "no such file", []string{"--push-token-file", token + "x"}},
		{2, "none in PEM form", []string{"--push-ca", token}},
		{2, "others may write to it", []string{"--spool", open}},
	} {
		out, status := fpstackIn(t, dir, append([]string{"agent", "-p", pid, "--push", to}, c.args...)...)
		if status != c.status || !strings.Contains(out, c.says) || strings.Contains(out, "secret") {
			t.Errorf("agent %q: status %d: %s", c.args, status, out)
		}
	}
	if out, status := fpstackIn(t, dir, "doctor", "--push", to); status != 1 ||
		!strings.Contains(out, "connection refused") {
		t.Errorf("doctor: status %d: %s", status, out)
	}
}

// TestFullDisk: a spool on a disk of 1 MB that is full neither stops what is sent nor loses count.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		t.Skip("a tmpfs does not work here: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		sent.Add(1)
	}))
	defer s.Close()
	spool := filepath.Join(dir, "spool")
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	agentUntil(t, t.TempDir(), func() bool { return sent.Load() > 1 }, "agent", "-q", "-p", sleeper(t), "--interval",
		"1s", "--spool", spool, "--push", "pyroscope"+strings.TrimPrefix(s.URL, "http"))
	if files, err := filepath.Glob(spool + "/*/*"); len(files) > 0 || err != nil {
		t.Errorf("files %q, %v", files, err)
	}
	out, status := fpstackIn(t, t.TempDir(), "doctor", "--push", "file://"+dir)
	if status != 1 || !strings.Contains(out, "no space left") {
		t.Errorf("doctor: status %d: %s", status, out)
	}
}

// TestEndedTwiceAtOnce: an agent that gets SIGTERM twice within a moment, as from timeout(1), which sends it to its
// child and to its group, sends what it has and ends as after one.
func TestEndedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	dir, asked := t.TempDir(), make(chan bool, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked <- true
		time.Sleep(300 * time.Millisecond)
	}))
	defer s.Close()
	c := exec.Command(fpstack, "agent", "-q", "-p", sleeper(t), "--interval", "1s", "--spool", dir+"/spool", "--push",
		"pyroscope"+strings.TrimPrefix(s.URL, "http"))
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	for range 2 {
		c.Process.Signal(syscall.SIGTERM)
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSpoolSurvivesCrash: what an agent leaves in the spool is synced to the disk, the file and then its name.
func TestSpoolSurvivesCrash(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	dir := t.TempDir()
	log, id := filepath.Join(dir, "log"), filepath.Join(dir, "id")
	cmd := exec.Command(strace, "-f", "-y", "-e", "trace=fsync,linkat", "-o", log, "sh", "-c",
		`echo $$ >"$0"; exec "$@"`, id, fpstack, "agent", "-q", "--interval", "1s", "-p", sleeper(t),
		"--spool", dir+"/spool",
		"--push", "pyroscope"+away(t))
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	spooled := func() []string {
		files, _ := filepath.Glob(dir + "/spool/*/*.push")
		return files
	}
	wait(t, "two files in the spool", func() bool { return len(spooled()) > 1 })
	text, _ := os.ReadFile(id)
	agent, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(agent, syscall.SIGTERM)
	cmd.Wait() // nothing was sent
	left := spooled()
	b, err := os.ReadFile(log)
	if err != nil || len(left) == 0 {
		t.Fatalf("left %q, %v: %s", left, err, &out)
	}
	// The folder is synced after the last name was made in it, and each file that is left before that.
	calls := straced(string(b))
	folder := filepath.Dir(left[0])
	last := 0
	for i, c := range calls {
		if strings.HasPrefix(c, "linkat(") {
			last = i
		}
	}
	named := slices.Index(calls[last:], "fsync("+folder+")")
	for _, file := range left {
		if named < 0 || !slices.Contains(calls[:last+named], "fsync("+file+")") {
			t.Errorf("not synced: %q, of %q: %s\n%s", file, calls, &out, b)
		}
	}
}

// TestStraced: a call whose line another thread's cuts has succeeded where it is resumed, and not before.
func TestStraced(t *testing.T) {
	t.Parallel()
	got := straced("7 fsync(3</a/b.push> <unfinished ...>\n8 --- SIGURG {si_signo=SIGURG} ---\n" +
		"8 linkat(4</a>, \"x\", 4</a>, \"y\", 0) = 0\n7 <... fsync resumed>)              = 0\n" +
		"8 fsync(3</a>) = -1 EIO (Input/output error)\n")
	want := []string{`linkat(/a, "x", /a, "y", 0)`, "fsync(/a/b.push)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// straced are the calls of a log of strace that succeeded, in the order in which they returned, with paths in the place
// of descriptors: one that another thread's line cuts has its beginning on one line and its result on another.
func straced(log string) (calls []string) {
	begun := map[string]string{}
	for line := range strings.Lines(log) {
		tid, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		what = strings.TrimSpace(what)
		if before, cut := strings.CutSuffix(what, " <unfinished ...>"); cut {
			begun[tid] = before
			continue
		}
		if _, rest, resumed := strings.Cut(what, " resumed>"); resumed {
			what = begun[tid] + rest
		}
		if call, ok := strings.CutSuffix(what, "= 0"); ok {
			calls = append(calls, descriptor.ReplaceAllString(strings.TrimSpace(call), "$1"))
		}
	}
	return calls
}

var descriptor = regexp.MustCompile(`\d+<([^>]*)>`)
