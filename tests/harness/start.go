package harness

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// Run is one run of a room's tests that start programs.
type Run struct {
	Scratch string // a directory of this run; others than root may enter it
	Fpstack string // the program under test, built as it is released
	Built   string // where the programs of testdata/live are
}

// Prepare makes a directory of that name for a run of tests in a folder two below the root of the repository, and
// builds fpstack. It is called by TestMain, which removes Scratch.
func Prepare(name string) (*Run, error) {
	r := &Run{}
	var err error
	if r.Scratch, err = os.MkdirTemp("", name); err == nil {
		err = os.Chmod(r.Scratch, 0o755)
	}
	if err != nil {
		return nil, err
	}
	r.Fpstack = filepath.Join(r.Scratch, "fpstack")
	if err := Build(r.Fpstack); err != nil {
		os.RemoveAll(r.Scratch)
		return nil, err
	}
	if r.Built, err = filepath.Abs("../../testdata/bin/live"); err != nil {
		os.RemoveAll(r.Scratch)
		return nil, err
	}
	heedSignals()
	return r, nil
}

// Build writes fpstack to out, as it is released: the program that FPSTACK_BUILT names, if it does, where no compiler
// is; else it is linked.
func Build(out string) error {
	linked := os.Getenv("FPSTACK_BUILT")
	if linked == "" {
		var err error
		if linked, err = link(); err != nil {
			return fmt.Errorf("build fpstack: %w", err)
		}
	}
	program, err := os.ReadFile(linked)
	if err == nil {
		err = os.WriteFile(out, program, 0o755)
	}
	if err != nil {
		return fmt.Errorf("build fpstack: %w", err)
	}
	return nil
}

// link links fpstack in testdata/bin, once for all rooms: what is up to date there go leaves as it is.
func link() (linked string, err error) {
	const bin = "../../testdata/bin"
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(bin, "fpstack.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // other rooms run beside this one
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	linked = filepath.Join(bin, "fpstack")
	args := []string{"build", "-o", linked}
	if runtime.GOARCH == "amd64" { // as scripts/build has it
		args = append(args, "-ldflags=-E github.com/fpstack/fpstack/early.enter")
	}
	build := exec.Command("go", append(args, "../..")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return linked, nil
}

// heedSignals lets programs that are started here heed what a terminal sends, also where these tests were told
// to ignore it, by nohup or as a job in the background of a script: that would be inherited. A signal that is
// caught is not.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// lasting are calls for the thread that starts every program. The parent-death signal comes when the thread that forked
// ends (prctl(2)), so that one never ends.
var lasting = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range calls {
			f()
		}
	}()
	return calls
})

// Do calls f on the lasting thread, and does not wait for it.
func (r *Run) Do(f func()) { lasting() <- f }

// Start starts cmd from the lasting thread.
func (r *Run) Start(cmd *exec.Cmd) error { return Start(cmd) }

// Start starts cmd from a thread that stays as long as the tests, so that what is to end with it ends with them.
func Start(cmd *exec.Cmd) error {
	err := make(chan error)
	lasting() <- func() { err <- cmd.Start() }
	return <-err
}
