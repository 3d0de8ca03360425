//go:build linux

package verdict

import "path/filepath"

// Programs of Node.js.
var nodeRows = []row{
	// That hang.
	{name: "node promise that never settles", needs: node, files: one("settle.js"),
		argv:  []string{"node", "settle.js"},
		ready: "ready", is: truth{state: hangs, culprit: "settle.js", function: "bundle"}},
	{name: "node request without an answer", needs: append(node, "python3"), files: []string{"fetch.js", "silent.py"},
		start: silent, argv: []string{"node", "fetch.js"}, ready: "ready",
		is: truth{state: hangs, culprit: "fetch.js|silent.py", function: "fetchRows|ignore"}},
	{name: "node program that npm installed", needs: node, ready: "ready",
		texts: map[string]string{"node_modules/tool/cli.js": "const word = new Int32Array(new SharedArrayBuffer(4))\n" +
			"function ask() {\n  Atomics.wait(word, 0, 0)  // HERE\n}\nconsole.log('ready')\nask()\n"},
		argv: []string{"node", "node_modules/tool/cli.js"},
		is:   truth{state: hangs, culprit: "cli.js", function: "ask", waits: []string{"condition"}}},
	{name: "npm test with a child that hangs", needs: append(node, "npm"), ready: "ready",
		files: []string{"package.json", "suite.js", "locked.js"}, argv: []string{"npm", "test"},
		is: truth{state: hangs, culprit: "node.*locked.js", function: "acquire", waits: []string{"condition"}}},
	{name: "node waits for a command that waits for a FIFO", needs: node, files: one("sync.js"),
		argv: []string{"node", "sync.js"}, ready: "ready", is: truth{state: hangs, culprit: "^cat in",
			waits: []string{"open"}}},
	{name: "node loop", needs: node, files: one("loop.js"), argv: []string{"node", "loop.js"},
		ready: "ready", cpu: true,
		is: truth{state: spins, culprit: "loop.js", function: "poll"}},
	{name: "node:test without an answer", needs: append(node, "python3"), files: []string{"case.test.js",
		"silent.py"},
		start: silent, argv: []string{"node", "--test", "case.test.js"}, ready: "ready",
		is: truth{state: hangs, culprit: "case.test.js|silent.py", test: "case.test.js:6 asks for rows"}},
	{name: "jest without an answer", needs: append(jest[:2:2], "python3"), files: []string{"rows.test.js", "silent.py"},
		start: silent, argv: append(jest[:3:3], "rows.test.js"), ready: "ready",
		is: truth{state: hangs, culprit: "rows.test.js|silent.py", test: "rows.test.js rows > asks for rows"}},
	{name: "jest in a loop", needs: jest[:2], files: one("poll.test.js"), argv: append(jest[:3:3], "poll.test.js"),
		ready: "ready", cpu: true,
		is: truth{state: spins, culprit: "poll.test.js", function: "poll", test: "poll.test.js:7"}},
	{name: "node worker waits for a message", needs: node, files: one("workers.js"),
		argv:  []string{"node", "workers.js"},
		ready: "ready", is: truth{state: hangs, culprit: "workers.js", function: "receive"}},
	{name: "express route without an answer of the database", needs: append(node, servers+"/express", "python3"),
		files: []string{"express.js", "silent.py"}, start: silent, argv: []string{"node", "express.js"},
		env: []string{"NODE_PATH=" + servers}, ready: "ready",
		is: truth{state: hangs, culprit: "express.js|silent.py", function: "loadOrder|ignore"}},

	// That are healthy.
	{name: "healthy node idle HTTP server", needs: node, files: one("idle.js"), argv: []string{"node", "idle.js"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy npm start of an idle server", needs: append(node, "npm"), files: []string{"package.json",
		"idle.js"},
		argv: []string{"npm", "start"}, ready: "ready", is: truth{state: healthy}},
	{name: "healthy npm run with a child that computes", needs: append(node, "npm"), ready: "ready", cpu: true,
		files: []string{"package.json", "build.js", "work.js"}, argv: []string{"npm", "run", "build"},
		is: truth{state: healthy, culprit: "work.js", function: "parse|match|join|<anonymous>"}},
	{name: "healthy node batch behind a limit", needs: node, files: one("limited.js"),
		argv: []string{"node", "limited.js"}, ready: "ready", is: truth{state: healthy}},
	{name: "healthy node server with an idle helper", needs: node, files: one("helper.js"),
		argv: []string{"node", "helper.js"}, ready: "ready", is: truth{state: healthy}},
	{name: "healthy node command that sleeps", needs: node, files: one("exec.js"), argv: []string{"node", "exec.js"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy node worker computes", needs: node, files: one("busyworker.js"), ready: "ready", cpu: true,
		argv: []string{"node", "busyworker.js"}, is: truth{state: healthy}},
}

var node = []string{"node"}

// jest is a command, of programs that are to be there: what scripts/build-node brings.
var jest = []string{"node", root("testdata/bin/javascript/jest/node_modules/.bin/jest"), "--config={}"}

// servers is where scripts/build-node has what servers are made of.
var servers = root("testdata/bin/javascript/servers/node_modules")

// root is a path of the repository.
func root(path string) string {
	here, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return filepath.Join(here, path)
}
