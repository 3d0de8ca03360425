//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a program that answers, and what asks it.
type server struct {
	name        string
	serve, load []string // PORT stands for its port, DIR for a folder
}

var servers = []server{
	{"redis", []string{"redis-server", "--port", "PORT", "--bind", "127.0.0.1", "--save", "", "--daemonize", "no",
		"--dir", "DIR"},
		[]string{"redis-benchmark", "-p", "PORT", "-q", "-l", "-t", "set,get"}},
	{"nginx", []string{"/usr/sbin/nginx", "-p", "DIR", "-c", "DIR/nginx.conf"},
		[]string{"wrk", "-t1", "-c16", "-d600s", "http://127.0.0.1:PORT/"}},
	{"node", []string{"node", "-e", nodeServer, "PORT"},
		[]string{"wrk", "-t1", "-c16", "-d600s", "http://127.0.0.1:PORT/"}},
	{"python", []string{"python3", "-c", pythonServer, "PORT"},
		[]string{"wrk", "-t1", "-c4", "-d600s", "http://127.0.0.1:PORT/"}},
}

const (
	nginxConf = `daemon off; master_process off; error_log /dev/null; pid DIR/pid; events {}
http { access_log off; client_body_temp_path DIR/a; proxy_temp_path DIR/b; fastcgi_temp_path DIR/c;
	uwsgi_temp_path DIR/d; scgi_temp_path DIR/e;
server { listen 127.0.0.1:PORT; location / { root DIR; index page; } } }`
	nodeServer = `const list = Array.from({length: 200}, (_, i) => ({id: i, name: "n" + i}));
require("http").createServer((_, a) => a.end(JSON.stringify(list))).listen(Number(process.argv[1]), "127.0.0.1");`
	pythonServer = `import sys, json, http.server
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        b = json.dumps([{"id": i, "name": "n" + str(i)} for i in range(50)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()`
)

const (
	// peerPoints is how far the share of a function may be from what perf has.
	peerPoints = 5
	peerWindow = 24 * time.Second
	// topFunctions is how many functions of either are compared.
	topFunctions = 8
)

// busyPeers compares the shares of CPU time of programs under load, beside load on all CPUs, with `perf record -e
// cpu-clock` of the same time, by the innermost function outside of the kernel.
func (b *bench) busyPeers() error {
	if _, err := exec.LookPath("perf"); err != nil {
		return fmt.Errorf("find perf (package linux-perf): %w", err)
	}
	var all []error
	for _, s := range servers {
		if err := b.busyPeer(s); err != nil {
			all = append(all, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(all...)
}

func (b *bench) busyPeer(s server) error {
	for _, program := range []string{s.serve[0], s.load[0]} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Printf("| %s under load, beside load | | not run: %s is not installed | | | |\n", s.name, program)
			return nil
		}
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pid, stop, err := s.start(dir)
	if err != nil {
		return err
	}
	defer stop()
	perf := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-g", "-F", "999", "-o",
		filepath.Join(dir, "perf.data"), "-p", pid,
		"--", "sleep", strconv.Itoa(int(peerWindow.Seconds())))
	perf.Stderr = os.Stderr
	if err := perf.Start(); err != nil {
		return err
	}
	r, err := b.record("cpu", "-q", "-d", peerWindow.String(), "--mode", "cpu", "--names=functions", "-p", pid)
	if err := errors.Join(err, perf.Wait()); err != nil {
		return err
	}
	text, err := exec.Command("perf", "script", "-i", filepath.Join(dir, "perf.data"), "-F", "ip,sym,dso").Output()
	if err != nil {
		return fmt.Errorf("read what perf recorded: %w", err)
	}
	theirs := innermost(string(text))
	if len(theirs) == 0 {
		return errors.New("perf has no sample")
	}
	ours := map[string]float64{}
	for stack, n := range r.stacks {
		ours[bare(stack[strings.LastIndexByte(stack, ';')+1:])] += float64(n)
	}
	compareShares(s.name, ours, theirs)
	return nil
}

// compareShares prints the largest difference of the shares of the functions that have most in either.
func compareShares(name string, ours, theirs map[string]float64) {
	a, b := shareOf(ours), shareOf(theirs)
	names := map[string]bool{}
	for _, m := range []map[string]float64{a, b} {
		for _, f := range top(m) {
			names[f] = true
		}
	}
	worst, list := 0.0, []string{}
	byShare := slices.SortedFunc(maps.Keys(names), func(x, y string) int { return int(1e6*b[y] - 1e6*b[x]) })
	for _, f := range byShare {
		worst = max(worst, math.Abs(a[f]-b[f]))
		list = append(list, fmt.Sprintf("%s %.1f (%.1f)", f, a[f], b[f]))
	}
	verdict(name+" under load, beside load on all CPUs: largest difference to perf record -e cpu-clock", worst,
		peerPoints, "points", strings.Join(list, ", "))
}

func shareOf(m map[string]float64) map[string]float64 {
	sum, out := 0.0, map[string]float64{}
	for _, v := range m {
		sum += v
	}
	for f, v := range m {
		out[f] = 100 * v / sum
	}
	return out
}

func top(m map[string]float64) []string {
	names := slices.SortedFunc(maps.Keys(m), func(x, y string) int { return int(1e6*m[y] - 1e6*m[x]) })
	return names[:min(len(names), topFunctions)]
}

// innermost counts the samples of `perf script -F ip,sym,dso` by their innermost function outside of the kernel.
func innermost(text string) map[string]float64 {
	out := map[string]float64{}
	for sample := range strings.SplitSeq(text, "\n\n") {
		name := ""
		for line := range strings.Lines(sample) {
			fields := strings.Fields(line)
			if len(fields) < 3 {
				continue
			}
			name = "(kernel alone)"
			file := strings.Trim(fields[len(fields)-1], "()")
			if strings.HasPrefix(file, "[k") || strings.HasPrefix(file, "[guest") {
				continue
			}
			if name = strings.Join(fields[1:len(fields)-1], " "); name == "[unknown]" {
				name = file + "+0x"
			}
			name = bare(name)
			break
		}
		if name != "" {
			out[name]++
		}
	}
	return out
}

// bare is the name of a function as both show it: without its file, its arguments, and what tells the aliases of a
// function of the C library apart. One without a name goes by its file.
func bare(name string) string {
	if at := strings.Index(name, "+0x"); at >= 0 {
		return fileOf(strings.Trim(strings.TrimPrefix(name[:at], "??"), " []"))
	}
	if strings.HasPrefix(name, "0x") {
		return "[code of no file]"
	}
	if at := strings.LastIndexByte(name, '['); at > 0 {
		name = strings.TrimSpace(name[:at])
	}
	if at := strings.IndexByte(name, '('); at > 0 {
		name = name[:at]
	}
	name = strings.TrimLeft(name, "_")
	for _, prefix := range []string{"GI_", "_", "libc_"} {
		name = strings.TrimPrefix(strings.TrimLeft(name, "_"), prefix)
	}
	return strings.TrimSuffix(name, "64")
}

func fileOf(path string) string {
	file, _, _ := strings.Cut(filepath.Base(path), "+")
	if path == "" || strings.HasPrefix(path, "//anon") || strings.HasPrefix(path, "anon") ||
		strings.HasPrefix(path, "JIT") || strings.HasPrefix(file, "perf-") {
		return "[code of no file]"
	}
	return "[" + file + "]"
}

// start begins the server, what asks it, and two programs for each CPU that only compute.
func (s *server) start(dir string) (pid string, stop func(), err error) {
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	fill := strings.NewReplacer("PORT", port, "DIR", dir)
	for file, text := range map[string]string{"nginx.conf": fill.Replace(nginxConf),
		"page": strings.Repeat("a page\n", 100)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return "", nil, err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { // for the user that nginx becomes
		return "", nil, err
	}
	var running []*exec.Cmd
	stop = func() {
		for _, c := range running {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	begin := func(argv []string) error {
		c := exec.Command(argv[0])
		for _, a := range argv[1:] {
			c.Args = append(c.Args, fill.Replace(a))
		}
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			return err
		}
		running = append(running, c)
		return nil
	}
	if err = begin(s.serve); err == nil {
		err = answers(port)
	}
	if err != nil {
		stop()
		return "", nil, err
	}
	pid = strconv.Itoa(running[0].Process.Pid)
	for _, argv := range [][]string{s.load, grinder, grinder, grinder, grinder} {
		if err := begin(argv); err != nil {
			stop()
			return "", nil, err
		}
	}
	time.Sleep(time.Second)
	return pid, stop, nil
}

var grinder = []string{"sh", "-c", "while :; do :; done"}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// answers waits until something listens on a port.
func answers(port string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("wait for a server: %w", err)
		}
	}
}
