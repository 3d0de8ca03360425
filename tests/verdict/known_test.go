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
	"C barrier that one never reaches":        {function: joins, waitsFor: joins},
	"C holder of a lock reads a socket":       {function: joins, waitsFor: joins},
	"C reads its own pipe":                    {function: joins, waitsFor: joins},
	"C static two locks":                      {function: "functions of a libc that is linked in count as the user's own"},
	"C musl two locks":                        {function: joins},
	"C two readers want to write":             {function: joins, waitsFor: joins},
	"healthy C child computes":                {verdict: computes},
	"healthy C idle pool":                     {verdict: fromSign},
	"healthy C pipe of SIGCHLD, child sleeps": {verdict: atRest},
	"healthy C semaphore that SIGALRM posts":  {verdict: atRest},
	"healthy C waits for SIGHUP":              {verdict: fromSign},

	"healthy C locks that change hands":            {length: sometimes + pathNames},
	"healthy C token that two processes pass":      {verdict: sometimes + "a sleeper that moves counts as asleep"},
	"healthy C condition with a time limit":        {verdict: "a wait with a time limit below a join counts as hung"},
	"healthy C semaphore that a child posts":       {verdict: "a semaphore that a child posts counts as hung"},
	"healthy C sigsuspend for a child that sleeps": {verdict: fromSign},

	"Python two Locks in two orders":      {verdict: "the holder of a threading.Lock is not known"},
	"Python task waits for its own pool":  {function: joins},
	"Python coroutine waits for a future": {function: "of tasks the first is named, not the last of the chain"},
	"Python coroutine that blocks": {function: outside,
		waitsFor: "the server's first thread is named, not the one that reads"},
	"Python full queue beside a full queue":             {function: joins},
	"Python lock inherited over fork":                   {culprit: joins, function: joins},
	"pytest asks a server that hangs":                   {culprit: joins, function: joins},
	"Python client, proxy, server that hangs":           {function: outside},
	"healthy Python asyncio waits for SIGTERM":          {verdict: tasks},
	"healthy Python asyncio ticks":                      {verdict: tasks},
	"healthy Python process that sends each 20 seconds": {verdict: atRest},
	"healthy Python pool computes":                      {culprit: rightName, function: rightName},
	"healthy Python collects garbage":                   {verdict: computes},

	"Go two mutexes in two orders":    {verdict: goroutine, function: goroutine},
	"Go reader reads again":           {verdict: goroutine, culprit: sometimes + goroutine, function: goroutine},
	"Go WaitGroup that is never done": {verdict: goroutine, culprit: sometimes + goroutine, function: goroutine},
	"Go HTTP client without an answer": {verdict: sometimes + goroutine, culprit: sometimes + goroutine,
		function: outside},
	"Go grandchild keeps a pipe":    {verdict: sometimes + goroutine, culprit: sometimes + goroutine},
	"Go sender without a receiver":  {function: "goroutine 1 is named, which waits for another"},
	"go test hangs in a channel":    {function: "goroutine of the test is named, which waits for that of its subtest"},
	"healthy Go ticker":             {verdict: sometimes + "a thread without a goroutine counts as hung"},
	"healthy Go goroutines compute": {culprit: rightName, function: rightName, length: sometimes + pathNames},

	"healthy Java job each half minute": {verdict: "a thread of the JVM's own counts as hung"},

	"node promise that never settles":                {function: promises},
	"node request without an answer":                 {function: promises},
	"node worker waits for a message":                {function: joins},
	"npm test with a child that hangs":               {culprit: joins, function: joins},
	"node waits for a command that waits for a FIFO": {culprit: joins, waitsFor: joins},
	"healthy npm start of an idle server":            {verdict: sometimes + eventLoop},
	"healthy npm run with a child that computes":     {verdict: atRest, culprit: joins, function: joins},
	"healthy node server with an idle helper":        {verdict: eventLoop},

	"bash pipeline behind a locked file": {length: pathNames},
	"make -j2 below make":                {length: sometimes + pathNames},
	"xargs -P2 with a command that hangs": {culprit: "sh's wait for its children is a wait for a signal",
		waitsFor: fromSign},
	"healthy make -j2 computes":                {verdict: computes},
	"healthy make -j2 below make computes":     {verdict: computes},
	"healthy flock behind a job that computes": {verdict: computes},
	"healthy make waits for a slow download":   {verdict: eventLoop},
	"healthy ninja computes":                   {verdict: computes},
	"healthy tail -f":                          {verdict: "a wait for a change of a file counts as hung"},
	"healthy timeout of a sleep":               {verdict: fromSign},

	"curl, nginx, backend that hangs":    {function: outside},
	"psql waits for an idle transaction": {culprit: notBeyond},
	"gunicorn two Locks in two orders": {verdict: "the first process waits with a time limit, and is looked at alone",
		function: "the first process waits with a time limit, and is looked at alone", length: listing},
	"rq worker with a task that hangs":           {culprit: eventLoop, function: eventLoop},
	"celery both workers in a task that hangs":   {culprit: eventLoop, function: eventLoop},
	"healthy celery idle":                        {length: listing},
	"healthy gunicorn idle":                      {length: listing},
	"healthy rq worker idle":                     {verdict: eventLoop},
	"healthy curl of a slow download":            {verdict: eventLoop},
	"healthy curl, nginx, backend that computes": {verdict: notBeyond},
	"healthy psql waits for pg_sleep":            {verdict: eventLoop},

	"run coroutine that waits for a future": {function: "of tasks the first is named, not the last of the chain"},

	"saved two RLocks of Python": {verdict: sometimes + "supposed where a thread ran between the readings"},
}
