//go:build linux

package verdict

import (
	"path/filepath"
	"testing"
)

// Programs in Java: what HotSpot's own threads show of them.
var javaRows = []row{
	// That hang.
	{name: "Java two monitors in two orders", needs: java, files: one("Locks.java"), argv: jvm("Locks.java"),
		ready: "ready", is: truth{state: hangs, culprit: "Locks.java", function: ".*transfer"}},
	{name: "Java two ReentrantLocks in two orders", needs: java, files: one("Locks.java"),
		argv: jvm("Locks.java", "reentrant"), ready: "ready",
		is: truth{state: hangs, culprit: "Locks.java", function: ".*move"}},
	{name: "Java latch that is not counted down", needs: java, files: one("Latch.java"), argv: jvm("Latch.java"),
		ready: "ready", is: truth{state: hangs, culprit: "Latch.java", function: ".*collect"}},
	{name: "Java requests take two connections each of a HikariCP pool", needs: java, files: one("Pools.java"),
		start: hasJars, argv: pools("hikari", "nested"), ready: "ready",
		is: truth{state: hangs, culprit: "Pools.java", function: ".*checkout", waits: emptyPool}},
	{name: "Java DBCP pool whose connections are not given back", needs: java, files: one("Pools.java"),
		start: hasJars, argv: pools("dbcp", "leak"), ready: "ready",
		is: truth{state: hangs, culprit: "Pools.java", function: ".*checkout", waits: emptyPool}},

	// That are healthy.
	{name: "healthy Java idle server", needs: java, files: one("Idle.java"), argv: jvm("Idle.java"), ready: "ready",
		is: truth{state: healthy}},
	{name: "healthy Java task computes", needs: java, files: one("Work.java"), argv: jvm("Work.java"), ready: "ready",
		cpu: true, is: truth{state: healthy}},
	{name: "healthy Java job each half minute", needs: java, files: one("Schedule.java"), argv: jvm("Schedule.java"),
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy Java HikariCP pool whose connections come back", needs: java, files: one("Pools.java"),
		start: hasJars, argv: pools("hikari", "turns"), ready: "ready", is: truth{state: healthy}},
	{name: "healthy Java DBCP pool whose connections come back late", needs: java, files: one("Pools.java"),
		start: hasJars, argv: pools("dbcp", "slow"), ready: "ready", is: truth{state: healthy}},
}

// java is what scripts/setup installs.
var java = []string{"/usr/lib/jvm/java-17-openjdk-amd64/bin/java"}

// jvm runs a source file.
func jvm(args ...string) []string {
	return append([]string{java[0], "-XX:TieredStopAtLevel=1"}, args...)
}

var emptyPool = []string{"pool"}

// jars are what `scripts/build-java pools` gets.
const jars = "testdata/bin/java/jars"

// pools runs Pools.java.
func pools(args ...string) []string {
	return append([]string{java[0], "-XX:TieredStopAtLevel=1", "-cp", root(jars) + "/*", "Pools.java"}, args...)
}

func hasJars(t testing.TB, _ string) {
	for _, name := range []string{"HikariCP", "commons-dbcp2", "commons-pool2", "commons-logging", "slf4j-api"} {
		if found, _ := filepath.Glob(filepath.Join(root(jars), name+"-*.jar")); len(found) == 0 {
			t.Skipf("%s is not here: scripts/build-java pools gets it", name)
		}
	}
}
