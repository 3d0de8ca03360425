//go:build linux

package verdict

import "strings"

// Reasons that several rows share.
const (
	joins     = "of a cycle at rest the thread that joins the others is named"
	atRest    = "a cycle at rest counts as hung, though a signal handler or a child could end it"
	fromSign  = "a wait for a signal that has a handler, or is waited for by sigwait, counts as hung"
	computes  = "work in one function counts as a loop"
	outside   = "what is outside of the tree is not sampled: no function"
	notBeyond = "a connection is followed one process far"
	promises  = "of node the function that waits for a promise is not known"
	goroutine = "goroutines that all wait are work for an idle runtime, where one of them listens or waits for a signal"
	eventLoop = "a wait of an event loop for an idle helper or server counts as hung"
	rightName = "of what moves nothing is named"
	tasks     = "tasks that all wait count as hung, though a signal or a timer could end it"
	listing   = "a sentence lists all descriptors of a set"
	pathNames = "a sentence has whole paths and each step"
)

// sometimes begins the reason of a fault that is not there each time: it need not be wrong.
const sometimes = "now and then: "

func isSteady(reason string) bool { return !strings.HasPrefix(reason, sometimes) }

type faults = map[aspect]string

// known are the rows that are judged wrong today, each with the aspect and the reason. The list shrinks.
var known = map[string]faults{
	"C static two locks": {function: sometimes + "functions of a libc that is linked in count as the user's own"},

	"healthy C locks that change hands":            {length: sometimes + pathNames},
	"healthy C token that two processes pass":      {verdict: sometimes + "a sleeper that moves counts as asleep"},
	"healthy C condition with a time limit":        {verdict: sometimes + "a wait with a time limit below a join counts as hung"},
	"healthy C semaphore that a child posts":       {verdict: sometimes + "a semaphore that a child posts counts as hung"},
	"healthy C sigsuspend for a child that sleeps": {verdict: sometimes + fromSign},

	"Python two Locks in two orders":      {verdict: sometimes + "the holder of a threading.Lock is not known"},
	"Python task waits for its own pool":  {function: sometimes + joins},
	"Python coroutine waits for a future": {function: sometimes + "of tasks the first is named, not the last of the chain"},
	"Python coroutine that blocks": {function: sometimes + outside,
		waitsFor: sometimes + "the server's first thread is named, not the one that reads"},
	"Python full queue beside a full queue":             {function: sometimes + joins},
	"pytest asks a server that hangs":                   {culprit: sometimes + joins, function: sometimes + joins},
	"Python client, proxy, server that hangs":           {function: sometimes + outside},
	"healthy Python asyncio waits for SIGTERM":          {verdict: sometimes + tasks},
	"healthy Python asyncio ticks":                      {verdict: sometimes + tasks},
	"healthy Python process that sends each 20 seconds": {verdict: sometimes + atRest},

	"Go two mutexes in two orders":    {verdict: sometimes + goroutine, function: sometimes + goroutine},
	"Go reader reads again":           {verdict: sometimes + goroutine, culprit: sometimes + goroutine, function: sometimes + goroutine},
	"Go WaitGroup that is never done": {verdict: sometimes + goroutine, culprit: sometimes + goroutine, function: sometimes + goroutine},
	"Go HTTP client without an answer": {verdict: sometimes + goroutine, culprit: sometimes + goroutine,
		function: sometimes + outside},
	"Go grandchild keeps a pipe":    {verdict: sometimes + goroutine, culprit: sometimes + goroutine},
	"Go sender without a receiver":  {function: sometimes + "goroutine 1 is named, which waits for another"},
	"go test hangs in a channel":    {function: sometimes + "goroutine of the test is named, which waits for that of its subtest"},
	"healthy Go ticker":             {verdict: sometimes + "a thread without a goroutine counts as hung"},
	"healthy Go goroutines compute": {length: sometimes + pathNames},

	"healthy Java job each half minute": {verdict: "a thread of the JVM's own counts as hung"},

	"node promise that never settles":         {function: promises},
	"node request without an answer":          {function: promises},
	"node worker waits for a message":         {function: joins},
	"npm test with a child that hangs":        {culprit: sometimes + joins, function: sometimes + joins},
	"healthy npm start of an idle server":     {verdict: sometimes + eventLoop},
	"healthy node server with an idle helper": {verdict: sometimes + eventLoop},

	"make -j2 below make": {length: sometimes + pathNames},
	"healthy tail -f":     {verdict: sometimes + "a wait for a change of a file counts as hung"},

	"psql waits for an idle transaction": {culprit: sometimes + notBeyond},
	"gunicorn two Locks in two orders": {verdict: sometimes + "the first process waits with a time limit, and is looked at alone",
		function: sometimes + "the first process waits with a time limit, and is looked at alone"},
	"rq worker with a task that hangs":         {culprit: sometimes + eventLoop, function: sometimes + eventLoop},
	"celery both workers in a task that hangs": {culprit: sometimes + eventLoop, function: sometimes + eventLoop},

	"run coroutine that waits for a future": {function: sometimes + "of tasks the first is named, not the last of the chain"},

	"saved two RLocks of Python": {verdict: sometimes + "supposed where a thread ran between the readings"},
}
