// locks_go: Go programs that are idle, and one that is in a deadlock of C. The first argument says how; see ../locks.c.
package main

/*
#cgo LDFLAGS: -pthread
#include <pthread.h>
#include <unistd.h>
#include <signal.h>
#include <sys/prctl.h>

static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void begin(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); alarm(120); }
static void take(int i) { pthread_mutex_lock(&lock[i]); }
*/
import "C"

import (
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"
)

func main() {
	C.begin()
	switch os.Args[1] {
	case "idle":
		for range 8 {
			go func() { select {} }()
		}
		signal.Notify(make(chan os.Signal), os.Interrupt)
	case "server":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go l.Accept()
	case "cgo":
		var both sync.WaitGroup
		both.Add(2)
		for i := range 2 {
			go func() {
				runtime.LockOSThread()
				C.take(C.int(i))
				both.Done()
				both.Wait()
				C.take(C.int(1 - i))
			}()
		}
	}
	time.Sleep(400 * time.Millisecond)
	os.Stdout.WriteString("R\n")
	select {}
}
