//go:build linux

package verdict

import "strings"

// Reasons that several rows share.
const (
	joins      = "a thread that waits for others is named, not the one at the end"
	tasks      = "tasks that all wait count as hung, though a signal or a timer could end it"
	goroutine  = "goroutines that all wait count as idle where one listens or waits for a signal"
	promises   = "of node the function that waits for a promise is not known"
	firstTask  = "of tasks the first is named, not the last of the chain"
	acceptor   = "of a server on this machine the thread that accepts is named, not the one that should answer"
	throughUs  = "who has the other end of standard input is followed to what another thread of it waits for"
	inTheWay   = "a sleeper in the way of who reads its pipe counts as hung"
	eventLoop  = "a wait of an event loop for a slow server counts as hung"
	timedFirst = "the first process waits with a time limit, and is looked at alone"
	longSteps  = "each step of a chain is written out"
)

// sometimes begins the reason of a fault that is not there each time: it need not be wrong.
const sometimes = "now and then: "

func isSteady(reason string) bool { return !strings.HasPrefix(reason, sometimes) }

type faults = map[aspect]string

// known are the rows that are judged wrong today, each with the aspect and the reason. The list shrinks.
var known = map[string]faults{
	"healthy C condition with a time limit":   {verdict: "a wait with a time limit below a join counts as hung"},
	"healthy C semaphore that a child posts":  {verdict: "a semaphore that a child posts counts as hung"},
	"healthy C token that two processes pass": {verdict: sometimes + "a sleeper that moves counts as asleep"},
	"healthy C locks that change hands":       {length: sometimes + longSteps},

	"Python two Locks in two orders": {verdict: "the holder of a threading.Lock is not known",
		function: sometimes + joins},
	"Python task waits for its own pool":                       {function: joins},
	"Python coroutine waits for a future":                      {function: firstTask},
	"Python coroutine that blocks":                             {function: acceptor, waitsFor: acceptor},
	"Python full queue beside a full queue":                    {function: joins},
	"pytest asks a server that hangs":                          {length: longSteps},
	"healthy Python asyncio waits for SIGTERM":                 {verdict: tasks},
	"healthy Python asyncio ticks":                             {verdict: sometimes + tasks},
	"healthy Python process that sends each 20 seconds":        {verdict: inTheWay},
	"healthy Python coroutine waits for a command that sleeps": {verdict: inTheWay},

	"Go reader reads again":            {verdict: goroutine, function: goroutine},
	"Go WaitGroup that is never done":  {verdict: goroutine, function: goroutine},
	"Go HTTP client without an answer": {function: acceptor},
	"go test hangs in a channel":       {function: "of goroutines that wait for others the last is not named"},
	"healthy Go goroutines compute":    {length: sometimes + longSteps},

	"Java latch that is not counted down": {verdict: sometimes + "a thread of the JVM's own wakes"},
	"healthy Java job each half minute":   {verdict: sometimes + "a thread of the JVM's own counts as hung"},

	"node promise that never settles": {function: promises},
	"node request without an answer":  {function: promises},
	"node worker waits for a message": {function: promises},
	"npm test with a child that hangs": {culprit: "a child that has our standard output is not followed",
		function: "a child that has our standard output is not followed"},
	"healthy npm run with a child that computes": {function: sometimes + "a built-in function counts as the user's"},

	"bash asks a question":               {culprit: throughUs, waitsFor: throughUs},
	"psql waits for an idle transaction": {culprit: throughUs, verdict: sometimes + throughUs},
	"gunicorn two Locks in two orders":   {verdict: timedFirst, function: timedFirst},
	"rq worker with a task that hangs":   {function: acceptor},
	"celery both workers in a task that hangs": {verdict: sometimes + acceptor, culprit: sometimes + acceptor,
		function: sometimes + acceptor},
	"healthy celery idle":                    {verdict: sometimes + eventLoop},
	"healthy make waits for a slow download": {verdict: sometimes + eventLoop},

	"run coroutine that waits for a future": {function: sometimes + firstTask},
	"saved two RLocks of Python":            {verdict: sometimes + "supposed where a thread ran between the readings"},
}
