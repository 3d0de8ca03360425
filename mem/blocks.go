package mem

// Blocks is a Reader that reads aligned blocks of BlockSize while it holds them, for who reads many words that lie near
// to each other: a read of a living process is a system call. What it holds is of the moment at which the block was
// read first. It is for one goroutine at a time.
type Blocks struct {
	from Reader
	most int
	held map[Addr]*block // nil while none are held
}

// BlockSize divides a page: a block is mapped as a whole or not at all.
const BlockSize = 1024

type block struct {
	ok   bool // all of it could be read
	data [BlockSize]byte
}

// NewBlocks returns Blocks of from, which may be nil, that hold up to most blocks and none yet.
func NewBlocks(from Reader, most int) *Blocks { return &Blocks{from: from, most: most} }

// Hold lets the blocks that are read from now on be held, until the returned function is called.
func (k *Blocks) Hold() (drop func()) {
	k.held = map[Addr]*block{}
	return func() { k.held = nil }
}

// ReadMem implements [Reader].
func (k *Blocks) ReadMem(b []byte, addr Addr) (int, error) {
	if k.from == nil {
		return 0, &FaultError{Addr: addr, Len: len(b), Err: ErrUnmapped}
	}
	at := int(addr % BlockSize)
	if k.held == nil || at+len(b) > BlockSize {
		return k.from.ReadMem(b, addr)
	}
	start := addr - Addr(at)
	got := k.held[start]
	if got == nil {
		if len(k.held) >= k.most {
			return k.from.ReadMem(b, addr)
		}
		got = &block{}
		_, err := k.from.ReadMem(got.data[:], start)
		got.ok = err == nil
		k.held[start] = got
	}
	if !got.ok {
		return k.from.ReadMem(b, addr)
	}
	return copy(b, got.data[at:]), nil
}
