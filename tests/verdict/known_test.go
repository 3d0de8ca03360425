//go:build linux

package verdict

import "strings"

// Reasons that several rows share.
const (
	joins      = "of a cycle at rest the thread that joins the others is named"
	atRest     = "a cycle at rest counts as hung, though a signal handler or a child could end it"
	fromSign   = "a wait for a signal that has a handler, or is waited for by sigwait, counts as hung"
	computes   = "work in one function counts as a loop"
	outside    = "what is outside of the tree is not sampled: no function"
	notBeyond  = "a connection is followed one process far"
	promises   = "of node the function that waits for a promise is not known"
	goroutine  = "goroutines that all wait are work for an idle runtime, where one of them listens"
	eventLoop  = "a wait of an event loop for an idle helper or server counts as hung"
	rightName  = "of what moves nothing is named"
	tasks      = "tasks that all wait count as hung, though a signal or a timer could end it"
	firstTask  = "of tasks the first is named, not the last of the chain"
	inTheWay   = "a sleeper in the way of who reads its pipe counts as hung"
	idleServer = "a server is asked for one connection, not whether any of its threads answers this one"
	full       = "a full pipe is not seen while the machine is busy"
	listing    = "a sentence lists all descriptors of a set"
	throughUs  = "who holds standard input is followed to a child of its own"
	pathNames  = "a sentence has whole paths and each step"
)

// sometimes begins the reason of a fault that is not there each time: it need not be wrong.
const sometimes = "now and then: "

func isSteady(reason string) bool { return !strings.HasPrefix(reason, sometimes) }

type faults = map[aspect]string

// known are the rows that are judged wrong today, each with the aspect and the reason. The list shrinks.
var known = map[string]faults{

	"healthy C locks that change hands":       {length: sometimes + pathNames},
	"healthy C token that two processes pass": {verdict: sometimes + "a sleeper that moves counts as asleep"},
	"healthy C condition with a time limit": {
		verdict: sometimes + "a wait with a time limit below a join counts as hung",
	},
	"healthy C semaphore that a child posts": {verdict: sometimes + "a semaphore that a child posts counts as hung"},

	"Python two Locks in two orders":                    {verdict: sometimes + "who holds a Lock is not known"},
	"Python task waits for its own pool":                {function: sometimes + joins},
	"Python coroutine waits for a future":               {function: sometimes + firstTask},
	"Python full queue beside a full queue":             {function: sometimes + joins},
	"pytest asks a server that hangs":                   {culprit: sometimes + joins, function: sometimes + joins},
	"healthy Python asyncio waits for SIGTERM":          {verdict: sometimes + tasks},
	"healthy Python asyncio ticks":                      {verdict: sometimes + tasks},
	"healthy Python process that sends each 20 seconds": {verdict: sometimes + atRest},

	"Go two mutexes in two orders": {verdict: sometimes + goroutine, function: sometimes + goroutine},
	"Go reader reads again": {
		verdict:  sometimes + goroutine,
		culprit:  sometimes + goroutine,
		function: sometimes + goroutine,
	},
	"Go WaitGroup that is never done": {
		verdict:  sometimes + goroutine,
		culprit:  sometimes + goroutine,
		function: sometimes + goroutine,
	},
	"Go HTTP client without an answer": {
		verdict:  sometimes + goroutine,
		culprit:  sometimes + goroutine,
		function: sometimes + outside,
	},
	"Go grandchild keeps a pipe":    {verdict: sometimes + goroutine, culprit: sometimes + goroutine},
	"Go sender without a receiver":  {function: sometimes + "goroutine 1 is named, which waits for another"},
	"healthy Go ticker":             {verdict: sometimes + "a thread without a goroutine counts as hung"},
	"healthy Go goroutines compute": {length: sometimes + pathNames},

	"node promise that never settles":         {function: promises},
	"node request without an answer":          {function: promises},
	"node worker waits for a message":         {function: sometimes + joins},
	"npm test with a child that hangs":        {culprit: sometimes + joins, function: sometimes + joins},
	"healthy npm start of an idle server":     {verdict: sometimes + eventLoop},
	"healthy node server with an idle helper": {verdict: sometimes + eventLoop},

	"make -j2 below make": {length: sometimes + pathNames},
	"healthy tail -f":     {verdict: sometimes + "a wait for a change of a file counts as hung"},

	"gunicorn two Locks in two orders": {
		verdict:  sometimes + "the first process waits with a time limit, and is looked at alone",
		function: sometimes + "the first process waits with a time limit, and is looked at alone",
	},
	"healthy psql waits for pg_sleep": {verdict: eventLoop},

	"run coroutine that waits for a future": {function: sometimes + firstTask},

	"saved two RLocks of Python": {verdict: sometimes + "supposed where a thread ran between the readings"},
	"rq worker with a task that hangs": {
		verdict:  sometimes + idleServer,
		culprit:  sometimes + idleServer,
		function: sometimes + idleServer,
	},
	"celery both workers in a task that hangs": {
		verdict:  sometimes + idleServer,
		culprit:  sometimes + idleServer,
		function: sometimes + idleServer,
	},
	"psql waits for an idle transaction": {verdict: sometimes + idleServer, culprit: sometimes + idleServer},
	"Python coroutine that blocks": {
		verdict:  sometimes + idleServer,
		function: sometimes + idleServer,
		waitsFor: sometimes + idleServer,
	},
	"Python client, proxy, server that hangs": {
		culprit: sometimes + notBeyond, function: sometimes + notBeyond,
	},
	"healthy Python coroutine waits for a command that sleeps": {verdict: inTheWay},
	"C both sides of two pipes write": {verdict: sometimes + full,
		culprit: sometimes + full, function: sometimes + full, waitsFor: sometimes + full},
	"healthy npm run with a child that computes": {verdict: sometimes + atRest,
		culprit: sometimes + joins, function: sometimes + joins},
	"healthy Java job each half minute": {verdict: sometimes + "a thread of the JVM's own counts as hung"},
	"go test hangs in a channel": {
		function: sometimes + "the test is named, which waits for its subtest",
		length:   sometimes + pathNames,
	},
	"Java latch that is not counted down":    {verdict: sometimes + idleServer},
	"bash asks a question":                   {culprit: sometimes + throughUs, waitsFor: sometimes + throughUs},
	"healthy celery idle":                    {verdict: sometimes + eventLoop},
	"healthy make waits for a slow download": {verdict: sometimes + eventLoop},
}
