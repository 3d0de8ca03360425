package capture

import (
	"bytes"
	"os"
	"syscall"
)

// lastLine is the last line of a regular file, "" of anything else: reading that could take what others wait for.
func lastLine(file string) string {
	const most = 4 << 10
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a FIFO by now
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, min(most, info.Size()))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b)))
	b = bytes.TrimRight(b[:n], "\n\r ")
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}
