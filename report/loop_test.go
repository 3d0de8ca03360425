package report

import (
	"time"

	"github.com/fpstack/fpstack/profile"
)

// waitsInLoops is a dump of two threads with one stack, of which each waits in an event loop of its own.
func waitsInLoops() *profile.Dump {
	d := one(redis().Threads[0].Stack)
	second := d.Threads[0]
	second.TID++
	d.Threads = append(d.Threads, second)
	d.Threads[0].Loop = &profile.Loop{Requests: 1, Handles: []profile.Handle{
		{Kind: "async", FD: -1, Internal: true},
		{Kind: "tcp", Keeps: true, FD: 22, File: "tcp 127.0.0.1:80 LISTEN", Object: "Server", Calls: []profile.Call{
			{Event: "request", Func: "onRequest", File: "/srv/app.js", Line: 2},
			{Event: "error\x1b[31m", Func: "<anonymous>", File: "/srv/\xff.js"}}},
		{Kind: "fs_event", Keeps: true, FD: -1, Detail: "/etc/\nhosts", Object: "FSWatcher"},
		{Kind: "timer", Keeps: true, FD: -1, HasIn: true, In: 4132 * time.Millisecond, Every: 5 * time.Second},
		{Kind: "timer", FD: -1, HasIn: true, In: -3 * time.Millisecond, Object: "Timeout", Calls: []profile.Call{
			{Func: "main", File: "/srv/app.js", Line: 13, Async: true}, {Func: "<anonymous>"}}},
		{Kind: "request", Keeps: true, FD: -1, Detail: "example.org:443", Object: "TCPConnectWrap"},
	}}
	many := &profile.Loop{Problem: "2 handles were found of the 3 that keep the loop"}
	for i := range maxHandles + 3 {
		many.Handles = append(many.Handles, profile.Handle{Kind: "pipe", Keeps: true, FD: 7 + i})
	}
	for range 4 {
		many.Handles = append(many.Handles, profile.Handle{Kind: "tcp", Keeps: true, FD: -1})
	}
	d.Threads[1].Loop = many
	return d
}
