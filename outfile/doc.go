//go:build linux

// Package outfile writes result files: whole or not at all, and nowhere else than where the user
// meant. It is for a program that may be root and writes into folders where others may write too.
//
// The caller gives a path or a choice of names, and a function that writes the content.
//
// It guarantees:
//   - What is half-written has no name, where the file system allows that (O_TMPFILE of open(2)), so that
//     not even a SIGKILL leaves it behind. Elsewhere [Files.Abandon] removes it.
//   - A new file has the mode that the umask leaves; one that was there keeps its mode, its owner and its group.
//     With Files.Private neither group nor others may read it.
//   - A link that somebody else laid in a folder where everybody may write is not followed, and what somebody else
//     put there is neither replaced nor written to, whatever /proc/sys/fs/protected_* say (proc_sys_fs(5)).
//   - A name that the program chose by itself ([Files.Create]) is never one that is taken, nor a link.
//   - A device, a pipe or a socket is written to as it is, and so is a file that is one of our own open ones.
//
// It is not for several writers of one file at a time: the last one stays.
package outfile
