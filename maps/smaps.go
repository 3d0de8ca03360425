package maps

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Usage is one mapping with what of it is in memory. Sizes are bytes; one that the kernel does not show is 0.
type Usage struct {
	Mapping
	Resident  uint64 // in memory, shared or not
	Anonymous uint64 // the part of it that belongs to the process alone: written to, if a file is behind the mapping
	Swapped   uint64
	// Flags are two letters each with a blank behind, as "rd wr mr mw me ac "; "" before Linux 3.8.
	Flags string
}

// Has reports whether the kernel shows the flag of that name: "dd" for MADV_DONTDUMP, "io", "ht" for huge pages.
// Source: show_smap_vma_flags in linux/fs/proc/task_mmu.c.
func (u *Usage) Has(flag string) bool {
	for word := range strings.FieldsSeq(u.Flags) {
		if word == flag {
			return true
		}
	}
	return false
}

// ParseUsage reads the text of /proc/PID/smaps. Lines that it does not know are skipped.
//
// Source: proc_pid_smaps(5).
func ParseUsage(r io.Reader) ([]Usage, error) {
	var all []Usage
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 8<<10), 1<<20)
	sc.Split(splitLines)
	for n := 1; sc.Scan(); n++ {
		line := sc.Bytes()
		if len(line) > 0 && line[0] >= 'A' && line[0] <= 'Z' {
			if len(all) > 0 {
				all[len(all)-1].field(line)
			}
			continue
		}
		m, err := parseLine(line)
		if err != nil {
			return nil, &ParseError{Line: n, Text: sc.Text(), Err: err}
		}
		if len(all) == MaxMappings {
			return nil, fmt.Errorf("parse smaps: more than %d mappings", MaxMappings)
		}
		all = append(all, Usage{Mapping: m})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("parse smaps: %w", err)
	}
	return all, nil
}

// field takes a line as "Rss:   8 kB".
func (u *Usage) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimLeft(value, " ")
	var to *uint64
	switch string(name) {
	case "VmFlags":
		u.Flags = string(value)
		return
	case "Rss":
		to = &u.Resident
	case "Anonymous":
		to = &u.Anonymous
	case "Swap":
		to = &u.Swapped
	default:
		return
	}
	f := fields{rest: value}
	if kb, ok := f.dec(); ok && kb < 1<<53 {
		*to = kb << 10
	}
}
