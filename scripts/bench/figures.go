//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// documented is where figures are kept. What lies between the two lines is written by this program alone.
const (
	documented   = "docs/dev/benchmarks.md"
	figuresBegin = "<!-- written by scripts/benchmark --write -->\n"
	figuresEnd   = "<!-- end of what scripts/benchmark --write writes -->\n"
)

// measured is what is kept of one part: its rows, and of which code they are.
type measured struct {
	part, commit, date, hash string
	rows                     []string // cells of the table, without the line's ends
}

// codeHash is the hash of the code that a part measures: of all files of Go and C below the folders, and files,
// rooms of the repository at root, but for tests. Rooms that one depends on are to be named too.
func codeHash(root string, rooms []string) (string, error) {
	sum := sha256.New()
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "testdata":
				return filepath.SkipDir
			case e.IsDir() || strings.HasSuffix(path, "_test.go"):
				return nil
			case !slices.Contains([]string{".go", ".s", ".c", ".mod"}, filepath.Ext(path)):
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			within, err := filepath.Rel(root, path)
			fmt.Fprintf(sum, "%s %d\n", within, len(b))
			sum.Write(b)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("read the code of %q: %w", room, err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// readFigures reads the figures of a document. It fails if it has no place for any.
func readFigures(doc []byte) ([]measured, error) {
	_, rest, begins := bytes.Cut(doc, []byte(figuresBegin))
	table, _, ends := bytes.Cut(rest, []byte(figuresEnd))
	if !begins || !ends {
		return nil, errors.New("there are no lines between which figures belong")
	}
	var all []measured
	for line := range strings.Lines(string(table)) {
		line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "| "), " |")
		part, rest, ok := strings.Cut(line, " | ")
		if !ok || part == "part" {
			continue
		}
		at := slices.IndexFunc(all, func(m measured) bool { return m.part == part })
		if at < 0 {
			all = append(all, measured{part: part})
			at = len(all) - 1
		}
		m := &all[at]
		if of, ok := strings.CutPrefix(rest, "code "); ok { // the list of what was measured when
			fields := strings.Split(of, " | ")
			if len(fields) != 3 {
				return nil, fmt.Errorf("read %q: want the code's hash, a commit and a date", line)
			}
			m.hash, m.commit, m.date = fields[0], fields[1], fields[2]
			continue
		}
		m.rows = append(m.rows, rest)
	}
	return all, nil
}

// writeFigures puts figures in place of those of a document.
func writeFigures(doc []byte, all []measured) ([]byte, error) {
	before, rest, begins := bytes.Cut(doc, []byte(figuresBegin))
	_, after, ends := bytes.Cut(rest, []byte(figuresEnd))
	if !begins || !ends {
		return nil, errors.New("there are no lines between which figures belong")
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(figuresBegin +
		"\n| part | what | fpstack | beside | ratio | at most | |\n|---|---|---|---|---|---|---|\n")
	for _, m := range all {
		for _, row := range m.rows {
			fmt.Fprintf(&b, "| %s | %s |\n", m.part, row)
		}
	}
	b.WriteString("\n| part | of the code | commit | date |\n|---|---|---|---|\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| %s | code %s | %s | %s |\n", m.part, m.hash, m.commit, m.date)
	}
	b.WriteString("\n" + figuresEnd)
	b.Write(after)
	return b.Bytes(), nil
}

// outdated names the parts whose figures in doc are not of the code below root, or are not there.
func outdated(root string, doc []byte) ([]string, error) {
	there, err := readFigures(doc)
	if err != nil {
		return nil, err
	}
	var old []string
	for _, p := range parts {
		at := slices.IndexFunc(there, func(m measured) bool { return m.part == p.name })
		if at < 0 {
			continue
		}
		hash, err := codeHash(root, p.rooms)
		if err != nil {
			return nil, err
		}
		if there[at].hash != hash {
			old = append(old, p.name)
		}
	}
	return old, nil
}

// measureInto runs the parts, each in a process of its own, and puts the rows of each, once it has them, into the
// document at path in place of those that it had. Figures of other parts stay, as do those of a part that fails.
func measureInto(path, root string, wanted []part, args []string) error {
	commit, err := exec.Command("git", "-C", root, "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("name the commit: %w", err)
	}
	var failed error
	for _, p := range wanted {
		hash, err := codeHash(root, p.rooms)
		if err != nil {
			return err
		}
		begun := time.Now()
		c := exec.Command("/proc/self/exe", append(slices.Clone(args), "-only", p.name)...)
		c.Stderr = os.Stderr
		out, err := c.Output()
		os.Stdout.Write(out)
		fmt.Fprintf(os.Stderr, "%s took %v\n", p.name, time.Since(begun).Round(time.Second))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("measure %q: %w", p.name, err))
			continue
		}
		m := measured{part: p.name, commit: strings.TrimSpace(string(commit)), date: time.Now().Format(time.DateOnly),
			hash: hash, rows: tableRows(out)}
		if err := keep(path, m); err != nil {
			return err
		}
	}
	return failed
}

// keep puts the figures of one part into the document at path.
func keep(path string, m measured) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	all, err := readFigures(doc)
	if err != nil {
		return fmt.Errorf("read figures in %q: %w", path, err)
	}
	if at := slices.IndexFunc(all, func(old measured) bool { return old.part == m.part }); at >= 0 {
		all[at] = m
	} else {
		all = append(all, m)
	}
	order := func(m measured) int { return slices.IndexFunc(parts, func(p part) bool { return p.name == m.part }) }
	slices.SortStableFunc(all, func(a, b measured) int { return order(a) - order(b) })
	if doc, err = writeFigures(doc, all); err != nil {
		return err
	}
	return os.WriteFile(path, doc, 0o644)
}

// kept are the parts of which a document has figures.
func kept(path string) ([]string, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := readFigures(doc)
	if err != nil {
		return nil, fmt.Errorf("read figures in %q: %w", path, err)
	}
	var names []string
	for _, m := range all {
		names = append(names, m.part)
	}
	return names, nil
}

// tableRows are the rows of a table that a part printed, behind its heading.
func tableRows(out []byte) []string {
	var rows []string
	for line := range strings.Lines(string(out)) {
		row, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if ok && !strings.HasPrefix(row, "what |") {
			rows = append(rows, strings.TrimSpace(strings.TrimSuffix(row, "|")))
		}
	}
	return rows
}
