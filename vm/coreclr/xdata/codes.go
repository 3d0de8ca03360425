package xdata

import "fmt"

// What the codes are called here is how the documentation calls them.
const (
	allocL      = 0xe0
	setFP       = 0xe1
	addFP       = 0xe2
	nop         = 0xe3
	end         = 0xe4
	endC        = 0xe5
	saveNext    = 0xe6
	pacSignLR   = 0xfc
	lengthAlloc = 4 // bytes of alloc_l
)

// size is how many bytes the code has that begins with op, 0 if it is not known.
func size(op byte) int {
	switch {
	case op < 0xc0:
		return 1
	case op < 0xe0, op == addFP:
		return 2
	case op == allocL:
		return lengthAlloc
	case op <= saveNext, op == pacSignLR:
		return 1
	}
	return 0
}

// count is how many instructions the codes stand for up to their end.
func count(codes []byte) (uint32, error) {
	for n := uint32(0); ; n++ {
		op, rest, err := next(codes)
		if err != nil {
			return 0, err
		}
		if op[0] == end || op[0] == endC {
			return n, nil
		}
		codes = rest
	}
}

// next cuts the first of codes off.
func next(codes []byte) (op, rest []byte, err error) {
	if len(codes) == 0 {
		return nil, nil, fmt.Errorf("%w: its codes have no end", ErrMalformed)
	}
	n := size(codes[0])
	switch {
	case n == 0:
		return nil, nil, fmt.Errorf("%w: code %#x", ErrMalformed, codes[0])
	case n > len(codes):
		return nil, nil, fmt.Errorf("%w: a code is cut", ErrMalformed)
	}
	return codes[:n], codes[n:], nil
}
