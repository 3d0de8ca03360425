//go:build linux && amd64

package hang

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// javaClasses is where scripts/build-java puts what it makes.
const javaClasses = "../../testdata/bin/java/classes"

// startJava starts a class of testdata/java, and returns its id when it has said that it is ready.
func startJava(t *testing.T, arguments ...string) int {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("no java is there: scripts/setup installs openjdk-17-jdk-headless")
	}
	if _, err := os.Stat(filepath.Join(javaClasses, "Waits.class")); err != nil {
		t.Skip("testdata/bin/java/classes is not there: scripts/build-java makes it")
	}
	cmd := exec.Command(java, append([]string{"-Xmx100m", "-cp", javaClasses}, arguments...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for in := bufio.NewScanner(out); in.Scan(); {
		if in.Text() == "ready" {
			return cmd.Process.Pid
		}
	}
	t.Fatalf("java %q has ended", arguments)
	return 0
}

// said is what fpstack says with those arguments.
func said(t *testing.T, arguments ...string) string {
	t.Helper()
	cmd := exec.Command(fpstack, arguments...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the status says what it found
	return out.String()
}

// has checks that text has each of parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in\n%s", p, text)
		}
	}
}

// TestJavaHangs: the verdict on a JVM names what its threads wait for in Java.
func TestJavaHangs(t *testing.T) {
	t.Parallel()
	t.Run("class initialisation", func(t *testing.T) {
		t.Parallel()
		pid := strconv.Itoa(startJava(t, "Waits"))
		has(t, said(t, "hang", "-p", pid), "deadlock: 2 threads wait for each other", "Waits$Left.<clinit>",
			"waits for the initialisation of class Waits$Right")
	})
	t.Run("monitors", func(t *testing.T) {
		t.Parallel()
		pid := strconv.Itoa(startJava(t, "Dead"))
		has(t, said(t, "hang", "-p", pid), "deadlock: 2 threads wait for each other", "Dead.nested")
	})
}

// TestJavaWaits: what a JVM waits for that is no deadlock: its own code where it waits is named, and who or what for.
func TestJavaWaits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, verdict, where, wait string }{
		{"starves", "which no thread has begun to compute", "in Hangs.orders (Hangs.java:", "FutureTask 0x"},
		{"joins", "waits in java.util.concurrent.CountDownLatch.await", "in Hangs.lambda$joins$", "to end"},
		{"promises", "waits in java.util.concurrent.CompletableFuture.get", "in Hangs.promises (Hangs.java:",
			"CompletableFuture 0x"},
	} {
		t.Run(row.kind, func(t *testing.T) {
			t.Parallel()
			pid := strconv.Itoa(startJava(t, "Hangs", row.kind))
			has(t, said(t, "hang", "-p", pid), row.verdict, row.where)
			has(t, said(t, "-p", pid), row.wait)
		})
	}
}

// TestJavaTestHangs: `run` names the test that hangs, by class and method, as JUnit runs it.
func TestJavaTestHangs(t *testing.T) {
	jars, _ := filepath.Glob("../../testdata/bin/java/jars/junit-platform-console-standalone-*.jar")
	javac, err := exec.LookPath("javac")
	if len(jars) == 0 || err != nil {
		t.Skip("JUnit and javac are not there: scripts/build-java VERSION gets the one, scripts/setup the other")
	}
	t.Parallel()
	jar, dir := jars[0], t.TempDir()
	source := filepath.Join(dir, "TillTest.java")
	if err := os.WriteFile(source, []byte(`class TillTest {
	@org.junit.jupiter.api.Test void opens() { }
	@org.junit.jupiter.api.Test void transfers() throws Exception {
		new java.util.concurrent.CountDownLatch(1).await();
	}
}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(javac, "-cp", jar, "-d", dir, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := said(t, "run", "--deadline", "12s", "--grace", "1s", "--", "java", "-jar", jar, "execute", "-cp", dir,
		"--scan-classpath")
	has(t, text, "waits in java.util.concurrent.CountDownLatch.await, in TillTest.transfers (TillTest.java:4)",
		"in the test TillTest.transfers")
}

// TestJavaSlow: a recording and the live table have the methods that use the CPU.
func TestJavaSlow(t *testing.T) {
	t.Parallel()
	pid := strconv.Itoa(startJava(t, "Ring"))
	folded := filepath.Join(t.TempDir(), "ring.folded")
	said(t, "record", "-p", pid, "-d", "2", "-o", folded)
	b, err := os.ReadFile(folded)
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(b), "Ring.main;Ring.round;Ring.a;Ring.b;Ring.c")
	has(t, said(t, "top", "-p", pid, "--once", "2"), "Ring.", "Ring.java")
}
