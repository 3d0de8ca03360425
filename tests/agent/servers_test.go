//go:build linux

package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// rate is how many requests a second each server gets.
const rate = 100

// server is a program under load.
type server struct {
	process string // its name, which profiles have too
	cmd     *exec.Cmd
	connect func() (func() error, error) // of a request

	mu    sync.Mutex
	last  error
	done  int
	took  []time.Duration
	since time.Duration
}

// startServers starts redis, nginx, postgres, node and python.
func startServers(t *testing.T) []*server {
	if os.Getuid() != 0 {
		t.Skip("postgres is started as its own user by root alone")
	}
	dir := folder(t)
	for _, path := range []string{run.Scratch, dir} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := []*server{startRedis(t, dir), startNginx(t, dir), startPostgres(t), startNode(t, dir), startPython(t, dir)}
	for _, s := range all {
		await(t, s.process+" answers", func() bool {
			ask, err := s.connect()
			return err == nil && ask() == nil
		})
	}
	return all
}

func installed(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

// named gives path another name, which no other process of this machine has and the kernel keeps whole: the agent is to
// record those of the test alone.
func named(t testing.TB, path string) (other string) {
	t.Helper()
	other = filepath.Join(run.Scratch, "s-"+filepath.Base(path))
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	return other
}

// launch starts a server; it ends with the test.
func launch(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	cmd.Path = named(t, cmd.Path)
	cmd.Args[0] = cmd.Path
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := run.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		children := tree(cmd.Process.Pid)
		cmd.Process.Signal(syscall.SIGQUIT)
		time.Sleep(time.Second)
		for _, pid := range children {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		cmd.Wait()
	})
	return &server{process: filepath.Base(cmd.Path), cmd: cmd}
}

// asks connects to a socket, sends the same request each time, and waits for what ends an answer.
func asks(network, address, request, end string) func() (func() error, error) {
	return func() (func() error, error) {
		c, err := net.Dial(network, address)
		if err != nil {
			return nil, err
		}
		r := bufio.NewReader(c)
		return func() error {
			if _, err := io.WriteString(c, request); err != nil {
				return err
			}
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return err
				}
				if strings.HasSuffix(line, end) {
					return nil
				}
			}
		}, nil
	}
}

func startRedis(t testing.TB, dir string) *server {
	socket := filepath.Join(dir, "redis")
	s := launch(t, exec.Command(installed(t, "redis-server"), "--port", "0", "--unixsocket", socket,
		"--save", "", "--daemonize", "no", "--dir", dir))
	// A script that takes some time: 3,000 turns.
	const script = "local n=0 for i=1,3000 do n=n+i%7 end return n"
	s.connect = asks("unix", socket,
		fmt.Sprintf("*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(script), script), "\r\n")
	return s
}

const nginxConfig = `
user root; daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/log;
events { worker_connections 16; }
http {
	access_log off; gzip on; gzip_min_length 1; gzip_types *; keepalive_requests 100000000;
	keepalive_time 1d;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u;
	scgi_temp_path %[1]s/s;
	server { listen unix:%[1]s/nginx; root %[1]s; }
}
`

func startNginx(t testing.TB, dir string) *server {
	config := filepath.Join(dir, "nginx.conf")
	err := errors.Join(os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir), 0o644),
		os.WriteFile(filepath.Join(dir, "page"), []byte(strings.Repeat("a page of some length ", 2000)), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	s := launch(t, exec.Command(installed(t, "nginx", "/usr/sbin/nginx"), "-p", dir, "-c", config, "-e",
		dir+"/log"))
	// A compressed page comes in chunks, of which the last is empty.
	s.connect = asks("unix", filepath.Join(dir, "nginx"),
		"GET /page HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n", "0\r\n")
	return s
}

func startPostgres(t testing.TB) *server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	owner, err := user.Lookup("postgres")
	if len(found) == 0 || err != nil {
		t.Skip("postgres is not installed")
	}
	bin, dir := found[len(found)-1], folder(t)
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, uid, gid)); err != nil {
		t.Fatal(err)
	}
	as := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return c
	}
	data := filepath.Join(dir, "data")
	if out, err := as("initdb", "-D", data, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C").
		CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s := launch(t, as("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off"))
	s.connect = func() (func() error, error) {
		c := as("psql", "-h", dir, "-qAtX", "postgres")
		in, err := c.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		c.SysProcAttr.Pdeathsig = syscall.SIGKILL
		if err := run.Start(c); err != nil {
			return nil, err
		}
		r := bufio.NewReader(out)
		return func() error {
			fmt.Fprintln(in, "select sum(i % 7) from generate_series(1, 3000) i;")
			_, err := r.ReadString('\n')
			return err
		}, nil
	}
	return s
}

const nodeServer = `
function work(n) { return n ? JSON.stringify({n, inner: work(n - 1)}).length : 1; }
require('net').createServer(c => c.on('data', () => { let n = 0; for (let i = 0; i < 20; i++) n += work(20);
	c.write(n + '\n'); })).listen(process.argv[1]);
`

func startNode(t testing.TB, dir string) *server {
	socket := filepath.Join(dir, "node")
	s := launch(t, exec.Command(installed(t, "node"), "-e", nodeServer, socket))
	s.connect = asks("unix", socket, "x", "\n")
	return s
}

const pythonServer = `
import socketserver, sys
def work(n):
    return sum(work(n - 1) for _ in range(2)) if n else 1
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1):
            self.request.sendall(b"%d\n" % work(9))
class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
Server(sys.argv[1], Answer).serve_forever()
`

func startPython(t testing.TB, dir string) *server {
	socket := filepath.Join(dir, "python")
	s := launch(t, exec.Command(installed(t, "/usr/bin/python3", "python3"), "-c", pythonServer, socket))
	s.connect = asks("unix", socket, "x", "\n")
	return s
}

// load asks at a rate until stop is closed.
func (s *server) load(stop <-chan struct{}) {
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	ask, err := s.connect()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		begin := time.Now()
		if err == nil {
			err = ask()
		}
		s.mu.Lock()
		s.done++
		s.took = append(s.took, time.Since(begin))
		s.last = err
		s.mu.Unlock()
	}
}

func (s *server) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// begin begins a part of a round, end ends it.
func (s *server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.took, s.since = 0, nil, s.cpu()
}

func (s *server) end() costs {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == 0 {
		return costs{}
	}
	slices.Sort(s.took)
	return costs{int64(s.cpu()-s.since) / int64(s.done), int64(s.took[len(s.took)/2])}
}

// cpu is what the server has used with all its processes.
func (s *server) cpu() (sum time.Duration) {
	for _, pid := range tree(s.cmd.Process.Pid) {
		sum += ran(pid)
	}
	return sum
}

// ran is how long the threads of a process that live have run.
// Source: schedstat, Documentation/scheduler/sched-stats.rst.
func ran(pid int) (sum time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		word, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseInt(word, 10, 64)
		sum += time.Duration(n)
	}
	return sum
}

// tree is a process and all that it started, and they.
func tree(pid int) []int {
	all := []int{pid}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(b)) {
			child, _ := strconv.Atoi(word)
			all = append(all, tree(child)...)
		}
	}
	return all
}
