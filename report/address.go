package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// addresses writes the addresses of what is waited for in short, "0x55d2…40e0". The zero value leaves them whole.
type addresses struct{ replace *strings.Replacer }

// Digits of an address that are left at each end, and of one that is shortened at least.
const (
	endDigits  = 4
	longDigits = 10
)

// newAddresses shortens these addresses where they stand in words, but for those which would look like another one's.
// With Verbose all are whole.
func newAddresses(all []uint64, opt *Options) addresses {
	if opt.Verbose {
		return addresses{}
	}
	long := map[uint64]string{}
	alike := map[string]int{}
	for _, addr := range all {
		digits := fmt.Sprintf("%x", addr)
		if _, ok := long[addr]; ok || len(digits) < longDigits {
			continue
		}
		long[addr] = "0x" + digits[:endDigits] + "…" + digits[len(digits)-endDigits:]
		alike[long[addr]]++
	}
	var pairs [][2]string
	for addr, short := range long {
		if alike[short] == 1 {
			pairs = append(pairs, [2]string{jsondoc.Hex(addr), short})
		} else { // one that begins like it stays whole, too
			pairs = append(pairs, [2]string{jsondoc.Hex(addr), jsondoc.Hex(addr)})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { // of two that begin alike the longer one is looked for first
		return cmp.Or(len(b[0])-len(a[0]), cmp.Compare(a[0], b[0]))
	})
	var oldNew []string
	for _, pair := range pairs {
		oldNew = append(oldNew, pair[0], pair[1])
	}
	return addresses{strings.NewReplacer(oldNew...)}
}

// short is words with short addresses.
func (a addresses) short(words string) string {
	if a.replace == nil {
		return words
	}
	return a.replace.Replace(words)
}

// addressesOf lists the addresses of what the threads of d wait for, as the kernel and as their runtimes say it.
func addressesOf(d *profile.Dump) (all []uint64) {
	for i := range d.Threads {
		t := &d.Threads[i]
		all = append(all, addressesIn(runtimeWait(t))...)
		if t.Wait != nil {
			all = append(all, addressesOfWait(t.Wait)...)
		}
	}
	return all
}

func addressesOfWait(w *profile.Wait) []uint64 {
	return append(addressesIn(w.Text), uint64(w.Addr), uint64(w.With))
}

// addressesIn lists the long addresses that stand in words: "0x" and digits, as a word by itself.
func addressesIn(words string) (all []uint64) {
	const start = "0x"
	for from := 0; ; {
		at := strings.Index(words[from:], start)
		if at < 0 {
			return all
		}
		at += from
		digits := words[at+len(start):]
		if end := strings.IndexFunc(digits, func(r rune) bool { return !inWord(r) }); end >= 0 {
			digits = digits[:end]
		}
		from = at + len(start) + len(digits)
		before, _ := utf8.DecodeLastRuneInString(words[:at])
		if inWord(before) || len(digits) < longDigits || strings.ToLower(digits) != digits {
			continue
		}
		if addr, err := strconv.ParseUint(digits, 16, 64); err == nil {
			all = append(all, addr)
		}
	}
}

// inWord reports whether r is a letter, a digit or "_" of ASCII.
func inWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
