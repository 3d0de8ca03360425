//go:build linux

package verdict

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// Servers, workers and their clients.
var serverRows = []row{
	// That hang.
	{name: "redis-cli and a stopped server", needs: redis, start: stoppedRedis, ready: "ready",
		argv: []string{"sh", "-c", "echo ready; exec redis-cli -p $(cat redis) get x"},
		is:   truth{state: hangs, kinds: []string{"stopped", "waiting"}, culprit: "^redis-server"}},
	{name: "curl, nginx, backend that hangs", needs: []string{"curl", "/usr/sbin/nginx", "python3"},
		files: one("backend.py"), start: nginxBefore("backend.py"), ready: "ready",
		argv: []string{"sh", "-c", "echo ready; exec curl -s --unix-socket nginx http://x/"},
		is:   truth{state: hangs, culprit: "backend.py", function: "query"}},
	{name: "psql waits for an idle transaction", needs: postgres, start: lockedTable, ready: "ready",
		argv: []string{"sh", "-c", "echo ready; exec psql -h $PWD -U postgres -c 'update t set a = 2'"},
		is:   truth{state: hangs, culprit: "idle in transaction|role=holder"}},
	{name: "gunicorn two Locks in two orders", needs: []string{"/usr/bin/gunicorn", "curl"}, files: one("wsgi.py"),
		argv:  []string{"/usr/bin/gunicorn", "--threads", "4", "-t", "1000", "--bind", "unix:sock", "wsgi:app"},
		ready: "Booting worker", then: askTwice, is: truth{state: hangs, culprit: "gunicorn", function: "transfer"}},
	{name: "rq worker with a task that hangs", needs: rq, files: []string{"tasks.py", "enqueue.py", "silent.py"},
		start: enqueued, argv: []string{"sh", "-c", "exec rq worker -u redis://127.0.0.1:$(cat redis)"},
		ready: "ready",
		env:   []string{"PYTHONPATH=."},
		is:    truth{state: hangs, culprit: "rq|silent.py", marked: true, function: "fetch_report|ignore"}},
	{name: "celery both workers in a task that hangs", needs: celery, start: redisAndSilent, ready: "ready.",
		files: []string{"tasks.py", "app.py", "call.py", "silent.py"}, then: callTwice,
		argv: []string{"/usr/bin/python3", "-m", "celery", "-A", "app", "worker", "-c", "2", "-l", "INFO"},
		is:   truth{state: hangs, culprit: "celery|silent.py", marked: true, function: "fetch_report|ignore"}},

	// That are healthy.
	{name: "healthy redis idle", needs: redis, ready: "eady to accept",
		argv: []string{"redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", ""},
		is:   truth{state: healthy}},
	{name: "healthy nginx idle", needs: []string{"/usr/sbin/nginx"}, ready: "ready",
		texts: map[string]string{"nginx.conf": fmt.Sprintf(nginxConfig, "return 200;")},
		argv:  []string{"sh", "-c", "echo ready; exec /usr/sbin/nginx -p . -c nginx.conf -e log"},
		is:    truth{state: healthy}},
	{name: "healthy postgres idle", needs: postgres, start: runPostgres, ready: "ready",
		argv: []string{"sh", "-c", "echo ready; exec sleep 30"}, then: postmaster, is: truth{state: healthy}},
	{name: "healthy psql waits for a query that computes", needs: postgres, start: runPostgres,
		ready: "ready", cpu: true,
		argv: []string{"sh", "-c", "echo ready; exec psql -h $PWD -U postgres -c " +
			"'select sum(i % 7) from generate_series(1, 10000000000) i'"},
		is: truth{state: healthy}},
	{name: "healthy psql waits for pg_sleep", needs: postgres, start: runPostgres, ready: "ready",
		argv: []string{"sh", "-c", "echo ready; exec psql -h $PWD -U postgres -c 'select pg_sleep(100)'"},
		is:   truth{state: healthy}},
	{name: "healthy curl of a slow download", needs: []string{"curl", "python3"}, files: one("download.py"),
		ready: "ready",
		start: beside([]string{"python3", "download.py"}, "port"),
		argv:  []string{"sh", "-c", "echo ready; exec curl -s -o got http://127.0.0.1:$(cat port)/"},
		is:    truth{state: healthy}},
	{name: "healthy gunicorn idle", needs: []string{"/usr/bin/gunicorn"}, files: one("wsgi.py"),
		ready: "Booting worker",
		argv:  []string{"/usr/bin/gunicorn", "--threads", "4", "--bind", "unix:sock", "wsgi:app"},
		is:    truth{state: healthy}},
	{name: "healthy rq worker idle", needs: rq, start: runRedis, ready: "Listening on",
		argv: []string{"sh", "-c", "exec rq worker -u redis://127.0.0.1:$(cat redis)"}, is: truth{state: healthy}},
	{name: "healthy celery idle", needs: celery, files: []string{"tasks.py", "app.py"}, start: runRedis,
		ready: "ready.",
		argv:  []string{"/usr/bin/python3", "-m", "celery", "-A", "app", "worker", "-c", "2", "-l", "INFO"},
		is:    truth{state: healthy}},
	{name: "healthy curl, nginx, backend that computes", needs: []string{"curl", "/usr/sbin/nginx", "python3"},
		files: one("slow_backend.py"), start: nginxBefore("slow_backend.py"), ready: "ready", cpu: true,
		argv: []string{"sh", "-c", "echo ready; exec curl -s --unix-socket nginx http://x/"},
		is:   truth{state: healthy}},
}

var (
	redis    = []string{"redis-server", "redis-cli"}
	postgres = []string{"/usr/lib/postgresql/*/bin/postgres", "psql"}
	rq       = []string{"redis-server", "/usr/bin/rq", "python3"}
	celery   = []string{"redis-server", "/usr/bin/python3", "/usr/lib/python3/dist-packages/celery"}
)

const nginxConfig = `user root; daemon off; worker_processes 1; pid pid; error_log log;
events { worker_connections 16; }
http {
	access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f;
	uwsgi_temp_path u; scgi_temp_path s;
	proxy_read_timeout 1h;
	server { listen unix:nginx; location / { %s } }
}
`

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runRedis starts a server of redis; its port is in the file redis.
func runRedis(t testing.TB, dir string) { redisServer(t, dir) }

func redisServer(t testing.TB, dir string) *exec.Cmd {
	t.Helper()
	port := freePort(t)
	server := launch(t, dir, "redis-server", "--port", port, "--save", "", "--dir", dir)
	harness.Await(t, filepath.Join(dir, "beside"), "eady to accept")
	write(t, filepath.Join(dir, "redis"), port)
	return server
}

func stoppedRedis(t testing.TB, dir string) {
	if err := redisServer(t, dir).Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func redisAndSilent(t testing.TB, dir string) {
	redisServer(t, dir)
	silent(t, dir)
}

// nginxBefore starts a program in Python and nginx, which passes what comes to it.
func nginxBefore(program string) func(t testing.TB, dir string) {
	return func(t testing.TB, dir string) {
		beside([]string{"python3", program}, "port")(t, dir)
		port, err := os.ReadFile(filepath.Join(dir, "port"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "nginx.conf"), fmt.Sprintf(nginxConfig,
			"proxy_pass http://127.0.0.1:"+string(port)+";"))
		beside([]string{"/usr/sbin/nginx", "-p", ".", "-c", "nginx.conf", "-e", "log"}, "pid")(t, dir)
	}
}

// enqueued gives the queue of rq a task before its worker starts.
func enqueued(t testing.TB, dir string) {
	redisAndSilent(t, dir)
	port, _ := os.ReadFile(filepath.Join(dir, "redis"))
	do(t, dir, "/usr/bin/python3", "enqueue.py", string(port))
}

// callTwice gives celery two tasks, and waits until both are where they hang.
func callTwice(t testing.TB, dir string) int {
	do(t, dir, "/usr/bin/python3", "call.py")
	written(t, dir, "ready\n", 2)
	return 0
}

// askTwice asks a server twice at once, and waits until both requests have a lock.
func askTwice(t testing.TB, dir string) int {
	launch(t, dir, "curl", "-s", "--unix-socket", "sock", "http://x/a")
	launch(t, dir, "curl", "-s", "--unix-socket", "sock", "http://x/b")
	written(t, dir, "locked\n", 2)
	return 0
}

// written waits until the output of a program has a line n times.
func written(t testing.TB, dir, line string, n int) {
	t.Helper()
	until(t, line, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "out"))
		return strings.Count(string(text), line) >= n
	})
}

// do runs a command in a folder to its end.
func do(t testing.TB, dir string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// runPostgres starts a server of postgres with its socket in a folder, as its own user, and has it take queries.
func runPostgres(t testing.TB, dir string) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	owner, err := user.Lookup("postgres")
	if err != nil || len(found) == 0 || os.Getuid() != 0 {
		t.Skip("postgres is started as its own user by root alone")
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, uid, gid)); err != nil {
		t.Fatal(err)
	}
	who := []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}
	as := func(name string, args ...string) []string {
		return append(append(who[:len(who):len(who)], filepath.Join(found[len(found)-1], name)), args...)
	}
	do(t, dir, as("initdb", "-D", "data", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")...)
	launch(t, dir, as("postgres", "-D", "data", "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")...)
	until(t, "postgres takes queries", func() bool {
		cmd := exec.Command("psql", "-h", dir, "-U", "postgres", "-qAtc", "select 1")
		return cmd.Run() == nil
	})
}

// postmaster is the first process of runPostgres.
func postmaster(t testing.TB, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data/postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

// lockedTable starts postgres with a table t, whose row an open transaction has changed.
func lockedTable(t testing.TB, dir string) {
	runPostgres(t, dir)
	do(t, dir, "psql", "-h", dir, "-U", "postgres", "-qc", "create table t (a int)", "-c", "insert into t values (1)")
	cmd := exec.Command("psql", "-v", "role=holder", "-h", dir, "-U", "postgres", "-qAt")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err == nil {
		cmd.Stdout, err = os.Create(filepath.Join(dir, "holder"))
	}
	if err == nil {
		err = harness.Start(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	fmt.Fprintln(in, "begin; update t set a = 3; select 'changed';")
	harness.Await(t, filepath.Join(dir, "holder"), "changed")
}
