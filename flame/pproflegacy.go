package flame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"sync"

	pprof "github.com/google/pprof/profile"
)

// Bounds of the forms that pprof had before profile.proto. Its reader looks each place in the code up among all
// mappings, and puts what an attribute of the list of mappings says wherever a line names it.
const (
	maxLegacyFile       = 64 << 20
	maxLegacyLookups    = 1 << 31
	maxLegacyAttributes = 1000
	maxLegacyExpanded   = 256 << 20
)

var (
	// legacyText are the first lines of text that pprof reads.
	// Source: google/pprof/profile, legacy_profile.go and legacy_java_profile.go.
	legacyText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(heap profile: *\d+: *\d+ *\[|--- (contentionz|threadz|heapz) \d|` +
			`--- (mutex|contention):|--- Thread [[:xdigit:]]+ \(name: |\S+ profile: total \d+\r?(\n|\z))`)
	})
	legacyMap = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^.*(MAPPED_LIBRARIES:|--- Memory map: ---)`)
	})

	errLegacyPanic = errors.New("read pprof: an older form that its library does not read")
)

// isLegacy says whether a file that begins with start is in one of pprof's forms before profile.proto: text, or words
// of 32 or 64 bits.
func isLegacy(start []byte) bool {
	text := start
	for { // blank lines and comments may come first
		line, rest, more := bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return legacyText().Match(text) || isLegacyCPU(start)
		}
		if !more {
			return isLegacyCPU(start)
		}
		text = rest
	}
}

// isLegacyCPU knows the heading of a CPU profile of gperftools: 0, 3, 0 or 1, the period in µs, 0.
// Source: google/pprof/profile, parseCPU.
func isLegacyCPU(b []byte) bool {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, size := range []int{4, 8} {
			if len(b) < 5*size {
				continue
			}
			var word [5]uint64
			for i := range word {
				if size == 4 {
					word[i] = uint64(order.Uint32(b[i*size:]))
				} else {
					word[i] = order.Uint64(b[i*size:])
				}
			}
			if word[0] == 0 && word[1] == 3 && word[2] <= 1 && word[3] > 0 && word[4] == 0 {
				return true
			}
		}
	}
	return false
}

// parseLegacy reads a file for which isLegacy is true.
func parseLegacy(data []byte) (in *pprof.Profile, err error) {
	if err := checkLegacy(data); err != nil {
		return nil, err
	}
	defer func() { // the library's parsers are not made for hostile bytes
		if recover() != nil {
			in, err = nil, errLegacyPanic
		}
	}()
	if in, err = pprof.ParseData(data); err != nil {
		return nil, fmt.Errorf("read pprof: %w", err)
	}
	return in, nil
}

// checkLegacy refuses what would take the library's reader more than some seconds or gigabytes.
func checkLegacy(data []byte) error {
	if len(data) > maxLegacyFile {
		return fmt.Errorf("read pprof: more than %d MiB of an older form", maxLegacyFile>>20)
	}
	// The library tries profile.proto first, and may get far before it sees that it is none.
	if weight, _ := weigh(data); weight > maxWeight {
		return fmt.Errorf("read pprof: %d MiB would take %d MiB of memory", len(data)>>20, weight>>20)
	}
	places, listed := len(data)/4, data // of words of 32 bits, where the list follows at once
	if !isLegacyCPU(data) {
		places, listed = bytes.Count(data, []byte("0x")), nil
		if at := legacyMap().FindIndex(data); at != nil {
			listed = data[at[1]:]
		}
	}
	lines, attributes, length := bytes.Count(listed, []byte("\n")), 0, 0
	for line := range bytes.Lines(listed) {
		_, value, ok := bytes.Cut(line, []byte("="))
		if !ok {
			continue
		}
		if attributes, length = attributes+1, length+len(value); attributes > maxLegacyAttributes {
			return fmt.Errorf("read pprof: more than %d attributes in the list of mappings", maxLegacyAttributes)
		}
		if bytes.IndexByte(value, '$') >= 0 {
			return fmt.Errorf("read pprof: an attribute in the list of mappings refers to others: %q",
				line[:min(len(line), maxShown)])
		}
	}
	if expanded := int64(length) * int64(bytes.Count(listed, []byte("$"))); expanded > maxLegacyExpanded {
		return fmt.Errorf("read pprof: attributes would take %d MiB in the list of mappings", expanded>>20)
	}
	if lookups := int64(places) * int64(lines); lookups > maxLegacyLookups {
		return fmt.Errorf("read pprof: %d places in the code and %d mappings are too many", places, lines)
	}
	return nil
}
