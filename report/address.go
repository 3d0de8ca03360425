package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// newAddresses shortens the addresses that stand in waits, but for those which would look like another one's. With
// Verbose all are whole.
func newAddresses(waits []*profile.Wait, opt *Options) addresses {
	if opt.Verbose {
		return addresses{}
	}
	long := map[uint64]string{}
	alike := map[string]int{}
	for _, w := range waits {
		for _, addr := range [...]uint64{w.Addr, w.With} {
			digits := fmt.Sprintf("%x", addr)
			if _, ok := long[addr]; ok || len(digits) < longDigits {
				continue
			}
			long[addr] = "0x" + digits[:endDigits] + "…" + digits[len(digits)-endDigits:]
			alike[long[addr]]++
		}
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

// waitsOf lists what the threads of d wait for.
func waitsOf(d *profile.Dump) (waits []*profile.Wait) {
	for i := range d.Threads {
		if w := d.Threads[i].Wait; w != nil {
			waits = append(waits, w)
		}
	}
	return waits
}
