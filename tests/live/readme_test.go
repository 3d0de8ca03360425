//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shownDir is the folder in which README says that its programs lie.
const shownDir = "/src/bank"

// TestReadme holds that what README shows has the form of what is printed; -update writes it as it is printed now.
func TestReadme(t *testing.T) {
	t.Parallel()
	const file = "../../README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, demo := range []struct {
		command string // the first line of the block
		run     func(t *testing.T, dir string) string
		forms   func(string) []string
	}{
		{"fpstack -n deadlock --source", showDeadlock, dumpForms},
		{"fpstack record -n shop -d 5 -o shop.html", recordShop, summaryForms},
		{"fpstack top -n shop --once 5 | head -9", topShop, tableForms},
	} {
		before, rest, ok := strings.Cut(string(text), "$ sudo "+demo.command+"\n")
		shown, after, ended := strings.Cut(rest, "```")
		if !ok || !ended {
			t.Fatalf("%s does not show %q", file, demo.command)
		}
		dir := room(t)
		got := strings.ReplaceAll(demo.run(t, dir), dir, shownDir)
		if want, is := demo.forms(shown), demo.forms(got); !slices.Equal(want, is) && !*update {
			t.Errorf("%s: %s shows\n%s\nand this is printed\n%s\n(go test ./tests/live -run Readme -update writes it)",
				demo.command, file, strings.Join(want, "\n"), got)
		}
		text = []byte(before + "$ sudo " + demo.command + "\n" + got + "```" + after)
	}
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// buildShown compiles a program of testdata/live in dir, with its sources beside it, and starts it.
func buildShown(t *testing.T, dir, name string) *target {
	for _, source := range []string{name + ".c", "live.h"} {
		copyFile(t, filepath.Join("../../testdata/live", source), filepath.Join(dir, source))
	}
	build := exec.Command(installed(t, "gcc"), "-O2", "-g", "-pthread", name+".c", "-o", name)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return launch(t, exec.Command(filepath.Join(dir, name))).ready(t)
}

// showDeadlock dumps two threads that wait for each other, once they do.
func showDeadlock(t *testing.T, dir string) string {
	pid := strconv.Itoa(buildShown(t, dir, "deadlock").pid)
	waiting := func(o outcome) bool { return strings.Count(o.stdout, "pthread_mutex_lock(&to->lock)") == 2 }
	await(t, "a deadlock", func() bool { return waiting(show(t, "-p", pid, "--source")) })
	return show(t, "-p", pid, "--source").stdout
}

func recordShop(t *testing.T, dir string) string {
	p, out := buildShown(t, dir, "shop"), filepath.Join(dir, "shop.html")
	return strings.ReplaceAll(show(t, "record", "-p", strconv.Itoa(p.pid), "-d", "5", "-o", out).stderr, out,
		"shop.html")
}

func topShop(t *testing.T, dir string) string {
	lines := strings.SplitAfter(show(t, "top", "-p", strconv.Itoa(buildShown(t, dir, "shop").pid), "--once",
		"5").stdout, "\n")
	return strings.Join(lines[:min(9, len(lines))], "")
}

var figure = regexp.MustCompile(`0x[0-9a-f]+|\d[\d.,]*`)

// dumpForms keeps the shape of a dump, and of the frames of the program itself function and line. What the C library
// calls its functions, and how many there are, is its matter.
func dumpForms(text string) []string {
	var forms []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		isFrame := strings.HasPrefix(line, "  #")
		switch fields := strings.Fields(line); {
		case isFrame && strings.Contains(line, "deadlock.c:"):
			line = "frame " + fields[1] + " " + fields[2]
		case isFrame:
			line = "  #N frame"
		case strings.HasPrefix(line, "    "): // a source line
		default:
			line = strings.ReplaceAll(figure.ReplaceAllString(line, "N"), " ms between", " µs between")
		}
		if isFrame && !strings.HasPrefix(line, "frame ") && len(forms) > 0 && forms[len(forms)-1] == line {
			continue
		}
		forms = append(forms, line)
	}
	return forms
}

// summaryForms keeps the shape of a summary: rows of the table are all the same, remarks come and go.
func summaryForms(text string) []string { return rowForms(text, func(string) bool { return true }) }

// tableForms keeps the shape of top's table. Remarks between its head and its heading come and go.
func tableForms(text string) []string {
	heading := false
	return rowForms(text, func(line string) bool {
		heading = heading || strings.Contains(line, "FUNCTION")
		return heading || strings.Contains(line, "wall time") || strings.Contains(line, "threads:")
	})
}

func rowForms(text string, keep func(string) bool) []string {
	var forms []string
	for line := range strings.Lines(text) {
		form := strings.Join(strings.Fields(figure.ReplaceAllString(line, "N")), " ")
		if strings.HasPrefix(form, "N% N%") {
			form = "row"
		}
		isRemark := strings.HasPrefix(form, "!") || form == ""
		if isRemark || !keep(form) || form == "row" && len(forms) > 0 && forms[len(forms)-1] == "row" {
			continue
		}
		forms = append(forms, unit.ReplaceAllString(form, "N"))
	}
	return forms
}

// unit is a time that is in another unit on another day.
var unit = regexp.MustCompile(`N (?:ns|µs|ms|s)\b`)
