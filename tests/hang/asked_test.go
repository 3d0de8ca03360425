//go:build linux

package hang

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// typed runs fpstack with words as a user types them.
func typed(t *testing.T, words string) (out, complaint string, status int) {
	t.Helper()
	cmd := exec.Command(fpstack, strings.Fields(words)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), stderr.String(), cmd.ProcessState.ExitCode()
}

// TestNobodyThere: an id that no process has is said at once, with nothing else.
func TestNobodyThere(t *testing.T) {
	id := 999999
	for _, err := os.Stat(fmt.Sprint("/proc/", id)); err == nil; _, err = os.Stat(fmt.Sprint("/proc/", id)) {
		id--
	}
	out, complaint, status := typed(t, fmt.Sprint("hang ", id))
	want := fmt.Sprintf("fpstack: process %d: no such process\n", id)
	if out != "" || complaint != want || status != 2 {
		t.Errorf("got status %d, %q and %q, want 2 and %q alone", status, out, complaint, want)
	}
	sleeper := sleeps(t)
	out, complaint, status = typed(t, fmt.Sprint("hang --looks 2 --every 10ms ", id, " ", sleeper))
	if !strings.HasPrefix(out, "sleep (") || !strings.Contains(complaint, "no such process") || status != hung {
		t.Errorf("beside one that is there: got status %d, %q and %q", status, out, complaint)
	}
}

// sleeps starts a process that sleeps for hours.
func sleeps(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "100000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	pid := cmd.Process.Pid
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		call, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		state, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if string(call) == "sleep\n" && strings.Contains(string(state), ") S ") {
			return pid
		}
		if time.Now().After(until) {
			t.Fatal("it does not sleep")
		}
	}
}

// TestShorterLooks: `--looks 2 --every 500ms` looks twice, half a second apart.
func TestShorterLooks(t *testing.T) {
	pid := sleeps(t)
	out, complaint, status := typed(t, fmt.Sprint("hang --looks 2 --every 500ms ", pid))
	want := regexp.MustCompile(fmt.Sprintf(`^sleep \(%d\) is asleep(, for 27\.8 h at most| for 27\.8 h more)\n`, pid))
	if !want.MatchString(out) || complaint != "" || status != hung {
		t.Errorf("got status %d, %q and %q, want %d and %s", status, out, complaint, hung, want)
	}
	out, _, _ = typed(t, fmt.Sprint("hang -f json --looks 2 --every 500ms ", pid))
	var doc struct{ Moments []struct{ Time time.Time } }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Moments) != 2 {
		t.Fatalf("%v: got %d moments, want 2", err, len(doc.Moments))
	}
	if apart := doc.Moments[1].Time.Sub(doc.Moments[0].Time); apart < 400*time.Millisecond {
		t.Errorf("they are %v apart, want half a second", apart)
	}
	if out, complaint, status = typed(t, fmt.Sprint("hang --looks 1 ", pid)); out != "" || status != 64 {
		t.Errorf("one look: got status %d, %q and %q, want 64", status, out, complaint)
	}
}
