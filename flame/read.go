package flame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/fpstack/fpstack/profile"
)

// errUnknownFormat names what is understood; who knows the file's name adds it.
var errUnknownFormat = errors.New("read profile: expected folded stacks, text of perf script, a profile of pprof, " +
	"a .cpuprofile or " + jsonSchema + " JSON")

// head is how many bytes identify a format.
const head = 512

// Read reads a profile in any format that this package reads: folded stacks, text of perf script, profile.proto, V8's
// .cpuprofile, our own JSON, each of them maybe compressed by gzip. It distinguishes them by their first bytes. The
// report tells what folded text held; that of other formats is the zero value. Comments of the profile hold the same
// for a person.
//
// It fails if r does, and as [ReadFolded], [ReadPerfScript], [ReadCPUProfile] and [ReadJSON] do, and as a file of
// pprof that is no good.
func Read(r io.Reader) (*profile.Profile, FoldedReport, error) {
	in, err := uncompressed(r)
	if err != nil {
		return nil, FoldedReport{}, fmt.Errorf("read profile: %w", err)
	}
	buffered := bufio.NewReaderSize(in, 64<<10)
	start, err := buffered.Peek(head)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, FoldedReport{}, fmt.Errorf("read profile: file is cut short: %w", err)
	} else if err != nil && err != io.EOF {
		return nil, FoldedReport{}, fmt.Errorf("read profile: %w", err)
	}
	text := bytes.TrimSpace(start)
	if found := foreign(text); found != "" {
		return nil, FoldedReport{}, fmt.Errorf("%w: found %s", errUnknownFormat, found)
	}
	switch {
	case len(text) == 0 && len(start) < head:
		return nil, FoldedReport{}, fmt.Errorf("%w: found nothing", errUnknownFormat)
	case isProto(start):
		data, err := readWhole(buffered, "pprof")
		if err != nil {
			return nil, FoldedReport{}, err
		}
		p, err := parsePprof(data)
		return p, FoldedReport{}, err
	case isJSON(text) && isCPUProfile(text):
		p, err := ReadCPUProfile(buffered)
		return p, FoldedReport{}, err
	case isJSON(text):
		p, err := ReadJSON(buffered)
		return p, FoldedReport{}, err
	case isPerfScript(start):
		p, err := ReadPerfScript(buffered)
		return p, FoldedReport{}, err
	default:
		return ReadFolded(buffered)
	}
}

// isProto says whether a file that begins with start may be a profile.proto: a field of the first 15
// whose length lies within a few bytes, and bytes that no text has.
func isProto(start []byte) bool {
	if len(start) < 2 || start[0]>>3 == 0 || start[0]>>3 > 15 {
		return false
	}
	if wire := start[0] & 7; wire != 0 && wire != 2 {
		return false
	}
	return bytes.ContainsFunc(start[:min(len(start), 64)],
		func(r rune) bool { return r < '\t' || '\r' < r && r < ' ' && r != 0x1b })
}

// isJSON says whether text begins as an object of JSON does. A frame may begin with a brace too.
func isJSON(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}

// dumpSchema is in the first bytes of what fpstack -f json writes.
var dumpSchema = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{\s*"schema"\s*:\s*"fpstack\.dump/`)
})

// foreign names formats that people try.
func foreign(text []byte) string {
	if isJSON(text) && dumpSchema().Match(text) {
		return "a dump: fpstack FILE -f folded writes what can be read here"
	}
	for _, f := range []struct{ magic, name string }{
		{"fpstack snapshot ", "a saved dump: fpstack FILE -f folded writes what can be read here"},
		{"PERFILE2", "a recording of perf: perf script makes text of it that can be read"},
		{"\x7fELF", "a program"},
		{"<!", "a page"},
		{"<?xml", "a page or picture"},
		{"<html", "a page"},
		{"<svg", "a picture"},
		{"[{", "JSON of another program"},
		{"\x28\xb5\x2f\xfd", "a file compressed by zstd"},
		{"\xfd7zXZ", "a file compressed by xz"},
		{"BZh91AY", "a file compressed by bzip2"},
		{"PK\x03\x04", "a zip archive"},
	} {
		if bytes.HasPrefix(text, []byte(f.magic)) {
			return f.name
		}
	}
	return ""
}
