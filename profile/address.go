package profile

import (
	"fmt"
	"strconv"
	"strings"
)

// Address is one in the memory of a process. JSON has it as text, 0x1f, since many readers keep only 53 bits of a
// number.
type Address uint64

// MarshalText implements [encoding.TextMarshaler].
func (a Address) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(a)), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Address) UnmarshalText(b []byte) error {
	digits, ok := strings.CutPrefix(string(b), "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return fmt.Errorf("%.40q is no address of the form 0x1f of up to 64 bits", b)
	}
	*a = Address(v)
	return nil
}
