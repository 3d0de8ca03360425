//go:build linux

package live

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// interpreterSource makes code in memory that does what HotSpot's interpreter does: each function pushes the
// address of its caller's next entry and jumps, so that no call precedes the return address. The last calls pause.
const interpreterSource = `
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
extern char made[], made_end[];
__asm__(".text\nmade: push %rbp\n mov %rsp, %rbp\n push %rbx\n push %rbx\n lea 1f(%rip), %rax\n push %rax\n jmp 2f\n"
	"1: pop %rbx\n pop %rbx\n leave\n ret\n"
	"2: push %rbp\n mov %rsp, %rbp\n sub $24, %rsp\n lea 3f(%rip), %rax\n push %rax\n jmp 4f\n"
	"3: leave\n ret\n"
	"4: push %rbp\n mov %rsp, %rbp\n call *%rdi\n leave\n ret\n"
	"made_end:\n");
static void stand(void) { puts("R"); fflush(stdout); for (;;) pause(); }
int main(void) {
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	memcpy(at, made, (size_t)(made_end - made));
	((void (*)(void (*)(void)))at)(stand);
	return 0;
}
`

// Frames of code that no file holds, with no call before their return addresses, are those of eu-stack to the end,
// and two of them say that they are not sure.
func TestPeersOnMadeCode(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is of amd64")
	}
	dir := room(t)
	if err := os.WriteFile(filepath.Join(dir, "made.c"), []byte(interpreterSource), 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "gcc -O1 -g -o made made.c")
	p := launch(t, exec.Command(filepath.Join(dir, "made"))).ready(t)
	asleep(t, p.pid)
	d := dumpJSON(t, p.pid)
	ours, unsure := physical(d.Threads[0].Stack.Frames), 0
	if eu := euStack(t, p.pid)[p.pid]; part(d, ours, eu).how != equal || !d.Threads[0].Stack.Complete {
		t.Errorf("the stack differs, or does not reach its root (%s)\n%s", d.Threads[0].Stack.Detail,
			sideBySide(d, ours, eu))
	}
	for _, f := range ours {
		if strings.Contains(f.Note, "no call before") {
			unsure++
		}
	}
	if unsure != 2 {
		t.Errorf("got %d frames without a call before them, want 2", unsure)
	}
}

// javaSource computes and sleeps in two threads, in code that Java interprets.
const javaSource = `
import java.util.*;
public class Work {
	static volatile long sink;
	static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	static long work(int n) {
		List<String> l = new ArrayList<>();
		for (int i = 0; i < n; i++) l.add("k" + i * 7919 % n);
		Collections.sort(l, (a, b) -> b.compareTo(a));
		return l.size() + fib(12);
	}
	public static void main(String[] a) {
		for (int i = 0; i < 2; i++)
			new Thread(() -> { while (true) { sink += work(200);
				try { Thread.sleep(1); } catch (Exception e) { } } }).start();
	}
}
`

// runtimesWithCode run code that they make themselves, or interpret.
var runtimesWithCode = []struct {
	name, program, file, source string
	args                        []string
}{
	{"Java interpreted", "java", "Work.java", javaSource, []string{"-Xint", "Work.java"}},
	{"Java compiled", "java", "Work.java", javaSource, []string{"Work.java"}},
	{"LuaJIT", "luajit", "work.lua", `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
while true do local t = {} for i = 1, 3000 do t[i] = tostring(i * 7919 % 3000) end table.sort(t) fib(18)
string.gsub(table.concat(t), "%d+", function(x) return x end) end`, []string{"work.lua"}},
	{"PHP", "php", "work.php", `<?php function fib($n) { return $n < 2 ? $n : fib($n-1) + fib($n-2); }
while (true) { $a = range(1, 500); shuffle($a); usort($a, fn($x, $y) => $x <=> $y); fib(15); }`,
		[]string{"-d", "opcache.enable_cli=1", "-d", "opcache.jit=function", "-d", "opcache.jit_buffer_size=64M",
			"work.php"}},
	{"Erlang", "erl", "work", "", []string{"-noshell", "-eval", "F = fun F(0) -> 0; F(N) -> 1 + F(N-1) end, L = fun " +
		"L() -> F(500), lists:sort([X * 7919 rem 500 || X <- lists:seq(1, 500)]), L() end, spawn(L), L()."}},
}

// threadStart is where the stack of a thread begins, as eu-stack names it.
var threadStart = regexp.MustCompile(`^(_start|_?_?clone3?)\b`)

// No stack that eu-stack walks to the thread's start ends earlier here.
func TestPeersOnRuntimes(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, r := range runtimesWithCode {
		t.Run(r.name, func(t *testing.T) {
			program := installed(t, r.program)
			dir := room(t)
			if err := os.WriteFile(filepath.Join(dir, r.file), []byte(r.source), 0o644); err != nil {
				t.Fatal(err)
			}
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			cmd := exec.Command(program, r.args...)
			cmd.Dir = dir
			pid := launchTo(t, cmd, null)
			await(t, "it is at its work", func() bool { return ticksOf(pid) >= 100 })
			started := 0
			for range 8 {
				time.Sleep(time.Duration(rand.Int64N(int64(50 * time.Millisecond))))
				started += compareStarts(t, pid)
			}
			if started == 0 {
				t.Error("eu-stack walked no stack to its start: nothing was compared")
			}
		})
	}
}

// compareStarts stops a process and compares where its stacks end. It returns how many eu-stack walked to
// the start of their thread.
func compareStarts(t *testing.T, pid int) (started int) {
	t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	defer syscall.Kill(pid, syscall.SIGCONT)
	await(t, "the program is stopped", func() bool {
		for _, tid := range threadsOf(pid) {
			if stateOf(tid) != 'T' {
				return false
			}
		}
		return true
	})
	d, eu := dumpJSON(t, pid, "--max-frames", "0"), euStack(t, pid)
	for i := range d.Threads {
		th := &d.Threads[i]
		theirs := eu[th.TID]
		if len(theirs) == 0 || !threadStart.MatchString(theirs[len(theirs)-1].name) {
			continue
		}
		started++
		ours := physical(th.Stack.Frames)
		if len(ours) == 0 || value(ours[len(ours)-1].Address) != theirs[len(theirs)-1].address {
			t.Errorf("thread %d %q ends earlier: %s\n%s", th.TID, th.Name, th.Stack.Detail, sideBySide(d, ours, theirs))
		}
	}
	return started
}
