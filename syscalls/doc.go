// Package syscalls decodes system calls: from the number and the six argument words
// that /proc/TID/syscall shows, the name of the call and its arguments as a person reads them.
//
// The caller provides the architecture whose numbers the process uses, by its GOARCH name,
// and the words as the kernel showed them. No memory of the target is read: what an argument
// points to is not known here, and a pointer is shown as an address.
//
// It guarantees an answer for any number and any words. A call whose number or prototype is
// not known comes with all six words.
//
// The numbers are those of golang.org/x/sys/unix, which takes them from the kernel's headers.
// The prototypes follow include/linux/syscalls.h of the kernel and the man pages of section 2.
package syscalls
