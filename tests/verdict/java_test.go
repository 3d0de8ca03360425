//go:build linux

package verdict

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

	// That are healthy.
	{name: "healthy Java idle server", needs: java, files: one("Idle.java"), argv: jvm("Idle.java"), ready: "ready",
		is: truth{state: healthy}},
	{name: "healthy Java task computes", needs: java, files: one("Work.java"), argv: jvm("Work.java"), ready: "ready",
		cpu: true, is: truth{state: healthy}},
	{name: "healthy Java job each half minute", needs: java, files: one("Schedule.java"), argv: jvm("Schedule.java"),
		ready: "ready", is: truth{state: healthy}},
}

// java is what scripts/setup installs.
var java = []string{"/usr/lib/jvm/java-17-openjdk-amd64/bin/java"}

// jvm runs a source file.
func jvm(args ...string) []string {
	return append([]string{java[0], "-XX:TieredStopAtLevel=1"}, args...)
}
