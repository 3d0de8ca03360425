// Package push sends recorded profiles to the stores that a team runs: an OpenTelemetry collector, Pyroscope, Parca, or
// a folder.
//
// A Target is where they go, from a URL. It makes Requests of intervals, which are bytes: what is kept for a store that
// is away is sent again as it was, with the same ids. A Spool keeps them, within bounds, and a Sender tells what to do
// when a store does not take one. Accounts say what became of every profile.
//
// It records nothing and knows no process; it is HTTP and bytes alone.
package push
