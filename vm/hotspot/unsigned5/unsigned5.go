// Package unsigned5 decodes numbers of HotSpot's UNSIGNED5 coding, of one to five bytes. It knows bytes alone.
//
// Source: src/hotspot/share/utilities/unsigned5.hpp.
package unsigned5

import "io"

// Coding is the excess of a byte: 0 up to JDK 19, 1 from JDK 20 on, where no byte of a number is 0.
type Coding uint32

// MaxLen is how long a number can be, bytes.
const MaxLen = 5

const (
	low      = 192 // a byte below it is the last
	perDigit = 6   // bits
)

// Reader reads one number after the other.
type Reader struct {
	Data   []byte
	Coding Coding
	Err    error // why a number could not be read, nil if all could
}

// Next reads a number. Behind the end it is 0, and Err says so.
func (r *Reader) Next() uint32 {
	var sum uint32
	for i := range MaxLen {
		if r.Err != nil || i >= len(r.Data) || uint32(r.Data[i]) < uint32(r.Coding) {
			r.Err = io.ErrUnexpectedEOF
			return 0
		}
		b := uint32(r.Data[i])
		sum += (b - uint32(r.Coding)) << (i * perDigit)
		if b < low || i == MaxLen-1 {
			r.Data = r.Data[i+1:]
			return sum
		}
	}
	return 0
}

// Signed reads a number that may be negative.
func (r *Reader) Signed() int32 {
	n := r.Next()
	return int32(n>>1) ^ -int32(n&1)
}
