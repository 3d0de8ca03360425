package dump

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestNameWaits: what virtual threads wait for is named by the methods that they are in, where it is something that
// their runtime does not say; nothing is said of other fibers.
func TestNameWaits(t *testing.T) {
	const park, yield = "java.util.concurrent.locks.LockSupport.park", "jdk.internal.vm.Continuation.yield0"
	for _, c := range []struct {
		name      string
		kind      profile.Kind
		fiber     profile.Fiber
		functions []string
		state     string
		wait      profile.FiberWait
	}{
		{"a pool of HikariCP", profile.Java, profile.Fiber{}, []string{yield, park,
			"java.util.concurrent.SynchronousQueue.poll", "com.zaxxer.hikari.util.ConcurrentBag.borrow",
			"com.zaxxer.hikari.pool.HikariPool.getConnection"},
			"parked, for a connection of a HikariCP pool that has none free", ""},
		{"a semaphore", profile.Java, profile.Fiber{}, []string{yield, park, "java.util.concurrent.Semaphore.acquire",
			"shop.Cart.total"}, "parked, for a Semaphore", ""},
		{"sleeps", profile.Java, profile.Fiber{}, []string{yield, "java.lang.VirtualThread.sleepNanos",
			"java.lang.Thread.sleep"}, "parked, sleeps", ""},
		{"a lock that the runtime knows", profile.Java, profile.Fiber{Object: 0x1000}, []string{yield, park},
			"parked", ""},
		{"one that runs", profile.Java, profile.Fiber{Wait: profile.FiberRuns}, []string{yield, park}, "parked",
			profile.FiberRuns},
		{"own code", profile.Java, profile.Fiber{}, []string{yield, "shop.Cart.total"}, "parked", ""},
		{"no stack", profile.Java, profile.Fiber{}, nil, "parked", ""},
		{"one whose stack is missing", profile.Java, profile.Fiber{Missing: "not copied"}, []string{yield, park},
			"parked", ""},
		{"another language", profile.Native, profile.Fiber{}, []string{park}, "parked", ""},
	} {
		s := profile.FiberStack{}
		for _, f := range c.functions {
			s.Stack.Frames = append(s.Stack.Frames, profile.Frame{Func: f, Kind: c.kind})
		}
		c.fiber.State = "parked"
		d := &profile.Dump{Fibers: []profile.Fiber{c.fiber}, FiberStacks: []profile.FiberStack{s}}
		nameWaits(d)
		if f := d.Fibers[0]; f.State != c.state || f.Wait != c.wait {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, f.State, f.Wait, c.state, c.wait)
		}
	}
}
