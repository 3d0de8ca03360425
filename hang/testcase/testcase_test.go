package testcase

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// frames makes a stack of functions and files, innermost first.
func frames(kind profile.Kind, names ...string) []profile.Frame {
	var out []profile.Frame
	for i := 0; i+1 < len(names); i += 2 {
		out = append(out, profile.Frame{Kind: kind, Func: names[i], File: names[i+1], Line: 10 + i, Module: -1})
	}
	return out
}

// TestOf: the test of each runner, as its frames are on real stacks (tests/run has these).
func TestOf(t *testing.T) {
	const python, jest = "/lib/_pytest/python.py", "/src/node_modules/jest-circus/build/jestAdapterInit.js"
	for _, tt := range []struct {
		name   string
		thread string
		stack  []profile.Frame
		p      Process
		want   Test
	}{
		{"pytest", "", frames(profile.Python, "Event.wait", "/lib/threading.py", "helps", "/src/shop.py",
			"TestTill.test_open",
			"/src/tests/test_shop.py", "pytest_pyfunc_call", python, "_multicall", "/lib/pluggy/_execution.py"),
			Process{Dir: "/src"}, Test{Runner: "pytest", Name: "tests/test_shop.py::TestTill::test_open",
				File: "/src/tests/test_shop.py", Line: 14}},
		{"a fixture of pytest", "", frames(profile.Python, "till", "/src/conftest.py", "call_fixture_func",
			"/lib/_pytest/fixtures.py"), Process{Dir: "/src/"}, Test{Runner: "pytest",
			Name: "fixture conftest.py::till",
			File: "/src/conftest.py", Line: 10}},
		{"pytest between two tests", "", frames(profile.Python, "runtestprotocol", "/lib/_pytest/runner.py",
			"pytest_runtestloop", "/lib/_pytest/main.py"), Process{}, Test{}},
		{"unittest", "", frames(profile.Python, "Till.test_open", "/src/t.py", "TestCase._callTestMethod",
			"/lib/unittest/case.py"), Process{Dir: "/src"}, Test{Runner: "unittest", Name: "t.py::Till::test_open",
			File: "/src/t.py", Line: 10}},
		{"go test", "", frames(profile.Native, "runtime.gopark", "proc.go", "shop/till.TestTill", "/src/till_test.go",
			"testing.tRunner", "testing.go"), Process{}, Test{Runner: "go test", Name: "TestTill",
			File: "/src/till_test.go",
			Line: 12}},
		{"a subtest of Go", "", frames(profile.Native, "runtime.gopark", "proc.go", "shop/till.TestTill.func1.2",
			"/src/till_test.go", "testing.tRunner", "testing.go"), Process{}, Test{Runner: "go test",
			Name: "TestTill (subtest func1.2)", File: "/src/till_test.go", Line: 12}},
		{"a test of Go that waits for its subtest", "", frames(profile.Native, "testing.(*T).Run", "testing.go",
			"till.TestTill", "/src/till_test.go", "testing.tRunner", "testing.go"), Process{}, Test{}},
		{"all tests of Go", "", frames(profile.Native, "runtime.gopark", "proc.go", "testing.runTests.func1",
			"testing.go",
			"testing.tRunner", "testing.go"), Process{}, Test{}},
		{"googletest", "", frames(profile.Native, "sleep", "", "shop::TillTest_Opens_Test::TestBody()", "/src/till.cc",
			"void testing::internal::HandleSehExceptionsInMethodIfSupported<testing::Test, void>()", "",
			"testing::Test::Run()", ""), Process{}, Test{Runner: "gtest", Name: "TillTest.Opens", File: "/src/till.cc",
			Line: 12}},
		{"googletest between two tests", "", frames(profile.Native, "sleep", "", "testing::Test::Run()", ""), Process{},
			Test{}},
		{"cargo test", "drawer_tests::o", frames(profile.Native, "std::thread::sleep", "/rustc/t.rs",
			"till::drawer_tests::opens_when_asked", "/src/lib.rs", "till::drawer_tests::opens_when_asked::{{closure}}",
			"/src/lib.rs", "core::ops::function::FnOnce::call_once", "/rustc/function.rs",
			"test::__rust_begin_short_backtrace::<()>", "/rustc/lib.rs"), Process{}, Test{Runner: "cargo test",
			Name: "drawer_tests::opens_when_asked", File: "/src/lib.rs", Line: 14}},
		{"cargo test without symbols", "drawer_tests::o", frames(profile.Native, "", "",
			"test::__rust_begin_short_backtrace", ""), Process{}, Test{Runner: "cargo test", Name: "drawer_tests::o…"}},
		{"node:test", "", frames(profile.JavaScript, "spins", "file:///src/lib.js", "<anonymous>", "/src/till.test.js",
			"runInAsyncScope", "node:async_hooks", "run", "node:internal/test_runner/test"), Process{Dir: "/src"},
			Test{Runner: "node:test", Name: "till.test.js:12", File: "/src/till.test.js", Line: 12}},
		{"jest", "", frames(profile.JavaScript, "spins", "/src/lib.js", "opens", "/src/till.test.js",
			"Promise.then.completed",
			"/src/node_modules/jest-circus/build/utils.js", "run", jest), Process{Dir: "/src"}, Test{Runner: "jest",
			Name: "till.test.js:12 opens", File: "/src/till.test.js", Line: 12}},
		{"JUnit 5", "", frames(profile.Java, "java.util.concurrent.CountDownLatch.await", "CountDownLatch.java",
			"shop.TillTest.opens", "TillTest.java", "java.lang.reflect.Method.invoke", "Method.java",
			"org.junit.platform.commons.util.ReflectionUtils.invokeMethod", "ReflectionUtils.java",
			"org.junit.jupiter.engine.execution.MethodInvocation.proceed", "MethodInvocation.java"),
			Process{Dir: "/src"}, Test{Runner: "JUnit 5", Name: "shop.TillTest.opens", File: "TillTest.java",
				Line: 12}},
		{"JUnit 4", "", frames(profile.Java, "shop.Till.open", "Till.java", "shop.TillTest.opens", "TillTest.java",
			"jdk.internal.reflect.DirectMethodHandleAccessor.invoke", "DirectMethodHandleAccessor.java",
			"org.junit.runners.model.FrameworkMethod$1.runReflectiveCall", "FrameworkMethod.java"),
			Process{Dir: "/src"}, Test{Runner: "JUnit 4", Name: "shop.TillTest.opens", File: "TillTest.java",
				Line: 12}},
		{"JUnit between two tests", "", frames(profile.Java, "java.lang.reflect.Method.invoke", "Method.java",
			"org.junit.platform.commons.util.ReflectionUtils.invokeMethod", "ReflectionUtils.java"), Process{}, Test{}},
		{"node:test that waits", "", frames(profile.Native, "epoll_wait", ""), Process{Dir: "/src",
			Args: []string{"node",
				"--no-warnings", "/src/a/till.test.mjs"}, Variables: []string{"NODE_TEST_CONTEXT"}},
			Test{Runner: "node:test",
				Name: "a/till.test.mjs", File: "/src/a/till.test.mjs"}},
		{"no runner", "", frames(profile.Native, "epoll_wait", "", "main", "/src/a.c"),
			Process{Args: []string{"node", "a.js"}},
			Test{}},
	} {
		d := &profile.Dump{Threads: []profile.Thread{{TID: 7, Name: tt.thread, Stack: profile.Stack{Frames: tt.stack}}}}
		if tt.want.Name != "" && tt.name != "node:test that waits" {
			tt.want.TID = 7
		}
		got := Of(d, &tt.p)
		if len(got) == 0 && tt.want.Name == "" {
			continue
		}
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestNameInJavaScript: the name of a test that waits stands behind the line where it waits; alone if what the test
// awaits cannot be joined with its runner.
func TestNameInJavaScript(t *testing.T) {
	const jest = "/src/node_modules/jest-circus/build/run.js"
	whole := frames(profile.JavaScript, "rows", "/src/lib.js", "<anonymous>", "/src/till.test.js", "Test.run",
		"node:internal/test_runner/test")
	apart := frames(profile.JavaScript, "_callCircusTest", jest, "_runTest", jest)
	for _, tt := range []struct {
		stack []profile.Frame
		want  Test
	}{
		{whole, Test{Runner: "node:test", Name: "till.test.js:12 till > opens", File: "/src/till.test.js", Line: 12}},
		{apart, Test{Runner: "jest", Name: "till > opens"}},
	} {
		d := &profile.Dump{FiberStacks: []profile.FiberStack{{Stack: profile.Stack{Frames: tt.stack}}},
			Fibers: []profile.Fiber{{Kind: profile.AsyncCall, ID: 1, Test: "till > opens"}}}
		if got := Of(d, &Process{Dir: "/src"}); len(got) != 1 || got[0] != tt.want {
			t.Errorf("got %+v, want %+v", got, tt.want)
		}
	}
}

// TestNameOfAFiber: what the runtime knows a test as is its name, whether a thread runs its fiber or not, but for one
// that waits for its subtests.
func TestNameOfAFiber(t *testing.T) {
	runs := profile.Stack{Frames: frames(profile.Native, "till.TestTill.func1", "/src/till_test.go", "testing.tRunner",
		"/go/testing.go")}
	waits := profile.Stack{Frames: frames(profile.Native, "testing.(*T).Run", "/go/testing.go", "till.TestTill",
		"/src/till_test.go", "testing.tRunner", "/go/testing.go")}
	for _, tid := range []int{0, 8} {
		d := &profile.Dump{FiberStacks: []profile.FiberStack{{Stack: runs}, {Stack: waits}}, Fibers: []profile.Fiber{
			{Kind: "goroutine", ID: 1, Stack: 1, Test: "TestTill"},
			{Kind: "goroutine", ID: 2, TID: tid, Test: "TestTill/opens"}}}
		if tid != 0 {
			d.Threads = []profile.Thread{{TID: tid, Stack: runs}}
			d.Fibers[1].Stack = -1
		}
		got := Of(d, &Process{})
		if len(got) != 1 || got[0].Name != "TestTill/opens" || got[0].TID != tid {
			t.Errorf("on thread %d: %+v", tid, got)
		}
	}
}

// TestFileOfAWaitingTest: a test of JavaScript that waits is on no stack. Its file is what the loop calls a function
// of, or the one that the command line has.
func TestFileOfAWaitingTest(t *testing.T) {
	const circus = "/src/node_modules/jest-circus/build/run.js"
	calls := func(files ...string) *profile.Loop {
		l := &profile.Loop{}
		for _, file := range files {
			l.Handles = append(l.Handles, profile.Handle{Kind: "timer", Calls: []profile.Call{{File: file}}})
		}
		return l
	}
	jest := []string{"node", "/src/node_modules/jest/bin/jest.js", "--config=jest.config.js"}
	for name, tt := range map[string]struct {
		within string // a file of the async function
		args   []string
		loop   *profile.Loop
		want   string
	}{
		"a timer of the test": {circus, jest,
			calls("/src/node_modules/a.test.js", "/src/poll.js", "/src/a/till.spec.ts"), "a/till.spec.ts"},
		"the command line":                   {circus, append(jest, "a/till.js"), calls("/src/poll.js"), "a/till.js"},
		"one of two files":                   {circus, append(jest, "a.test.js", "b.test.js"), nil, ""},
		"neither":                            {circus, jest, nil, ""},
		"async functions of another program": {"/src/run.js", append(jest, "a.test.js"), nil, ""},
	} {
		d := &profile.Dump{Threads: []profile.Thread{{TID: 7, Loop: tt.loop}}, FiberStacks: []profile.FiberStack{
			{Stack: profile.Stack{Frames: frames(profile.JavaScript, "_callCircusTest", tt.within)}}}}
		got := Of(d, &Process{Dir: "/src", Args: tt.args})
		if tt.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Runner != "jest" || got[0].Name != tt.want {
			t.Errorf("%s: got %+v, want %q", name, got, tt.want)
		}
	}
}
