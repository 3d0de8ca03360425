//go:build ignore

// Record starts a program, waits until it says that it is where it wants to be sampled, makes
// a snapshot of it and prints that between two lines, as base64: so it leaves a guest through
// its console.
//
//	record NAME COMMAND [ARGUMENT…]
//
// The program writes a byte to its standard output when it is ready, and is ended afterwards.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// stackLimit is far more than any target uses; a Go stack lies in an arena of 64 MiB.
const stackLimit = 64 << 10

// stackEnd is as much of the first stack as is stored if a thread is not on it.
const stackEnd = 8 << 10

func main() {
	log.SetFlags(0)
	log.SetPrefix("record: ")
	if len(os.Args) < 3 {
		log.Fatal("usage: record NAME COMMAND [ARGUMENT…]")
	}
	s, err := record(os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := snapshot.Write(&file, s); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("SNAPSHOT-BEGIN %s\n", os.Args[1])
	lines := base64.StdEncoding.EncodeToString(file.Bytes())
	for len(lines) > 0 {
		n := min(len(lines), 100)
		fmt.Println(lines[:n])
		lines = lines[n:]
	}
	fmt.Printf("SNAPSHOT-END %s\n", os.Args[1])
}

func record(command []string) (*snapshot.Snapshot, error) {
	cmd := exec.Command(command[0], command[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("wait for the byte of %s: %w", command[0], err)
	}
	// What the program does behind its byte is a few instructions, or a system call.
	time.Sleep(200 * time.Millisecond)
	p, err := tracer.Open(cmd.Process.Pid, tracer.Options{StackLimit: stackLimit})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	s, err := p.Snapshot(context.Background(), tracer.StopOptions{MaxPause: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	if err := addMemory(p, s); err != nil {
		return nil, err
	}
	addRecords(p, s)
	return s, nil
}

// addMemory copies what a walk of the living process reads from it besides the stacks: the
// vDSO, which no file holds, and the end of the first stack, which a thread may have left for
// another one.
func addMemory(p *tracer.Process, s *snapshot.Snapshot) error {
	for _, m := range s.Maps.All() {
		size := m.End - m.Start
		switch m.Path {
		case "[vdso]":
		case "[stack]":
			size = min(size, stackEnd)
		default:
			continue
		}
		r := mem.Range{Start: m.End - size, Data: make([]byte, size)}
		if _, err := p.ReadMem(r.Data, r.Start); err != nil {
			return fmt.Errorf("read %s: %w", m.Path, err)
		}
		s.Memory = append(s.Memory, r)
	}
	return nil
}

// maxRecords is more than the frames of any target.
const maxRecords = 64

// addRecords follows the frame pointers of each thread and copies what lies around those
// records that are not in its stack: the goroutine's, if the thread is on its system stack.
func addRecords(p *tracer.Process, s *snapshot.Snapshot) {
	const around = 512
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Registers == nil {
			continue
		}
		fp, ok := t.Registers.FP()
		for range maxRecords {
			if !ok || fp == 0 {
				break
			}
			if _, err := mem.Uint(s.Reader(t, nil), fp+8, 8, t.Registers.Arch.Order); err != nil {
				r := mem.Range{Start: fp, Data: make([]byte, around)}
				if _, err := p.ReadMem(r.Data, r.Start); err != nil {
					break
				}
				s.Memory = append(s.Memory, r)
			}
			next, err := mem.Uint(p, fp, 8, t.Registers.Arch.Order)
			fp, ok = mem.Addr(next), err == nil
		}
	}
}
