//go:build linux

package verdict

// Programs in Python.
var pythonRows = []row{
	// That hang.
	{name: "Python two Locks in two orders", needs: python, files: one("abba.py"), ready: "ready",
		argv: []string{"python3", "abba.py", "Lock"},
		is:   truth{state: hangs, kinds: deadlock, culprit: "abba.py", function: "take"}},
	{name: "Python two RLocks in two orders", needs: python, files: one("abba.py"), ready: "ready",
		argv: []string{"python3", "abba.py", "RLock"},
		is:   truth{state: hangs, kinds: deadlock, culprit: "abba.py", function: "take"}},
	{name: "Python Queue.join after the worker died", needs: python, files: one("died.py"), ready: "ready",
		argv: []string{"python3", "died.py"}, is: truth{state: hangs, culprit: "died.py", function: "finish"}},
	{name: "Python task waits for its own pool", needs: python, files: one("nested.py"), ready: "ready",
		argv: []string{"python3", "nested.py"}, is: truth{state: hangs, culprit: "nested.py", function: "outer"}},
	{name: "Python Pool.map with a task that hangs", needs: python, files: one("pool.py"), ready: "ready",
		argv: []string{"python3", "pool.py"}, is: truth{state: hangs, culprit: "pool.py", marked: true,
			function: "load",
			waits:    []string{"socket-data"}}},
	{name: "Python Pool.map after a worker was killed", needs: python, files: one("killed.py"), ready: "ready",
		argv: []string{"python3", "killed.py"}, is: truth{state: hangs, culprit: "killed.py", function: "run"}},
	{name: "Python Popen.wait with a full pipe", needs: python, files: []string{"pipe.py", "child.py"},
		ready: "ready",
		argv:  []string{"python3", "pipe.py"}, is: truth{state: hangs, culprit: "pipe.py|child.py",
			function: "build|emit",
			waits:    []string{"pipe-room", "child"}}},
	{name: "Python coroutine waits for a future", needs: python, files: one("settle.py"), ready: "ready",
		argv: []string{"python3", "settle.py"}, is: truth{state: hangs, culprit: "settle.py", function: "fetch"}},
	{name: "Python tasks wait for a Lock of another", needs: python, files: one("tasklock.py"), ready: "ready",
		argv: []string{"python3", "tasklock.py", "stuck"},
		is:   truth{state: hangs, culprit: "tasklock.py", function: "refill"}},
	{name: "Python tasks take two Locks in two orders", needs: python, files: one("taskcross.py"), ready: "ready",
		argv: []string{"python3", "taskcross.py"},
		is:   truth{state: hangs, kinds: deadlock, culprit: "taskcross.py", function: "transfer"}},
	{name: "healthy Python tasks take two Locks in two orders with a limit", needs: python,
		files: one("taskcross.py"), ready: "ready",
		argv: []string{"python3", "taskcross.py", "limited"}, is: truth{state: healthy}},
	{name: "Python child is joined before its queue is read", needs: python, files: one("fullqueue.py"),
		ready: "ready",
		argv:  []string{"python3", "fullqueue.py"}, is: truth{state: hangs, culprit: "fullqueue.py"}},
	{name: "Python program that pip installed", needs: python, ready: "ready",
		texts: map[string]string{"site-packages/tool/__init__.py": "", "site-packages/tool/__main__.py": installed},
		argv:  []string{"python3", "-m", "tool"}, env: []string{"PYTHONPATH=site-packages"},
		is: truth{state: hangs, culprit: "tool", function: "serve"}},
	{name: "Python tasks wait for a Lock of nobody", needs: python, files: one("tasklock.py"), ready: "ready",
		argv: []string{"python3", "tasklock.py", "forgotten"},
		is:   truth{state: hangs, culprit: "tasklock.py", function: "checkout"}},
	{name: "Python coroutine that blocks", needs: python, files: []string{"blocks.py", "silent.py"}, ready: "ready",
		start: silent, argv: []string{"python3", "blocks.py"},
		is: truth{state: hangs, culprit: "blocks.py|silent.py", function: "request|ignore",
			waits: []string{"socket-data"}}},
	{name: "Python Event that is not set", needs: python, files: one("event.py"), ready: "ready",
		argv: []string{"python3", "event.py"}, is: truth{state: hangs, culprit: "event.py", function: "await_start"}},
	{name: "Python full queue beside a full queue", needs: python, files: one("condition.py"), ready: "ready",
		argv: []string{"python3", "condition.py"},
		is:   truth{state: hangs, culprit: "condition.py", function: "produce|consume"}},
	{name: "Python pool whose connections are not given back", needs: python, files: one("connpool.py"),
		ready: "ready",
		argv:  []string{"python3", "connpool.py", "leak"},
		is:    truth{state: hangs, culprit: "connpool.py", function: "checkout"}},
	{name: "AnyIO request without an answer", needs: withAnyIO, files: []string{"anyio_request.py", "silent.py"},
		start: silent, argv: anyio("anyio_request.py"), ready: "ready",
		is: truth{state: hangs, culprit: "anyio_request.py|silent.py", function: "request|ignore"}},
	{name: "AnyIO two Locks in two orders", needs: withAnyIO, files: one("anyio_locks.py"),
		argv: anyio("anyio_locks.py"), ready: "ready",
		is: truth{state: hangs, kinds: deadlock, culprit: "anyio_locks.py", function: "transfer"}},
	{name: "Python lock inherited over fork", needs: python, files: one("forklock.py"), ready: "ready",
		argv: []string{"python3", "forklock.py"},
		is:   truth{state: hangs, culprit: "forklock.py", marked: true, function: "child"}},
	{name: "pytest hangs in a queue", needs: pytest, files: one("test_slow.py"), ready: "ready",
		argv: []string{"/usr/bin/python3", "-m", "pytest", "-q", "test_slow.py"},
		is:   truth{state: hangs, culprit: "pytest", function: "wait_for_row", test: "test_slow.py::test_rows"}},
	{name: "pytest asks a server that hangs", needs: pytest, files: []string{"fixture.py", "backend.py"},
		ready: "ready",
		argv:  []string{"/usr/bin/python3", "-m", "pytest", "-q", "fixture.py"},
		is:    truth{state: hangs, culprit: "backend.py", function: "query"}},
	{name: "Python client, proxy, server that hangs", needs: python, ready: "ready",
		files: []string{"client.py", "proxy.py", "backend.py"}, argv: []string{"python3", "client.py", "proxyport"},
		start: beside([]string{"python3", "backend.py"}, "port", []string{"python3", "proxy.py"}, "proxyport"),
		is:    truth{state: hangs, culprit: "backend.py", function: "query"}},

	// That are healthy.
	{name: "healthy Python idle HTTP server", needs: python, files: one("server.py"), ready: "ready",
		argv: []string{"python3", "server.py"}, is: truth{state: healthy}},
	{name: "healthy AnyIO idle server", needs: withAnyIO, files: one("anyio_server.py"),
		argv: anyio("anyio_server.py"), ready: "ready", is: truth{state: healthy}},
	{name: "healthy Python pool whose connections come back", needs: python, files: one("connpool.py"),
		ready: "ready",
		argv:  []string{"python3", "connpool.py", "turns"}, is: truth{state: healthy}},
	{name: "healthy Python asyncio waits for SIGTERM", needs: python, files: one("sighandler.py"), ready: "ready",
		argv: []string{"python3", "sighandler.py"}, is: truth{state: healthy}},
	{name: "healthy Python asyncio ticks", needs: python, files: one("ticks.py"), ready: "ready",
		argv: []string{"python3", "ticks.py"}, is: truth{state: healthy}},
	{name: "healthy Python pool computes", needs: python, files: one("compute.py"), ready: "ready", cpu: true,
		argv: []string{"python3", "compute.py"},
		is:   truth{state: healthy, culprit: "compute.py", function: "parse|digest|shard"}},
	{name: "healthy Python batch behind a limit", needs: python, files: one("limited.py"), ready: "ready",
		argv: []string{"python3", "limited.py"}, is: truth{state: healthy}},
	{name: "healthy Python collects garbage", needs: python, files: one("garbage.py"), ready: "ready", cpu: true,
		argv: []string{"python3", "garbage.py"},
		is:   truth{state: healthy, culprit: "garbage.py", function: "grow|<module>"}},
	{name: "healthy Python idle consumers", needs: python, files: one("consumer.py"), ready: "ready",
		argv: []string{"python3", "consumer.py"}, is: truth{state: healthy}},
	{name: "healthy Python idle executor", needs: python, files: one("executor.py"), ready: "ready",
		argv: []string{"python3", "executor.py"}, is: truth{state: healthy}},
	{name: "healthy Python tries to connect", needs: python, files: one("retry.py"), ready: "ready",
		argv: []string{"python3", "retry.py"}, is: truth{state: healthy}},
	{name: "healthy Python waits for a child that works", needs: python, files: one("heartbeat.py"), ready: "ready",
		argv: []string{"python3", "heartbeat.py"}, is: truth{state: healthy}},
	{name: "healthy pytest with slow steps", needs: pytest, files: one("test_healthy.py"), ready: "ready",
		argv: []string{"/usr/bin/python3", "-m", "pytest", "-q", "test_healthy.py"}, is: truth{state: healthy}},
	{name: "healthy Python lock whose holder sleeps", needs: python, files: one("sleeping_holder.py"), ready: "ready",
		argv: []string{"python3", "sleeping_holder.py"}, is: truth{state: healthy}},
	{name: "healthy Python task that sleeps", needs: python, files: one("sleeping_task.py"), ready: "ready",
		argv: []string{"python3", "sleeping_task.py"}, is: truth{state: healthy}},
	{name: "healthy Python tasks wait for a Lock of one that sleeps", needs: python, files: one("tasklock.py"),
		ready: "ready", argv: []string{"python3", "tasklock.py", "sleeps"}, is: truth{state: healthy}},
	{name: "healthy Python coroutine waits for a command that sleeps", needs: python,
		files: one("sleeping_child.py"), ready: "ready",
		argv: []string{"python3", "sleeping_child.py"}, is: truth{state: healthy}},
	{name: "healthy Python process that sends each 20 seconds", needs: python, files: one("sleeping_producer.py"),
		ready: "ready",
		argv:  []string{"python3", "sleeping_producer.py"}, is: truth{state: healthy}},
}

var (
	python = []string{"python3"}
	pytest = []string{"/usr/bin/python3", "/usr/lib/python3/dist-packages/pytest"}
)

// installed is a program all of which is in a folder where pip puts it: it waits for what nobody puts into a queue.
const installed = "import queue\ndef serve(jobs):\n    jobs.get()  # HERE\ndef main():\n" +
	"    print('ready', flush=True)\n    serve(queue.Queue())\nmain()\n"

// withAnyIO are Debian's Python and what scripts/build-python gets for it.
var withAnyIO = []string{"/usr/bin/python3", root("testdata/bin/python/packages-3.11/anyio")}

// anyio runs a program with these packages, in a folder that is called as that where pip puts them.
func anyio(program string) []string {
	return []string{"sh", "-c", "ln -s " + root("testdata/bin/python/packages-3.11") + " site-packages && " +
		"PYTHONPATH=site-packages exec " + withAnyIO[0] + " " + program}
}
