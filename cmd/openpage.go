package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/text"
)

// opening is how long the opener of the desktop may take: it asks a browser that runs, or starts one.
const opening = 5 * time.Second

// openPage shows the file at path in the browser of the desktop. What the opener writes is not shown, and a browser
// that it starts goes on when this program has ended.
func openPage(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	fail := func(why string) error { return fmt.Errorf("open %q in a browser: %s", path, why) }
	switch {
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return fail("there is no desktop here: neither DISPLAY nor WAYLAND_DISPLAY is set")
	case os.Geteuid() == 0:
		return fail("a browser is not started as root: open it as the user of the desktop")
	}
	opener, err := exec.LookPath("xdg-open")
	if err != nil {
		return fail("xdg-open is not installed")
	}
	cmd := exec.Command(opener, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fail(text.Message(err.Error()))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(opening): // it has become the browser
	}
	if err != nil {
		return fail("xdg-open: " + err.Error())
	}
	return nil
}
