//go:build linux

package run

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// Which test hangs is in the log, in the annotation and in JUnit, for each runner.
func TestWhichTest(t *testing.T) {
	jest, err := filepath.Abs("../../testdata/bin/javascript/jest/node_modules/.bin/jest")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file, text string
		needs, build     []string
		run              []string
		want             string
	}{
		{"pytest", "tests/test_shop.py", `import threading
class TestTill:
    def test_open(self):
        open("ready", "w").close()
        threading.Event().wait()
`, []string{"pytest"}, nil, []string{"pytest", "-q"}, "in the test tests/test_shop.py::TestTill::test_open"},
		{"a fixture of pytest", "conftest.py", `import pytest, time
@pytest.fixture
def till():
    open("ready", "w").close()
    time.sleep(1000)
`, []string{"pytest"}, []string{"sh", "-c", "printf 'def test_open(till):\n    pass\n' >test_till.py"},
			[]string{"pytest", "-q"}, "in the test fixture conftest.py::till"},
		{"unittest", "test_till.py", `import time, unittest
class Till(unittest.TestCase):
    def test_open(self):
        open("ready", "w").close()
        time.sleep(1000)
`, []string{"python3"}, nil, []string{"python3", "-m", "unittest", "-q"}, "in the test test_till.py::Till::test_open"},
		{"go test", "till_test.go", `package till
import ("os"; "testing"; "time")
func TestTill(t *testing.T) {
	t.Run("opens", func(t *testing.T) { os.WriteFile("ready", nil, 0o644); time.Sleep(time.Hour) })
}
func TestOther(t *testing.T) {}
`, []string{"go"}, []string{"sh", "-c", "printf 'module till\ngo 1.24\n' >go.mod; go test -c -o till.test"},
			[]string{"./till.test"}, "in the test TestTill/opens"},
		{"googletest", "till.cc", `#include <gtest/gtest.h>
#include <unistd.h>
TEST(TillTest, Opens) { fclose(fopen("ready", "w")); sleep(1000); }
int main(int c, char **v) { testing::InitGoogleTest(&c, v); return RUN_ALL_TESTS(); }
`, []string{"g++"}, []string{"g++", "-g", "-o", "till", "till.cc", "-lgtest", "-lpthread"}, []string{"./till"},
			"in the test TillTest.Opens"},
		{"cargo test", "till.rs", `mod drawer_tests {
    #[test]
    fn opens_when_asked() {
        std::fs::write("ready", "").unwrap();
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
    #[test]
    fn closes() {}
}
`, []string{"rustc"}, []string{"rustc", "--test", "-g", "--edition", "2021", "till.rs", "-o", "till"},
			[]string{"./till"},
			"in the test drawer_tests::opens_when_asked"},
		{"node:test, it runs", "till.test.js", `const test = require("node:test");
test("opens", function opens() { require("fs").writeFileSync("ready", ""); while (true) {} });
`, []string{"node"}, nil, []string{"node", "--test", "till.test.js"}, "in the test till.test.js:2 opens"},
		{"node:test, it waits for what comes later", "till.test.js", `const { describe, it } = require("node:test");
describe("till", () => {
  it("is new", () => {});
  it("opens", async () => {
    setInterval(() => {}, 1000);
    const opened = new Promise((resolve) => { globalThis.open = resolve; });
    require("fs").writeFileSync("ready", "");
    await opened;
  });
});
`, []string{"node"}, nil, []string{"node", "--test", "till.test.js"}, "in the test till.test.js:8 till > opens"},
		{"jest, it waits for what comes later", "till.test.js", `describe("till", () => {
  test("opens", async () => {
    setInterval(() => {}, 1000);
    const opened = new Promise((resolve) => { globalThis.open = resolve; });
    require("fs").writeFileSync(__dirname + "/ready", "");
    await opened;
  }, 600000);
});
`, []string{"node", jest}, nil, []string{"node", jest, "--config={}"}, "in the test till.test.js till > opens"},
		{"node:test, it waits", "till.test.js", `const test = require("node:test");
test("opens", async () => {
  require("fs").writeFileSync("ready", "");
  setInterval(() => {}, 1000);
  await new Promise(() => {});
});
`, []string{"node"}, nil, []string{"node", "--test", "till.test.js"}, "in the test till.test.js"},
		{"jest, it runs", "till.test.js", `test("opens", function opens() {
  require("fs").writeFileSync(__dirname + "/ready", "");
  while (true) {}
});
`, []string{"node", jest}, nil, []string{"node", jest, "--config={}"}, "in the test till.test.js:3 opens"},
		{"jest, it waits", "till.test.js", `test("opens", async () => {
  require("fs").writeFileSync(__dirname + "/ready", "");
  setInterval(() => {}, 1000);
  await new Promise(() => {});
}, 1000000);
`, []string{"node", jest}, nil, []string{"node", jest, "--config={}"}, "in the test till.test.js"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			harness.Need(t, tt.needs...)
			dir := t.TempDir()
			path := filepath.Join(dir, tt.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			in := func(argv []string) *job {
				const there = `cd "$0" && exec "$@"`
				return start(t, []string{"GITHUB_ACTIONS=true"}, "sh", append([]string{"-c", there, dir}, argv...)...)
			}
			if tt.build != nil {
				if out, state := in(tt.build).end(t); !state.Success() {
					t.Skipf("it cannot be built here: %s", out)
				}
			}
			junit := filepath.Join(dir, "junit.xml")
			j := in(append([]string{fpstack, "run", "--grace", "9", "--junit", junit, "--"}, tt.run...))
			// A runner may take a while to begin.
			awaitFor(t, 3*time.Minute, "the test runs", func() bool {
				_, err := os.Stat(dir +
					"/ready")
				return err == nil
			})
			j.Process.Signal(syscall.SIGTERM)
			out, state := j.end(t)
			test, err := os.ReadFile(junit)
			annotation := ""
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "::error ") {
					annotation = line
				}
			}
			if state.Success() || err != nil || strings.Count(out, tt.want) < 2 || !strings.Contains(annotation,
				tt.want) ||
				!strings.Contains(string(test), tt.want) {
				t.Errorf("%v, want %q in the log, the annotation\n%s\nand JUnit\n%s (%v)\n%s", state, tt.want,
					annotation, test,
					err, out)
			}
		})
	}
}
