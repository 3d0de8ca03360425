//go:build linux

package live

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// realPrograms start programs of the distribution, and return the processes to sample,
// asleep in something that they do every day.
var realPrograms = []struct {
	name  string
	start func(t testing.TB) []int
}{
	{"sleep", startSleep},
	{"bash", startBash},
	{"python3", startPython},
	{"perl", startPerl},
	{"redis-server", startRedis},
	{"nginx", startNginx},
	{"postgres", startPostgres},
	{"node", startNode},
}

func settled(t testing.TB, pids ...int) []int {
	t.Helper()
	for _, pid := range pids {
		asleep(t, pid)
	}
	return pids
}

func startSleep(t testing.TB) []int {
	return settled(t, launch(t, exec.Command(installed(t, "sleep"), "600")).pid)
}

func startBash(t testing.TB) []int {
	p := launch(t, exec.Command(installed(t, "bash"), "-c",
		`inner() { sleep 600 & echo R; wait; }; outer() { inner; }; outer; true`)).ready(t)
	return settled(t, p.pid)
}

const pythonScript = `
import queue, socket, threading, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
def deep(n, f):
    return deep(n - 1, f) if n else f()
for f in (lambda: time.sleep(600), queue.Queue().get, server.accept,
          lambda: sorted([2, 1], key=lambda _: time.sleep(600))):
    threading.Thread(target=deep, args=(10, f), daemon=True).start()
print("R", flush=True)
threading.Event().wait()
`

// startPython prefers the distribution's own: another one in the path may be a script.
func startPython(t testing.TB) []int {
	p := launch(t, exec.Command(installed(t, "/usr/bin/python3", "python3"), "-c", pythonScript)).ready(t)
	await(t, "five threads", func() bool { return len(threadsOf(p.pid)) == 5 })
	return settled(t, p.pid)
}

// Each level is a sort whose comparison calls the next, so C functions recurse as well.
const perlScript = `
$| = 1;
sub down { my $n = shift; if (!$n) { print "R\n"; sleep 600 } my @s = sort { down($n - 1); 0 } 1, 2; }
down(30);
`

func startPerl(t testing.TB) []int {
	return settled(t, launch(t, exec.Command(installed(t, "perl"), "-e", perlScript)).ready(t).pid)
}

func startRedis(t testing.TB) []int {
	dir := room(t)
	socket := filepath.Join(dir, "s")
	p := launch(t, exec.Command(installed(t, "redis-server"), "--port", "0", "--unixsocket", socket,
		"--save", "", "--daemonize", "no", "--dir", dir))
	await(t, "redis-server answers", func() bool { return answers(socket, "PING\r\n", "+PONG") })
	return settled(t, p.pid)
}

// answers reports whether what listens at socket answers a request with a line that begins so.
func answers(socket, request, begin string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		return false
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.HasPrefix(line, begin)
}

const nginxConfig = `
user root; daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/log;
events { worker_connections 16; }
http {
	access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p;
	fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server { listen unix:%[1]s/socket; return 204; }
}
`

// startNginx gives the master and its worker.
func startNginx(t testing.TB) []int {
	asRoot(t)
	dir := room(t)
	config := filepath.Join(dir, "conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir), 0o644); err != nil {
		t.Fatal(err)
	}
	p := launch(t, exec.Command(installed(t, "nginx", "/usr/sbin/nginx"), "-p", dir, "-c", config, "-e", dir+"/log"))
	await(t, "nginx answers", func() bool {
		return answers(dir+"/socket", "GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 204")
	})
	return settled(t, append(childrenOf(p.pid), p.pid)...)
}

// startPostgres gives the server and all the processes that it started.
func startPostgres(t testing.TB) []int {
	asRoot(t)
	bin := postgresPrograms(t)
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("postgres is not installed: there is no such user")
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	dir := room(t)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "--no-sync", "-E", "UTF8",
		"--locale=C")
	initdb.Dir, initdb.SysProcAttr = dir, as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c",
		"fsync=off")
	server.Dir, server.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as.Credential}
	p := launch(t, server)
	t.Cleanup(func() { endPostgres(t, p) })
	await(t, "postgres has its processes", func() bool {
		b, _ := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		return strings.Contains(string(b), "ready") && len(childrenOf(p.pid)) >= 5
	})
	return settled(t, append(childrenOf(p.pid), p.pid)...)
}

// endPostgres ends the server by the signal that makes it end its processes, each of which
// has a process group of its own, and waits for them.
func endPostgres(t testing.TB, p *target) {
	children := childrenOf(p.pid)
	p.cmd.Process.Signal(syscall.SIGQUIT)
	await(t, "the processes of postgres end", func() bool {
		for _, pid := range children {
			if stateOf(pid) != 0 && stateOf(pid) != 'Z' {
				return false
			}
		}
		return true
	})
}

// postgresPrograms gives the directory of initdb, which distributions keep out of the path.
func postgresPrograms(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return filepath.Dir(installed(t, "initdb"))
	}
	return filepath.Dir(found[len(found)-1])
}

const nodeScript = `
const { Worker } = require('worker_threads');
const worker = new Worker(` + "`" + `
const { parentPort } = require('worker_threads');
function wait(n) {
  if (n) return wait(n - 1) + 1;
  parentPort.postMessage('in');
  return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) === 'ok' ? 1 : 0;
}
wait(5);
` + "`" + `, { eval: true });
worker.on('message', () => console.log('R'));
setInterval(() => {}, 1e6);
`

func startNode(t testing.TB) []int {
	return settled(t, launch(t, exec.Command(installed(t, "node"), "-e", nodeScript)).ready(t).pid)
}
