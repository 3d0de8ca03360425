// Package diagnostic asks a running .NET for what it does only where it is asked: writing a perf map of its methods.
//
// The caller brings a connection to the runtime's diagnostic socket, with a deadline, and asks only on the user's word:
// the runtime is changed by it. It is for .NET 8 and later; earlier ones refuse.
//
// Source: documentation/design-docs/ipc-protocol.md of dotnet/diagnostics.
package diagnostic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// magic begins each message, with a zero byte behind it.
const magic = "DOTNET_IPC_V1\x00"

// A message has a head: magic, size of all, command set, command, 0.
const (
	headSize  = 20
	maxAnswer = 1 << 12 // bytes; that of these commands has 4

	setProcess  = 4
	enableMap   = 5
	disableMap  = 6
	mapAlone    = 3 // PerfMapType: no jitdump
	setServer   = 0xff
	serverOK    = 0
	serverError = 0xff

	unknownCommand = 0x80131385 // DS_IPC_E_UNKNOWN_COMMAND
)

// Errors that a person can do something about.
var (
	ErrTooOld = errors.New("the runtime does not know this command, which .NET 8 and later have")
	// ErrMalformed says that what answers speaks another protocol.
	ErrMalformed = errors.New("the answer is not one of .NET")
)

// IsSocket reports whether a file of that name is the diagnostic socket of the process that calls itself pid.
func IsSocket(name string, pid int) bool {
	return strings.HasPrefix(name, "dotnet-diagnostic-"+strconv.Itoa(pid)+"-") && strings.HasSuffix(name, "-socket")
}

// EnablePerfMap makes the runtime write /tmp/perf-PID.map, as the process sees /tmp: the methods that there are, and
// from then on each that it compiles. It returns when the former are written.
func EnablePerfMap(c io.ReadWriter) error {
	return command(c, enableMap, binary.LittleEndian.AppendUint32(nil, mapAlone))
}

// DisablePerfMap ends that. The file stays.
func DisablePerfMap(c io.ReadWriter) error { return command(c, disableMap, nil) }

// command sends one command of the set Process, and reads the answer.
func command(c io.ReadWriter, id byte, payload []byte) error {
	b := append([]byte(magic), 0, 0, setProcess, id, 0, 0)
	b = append(b, payload...)
	binary.LittleEndian.PutUint16(b[len(magic):], uint16(len(b)))
	if _, err := c.Write(b); err != nil {
		return fmt.Errorf("send command: %w", err)
	}
	return answer(c)
}

// answer reads the answer to a command.
func answer(r io.Reader) error {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	size := int(binary.LittleEndian.Uint16(head[len(magic):]))
	if string(head[:len(magic)]) != magic || size < headSize || size > maxAnswer || head[16] != setServer {
		return ErrMalformed
	}
	body := make([]byte, size-headSize)
	if _, err := io.ReadFull(r, body); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	code := uint32(0)
	if len(body) >= 4 {
		code = binary.LittleEndian.Uint32(body)
	}
	switch {
	case head[17] == serverOK && code == 0:
		return nil
	case code == unknownCommand:
		return ErrTooOld
	}
	return fmt.Errorf("the runtime refuses: error %#x", code)
}
