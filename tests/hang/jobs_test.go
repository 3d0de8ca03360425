//go:build linux

package hang

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const abba = `
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *deposit(void *x) {
	pthread_mutex_lock(&a); pthread_barrier_wait(&both); pthread_mutex_lock(&b); return x;
}
static void *withdraw(void *x) {
	pthread_mutex_lock(&b); pthread_barrier_wait(&both); pthread_mutex_lock(&a); return x;
}
int main(void) {
	pthread_t t, u;
	puts("ready"); fflush(stdout);
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, deposit, 0); pthread_create(&u, 0, withdraw, 0);
	pthread_join(t, 0); pthread_join(u, 0);
}
`

const spinning = `
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>
std::atomic<int> ready{0};
namespace ucx {
__attribute__((noinline)) void progress() { for (int i = 0; i < 100; i++) asm volatile("pause"); }
__attribute__((noinline)) void wait_all() { while (!ready.load()) progress(); }
}
int main() {
	puts("ready"); fflush(stdout);
	std::thread t([] { ucx::wait_all(); });
	t.join();
}
`

const forkLock = `
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
locked = threading.Event()
def log():
    libc.pthread_mutex_lock(mutex)
    locked.set()
    time.sleep(1000)
threading.Thread(target=log, daemon=True).start()
locked.wait()
pid = os.fork()
if pid == 0:
    libc.pthread_mutex_lock(mutex)
    os._exit(0)
print("ready", flush=True)
os.waitpid(pid, 0)
`

const goTest = `package queue

import (
	"os"
	"testing"
)

func drain(c chan int) int { return <-c }

func TestDrain(t *testing.T) {
	os.WriteFile("out", []byte("ready"), 0o644)
	if drain(make(chan int)) != 1 {
		t.Fatal()
	}
}
`

const starvers = `
#define _GNU_SOURCE
#include <stdio.h>
#include <sched.h>
#include <unistd.h>
static volatile long n;
__attribute__((noinline)) void work(void) { for (;;) n++; }
int main(void) {
	cpu_set_t one;
	CPU_ZERO(&one); CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	for (int i = 0; i < 7; i++)
		if (fork() == 0) work();
	puts("ready"); fflush(stdout);
	work();
}
`

const vforks = `
#include <stdio.h>
#include <unistd.h>
int main(void) {
	puts("ready"); fflush(stdout);
	if (vfork() == 0) { pause(); _exit(0); }
}
`

const rlocks = `
import threading
first, second, both = threading.RLock(), threading.RLock(), threading.Barrier(2)
def take(one, other):
    with one:
        both.wait()
        with other:
            pass
threading.Thread(target=take, args=(first, second)).start()
print("ready", flush=True)
take(second, first)
`

var jobs = []job{
	{name: "RLocks of Python", needs: []string{"python3"}, ready: "ready", status: hung,
		files: map[string]string{"locks.py": rlocks}, argv: []string{"python3", "locks.py"},
		want: `python3\S* (P): deadlock: 2 threads wait for each other, in .*`},
	{name: "deadlock under make", needs: []string{"gcc", "make"}, ready: "ready", status: hung,
		files: map[string]string{"abba.c": abba, "Makefile": "test:\n\t./abba\n"}, argv: []string{"make", "test"},
		want: `make (P) waits for abba (P): deadlock: 2 threads wait for each other, in .*`},
	{name: "child with a full pipe", needs: []string{"python3"}, ready: "ready", status: hung,
		files: map[string]string{"test.py": `
import subprocess, sys
p = subprocess.Popen([sys.executable, "-c", "import os; os.write(1, b'x' * 300000)"], stdout=subprocess.PIPE)
print("ready", flush=True)
p.wait()
`},
		argv: []string{"python3", "test.py"},
		want: `python[\d.]* (P) writes to a full pipe; its read end is held by python[\d.]* (P), ` +
			`which waits for python[\d.]* (P): cycle`},
	{name: "go test with a blocked goroutine", large: true, needs: []string{"go"}, ready: "ready", status: hung,
		files: map[string]string{"go.mod": "module example.com/queue\n\ngo 1.21\n", "queue_test.go": goTest},
		argv:  []string{"go", "test", "-o", "q.test"}, // so that it keeps its symbols
		want: `go (P) waits for queue.test (P), which has \d+ goroutines that wait: ` +
			`goroutine \d+ \[chan receive\] in example.com/queue.drain \(queue_test.go:8\).*`},
	{name: "go test without symbols", large: true, needs: []string{"go"}, ready: "ready", status: hung,
		files: map[string]string{"go.mod": "module example.com/queue\n\ngo 1.21\n", "queue_test.go": goTest},
		argv:  []string{"go", "test"},
		want: `go (P) waits for queue.test (P), which has \d+ goroutines that wait: ` +
			`goroutine \d+ \[chan receive\] in example.com/queue.drain \(queue_test.go:8\).*`},
	{name: "node without an answer", large: true, needs: []string{"node"}, ready: "ready", status: hung,
		files: map[string]string{"client.js": `
require('net').connect(Number(require('fs').readFileSync('port')), '127.0.0.1', () => console.log('ready'))
	.on('data', () => {});
`},
		before: silentServer, argv: []string{"node", "client.js"},
		want: `node (P) waits for an answer of hang.test (P).*`},
	{name: "busy loop", large: true, hurry: true, needs: []string{"g++"}, ready: "ready", status: unknown,
		files: map[string]string{"spin.cc": spinning}, argv: []string{"./spin"},
		want: `spin (P): thread \d+ "spin" spins in ucx::progress \(spin.cc:8\), called by ucx::wait_all ` +
			`\(spin.cc:9\), \d+ % of a CPU.*, never in a system call`},
	{name: "server is stopped", large: true, needs: []string{"redis-server", "redis-cli"}, status: hung,
		files:  map[string]string{"get": "#!/bin/sh\nexec redis-cli -p $(cat port) get x\n"},
		before: stoppedRedis, argv: []string{"./get"},
		want: `redis-cli (P) waits for its connection to be accepted by redis-server (P), another session, ` +
			`outside this tree, which is stopped by a signal \(SIGSTOP or the terminal\)`},
	{name: "reader of a pipeline is gone", large: true, hurry: true, needs: []string{"python3", "bash"},
		ready: "ready", status: unknown,
		files: map[string]string{"write.py": `
import os, sys
def produce():
    while True:
        try:
            os.write(1, b"x" * 100)
        except BrokenPipeError:
            pass
print("ready", file=sys.stderr, flush=True)
produce()
`},
		argv: []string{"bash", "-c", "python3 write.py | true; echo $?"},
		want: `bash (P) waits for python[\d.]* (P), which spins in produce \(write.py:\d+\), ` +
			`called by <module> \(write.py:10\), \d+ % of a CPU[^,]*`},
	{name: "vfork parent", needs: []string{"gcc"}, ready: "ready", status: hung,
		files: map[string]string{"vforks.c": vforks}, argv: []string{"./vforks"},
		want: `vforks (P) waits for its vfork child vforks (P), which waits for a signal`},
	{name: "daemon keeps the output", needs: []string{"bash", "setsid"}, ready: "ready", status: hung,
		argv: []string{"bash", "-c", `echo ready; x=$( (setsid sleep 1000 &) ); echo "$x"`},
		want: `bash (P) reads a pipe; its write end is held by sleep (P), parent gone, another session, ` +
			`outside this tree, which is asleep, for .* at most`},
	{name: "lock inherited over fork", needs: []string{"python3"}, ready: "ready", status: hung,
		files: map[string]string{"log.py": forkLock}, argv: []string{"python3", "log.py"},
		want: `python[\d.]* (P) waits for python[\d.]* (P), which is blocked in mutex 0x[0-9a-f…]+; ` +
			`owner thread \d+ does not exist here: lock inherited over fork`},
	{name: "go waits for the end of a pipe", large: true, needs: []string{"go", "sleep"}, ready: "ready", status: hung,
		files: map[string]string{"go.mod": "module example.com/pipe\n\ngo 1.21\n", "main.go": `package main

import (
	"fmt"
	"os/exec"
	"time"
)

func main() {
	cmd := exec.Command("sh", "-c", "sleep 1000 & sleep 0.2")
	time.AfterFunc(time.Second, func() { fmt.Println("ready") })
	cmd.CombinedOutput()
}
`},
		before: func(t *testing.T, dir string) {
			cmd := exec.Command("go", "build", "-o", "pipe", ".")
			if cmd.Dir = dir; cmd.Run() != nil {
				t.Fatal("the program does not build")
			}
		},
		argv: []string{"./pipe"},
		want: `pipe (P) reads a pipe; its write end is held by sleep (P), parent gone, outside this tree, ` +
			`which is asleep, for .* at most`},
	{name: "token of a jobserver", needs: []string{"make", "python3"}, ready: "ready", status: hung,
		files: map[string]string{"Makefile": "test:\n\t+python3 client.py\n", "client.py": `
import os, re, subprocess, sys
flags = os.environ["MAKEFLAGS"]
path = re.search(r"fifo:(\S+)", flags)
both = re.search(r"auth=(\d+),(\d+)", flags)
fds = [os.open(path[1], os.O_RDWR)] if path else [int(both[1]), int(both[2])]
subprocess.Popen(["setsid", "sleep", "1000"], pass_fds=fds)
os.read(fds[0], 1)
print("ready", flush=True)
`},
		argv: []string{"make", "-j2", "test"},
		want: `make (P) has no child and waits for a token of make's jobserver; also open in sleep (P)`},
	{name: "writers of one pipe", needs: []string{"python3"}, ready: "ready", status: hung,
		files: map[string]string{"all.py": `
import os
r, w = os.pipe()
for _ in range(5):
    if os.fork() == 0:
        break
else:
    print("ready", flush=True)
os.write(w, b"x" * 100000)
`},
		argv: []string{"python3", "all.py"},
		want: `6 processes write to the full pipe:\[\d+\]; its readers are the writers themselves`},
	{name: "tries a lock again and again", needs: []string{"python3"}, ready: "ready", status: hung,
		files: map[string]string{"lock.py": `
import fcntl, os, sys, time
f = open("lock-frontend", "w")
if len(sys.argv) > 1:
    fcntl.lockf(f, fcntl.LOCK_EX)
    print("locked", flush=True)
    time.sleep(1000)
while True:
    try:
        fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("ready", file=sys.stderr, flush=True)
        sys.stderr = open(os.devnull, "w")
        time.sleep(0.5)
`},
		before: func(t *testing.T, dir string) {
			cmd := exec.Command("python3", "lock.py", "first")
			cmd.Dir = dir
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = start(cmd)
			}
			if err != nil {
				t.Fatal(err)
			}
			out.Read(make([]byte, 16))
			t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		},
		argv: []string{"python3", "lock.py"},
		want: `python[\d.]* (P) tries again and again, with lock /.*/lock-frontend held by python[\d.]* (P).*, ` +
			`outside this tree`},
	{name: "question", needs: []string{"bash"}, input: true, ready: "Geographic", status: hung,
		argv: []string{"bash", "-c", `printf 'Configuring tzdata\nGeographic area: '; read -r area`},
		want: `bash (P) reads standard input, which is an open pipe.*; last output "Geographic area:"`},
	{name: "short of CPU", large: true, needs: []string{"gcc"}, ready: "ready", status: unknown,
		files: map[string]string{"starve.c": starvers}, argv: []string{"./starve"},
		want: `short of CPU: \d+ threads wait for one most of the time; starve (P) had one for \d+ % of it`},
	{name: "slow but moving", needs: []string{"bash"}, ready: "step 1", status: moving,
		argv: []string{"bash", "-c", `for i in $(seq 1000); do echo step $i; sleep 0.7; done`},
		want: `not hung: .*`},
	{name: "computes", large: true, hurry: true, needs: []string{"python3"}, ready: "ready", status: moving,
		files: map[string]string{"work.py": `
import json, os, re
print("ready", flush=True)
text = json.dumps([{"a": i, "b": [str(i)] * 5} for i in range(2000)])
def parse(): return len(json.loads(text))
def search(): return len(re.findall(r'"b": \[(.*?)\]', text))
def write(): return len(json.dumps(json.loads(text), indent=1))
def walk(n): return n if n < 2 else walk(n - 1) + walk(n - 2)
while True:
    parse(); search(); write(); walk(20)
`},
		argv: []string{"python3", "work.py"}, want: `not hung: .*`},
	{name: "an idle server", needs: []string{"redis-server"}, large: true, ready: "eady to accept", status: unknown,
		argv: []string{"redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", ""},
		want: `redis-server (P) waits for connections`},
	{name: "an idle server of Node.js", needs: []string{"node"}, large: true, ready: "ready", status: unknown,
		files: map[string]string{"server.js": `
require('http').createServer((q, s) => s.end()).listen(0, '127.0.0.1', () => console.log('ready'));
setInterval(() => {}, 1000);
`},
		argv: []string{"node", "server.js"}, want: `node (P) waits for connections`},
	{name: "sleeps for a while", needs: []string{"sleep"}, status: unknown, argv: []string{"sleep", "60"},
		want: `sleep (P) is asleep, for .* at most`},
}

// silentServer accepts connections and never writes. Its port is in the file port.
func silentServer(t *testing.T, dir string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	writePort(t, dir, l.Addr().(*net.TCPAddr).Port)
}

// stoppedRedis starts a server of redis and stops it. Its port is in the file port.
func stoppedRedis(t *testing.T, dir string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command("redis-server", "--port", strconv.Itoa(port), "--save", "", "--dir", dir)
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	writePort(t, dir, port)
}

func writePort(t *testing.T, dir string, port int) {
	if err := os.WriteFile(filepath.Join(dir, "port"), []byte(strconv.Itoa(port)), 0o644); err != nil {
		t.Fatal(err)
	}
}
