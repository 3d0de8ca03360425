// Package top is the live table: where the time of running processes goes, refreshed each
// second, with the callers and callees of one function.
//
// It is fed profiles by a [Source] and knows neither a process nor the command line.
// [Run] draws on the terminal until a person quits; [Print] writes the same as text or JSON
// where there is no terminal.
//
// Every profile taken is merged into a store that keeps each stack once. What is shown is
// summed over it again after each take and each key, in one pass over the stacks. What was
// taken in the last window counts the more the younger it is: linearly from all of it now to
// nothing at the window's end. Times are scaled so that a steady load reads as its real
// time in the window.
//
// The caller decides whether there is a terminal that may be touched: [Run] must be called
// in the foreground only. It leaves the terminal as it was on every return, and when
// its own goroutines or those under [Guard] panic.
//
// Names come from targets and may hold any bytes; they are shown escaped.
package top
