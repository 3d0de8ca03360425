//go:build linux

package v8

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
)

// foreignSource is a library with a thread that goes through code in memory without a file, as libffi and PCRE2 make
// it: push rbp; mov rbp, rsp; call rdi; pop rbp; ret.
const foreignSource = `
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
static volatile int sink;
__attribute__((noinline)) void foreign_leaf(void) { for (;;) sink++; }
__attribute__((noinline)) void *foreign_entry(void *code)
{
	((void (*)(void (*)(void)))code)(foreign_leaf);
	return (void *)&sink;
}
__attribute__((constructor)) static void begin(void)
{
	static const unsigned char text[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	void *code = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy((char *)code + 64, text, sizeof text);
	mprotect(code, 8192, PROT_READ | PROT_EXEC);
	pthread_t t;
	pthread_create(&t, 0, foreign_entry, (char *)code + 64);
}
`

// TestForeignCodeBesideV8: code in memory without a file that is not V8's is no JavaScript, and functions of C on both
// sides of it are there.
func TestForeignCodeBesideV8(t *testing.T) {
	library := harness.Compile(t, "gcc", "foreign.c", foreignSource, "libforeign.so", "-O1", "-shared", "-fPIC",
		"-fno-omit-frame-pointer", "-pthread")
	t.Setenv("LD_PRELOAD", library)
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			x := start(t, version, nil, "loop.js")
			right, scripts := 0, 0
			for i := range *samples {
				walked.Pause(i)
				for _, s := range x.Stacks(x.Stop(t)) {
					at := func(name string) int {
						return slices.IndexFunc(s.Frames, func(f profile.Frame) bool { return f.Func == name })
					}
					leaf, entry := at("foreign_leaf"), at("foreign_entry")
					if leaf < 0 {
						if slices.ContainsFunc(s.Frames, func(f profile.Frame) bool { return f.Func == "inner" }) {
							scripts++
						}
						continue
					}
					if entry != leaf+2 || s.Frames[leaf+1].Kind != profile.Unknown {
						t.Errorf("%+v", s.Frames)
						continue
					}
					right++
				}
			}
			if right != *samples || scripts == 0 {
				t.Errorf("%d of %d stacks are right, %d of the script", right, *samples, scripts)
			}
		})
	}
}
