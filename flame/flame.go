// Package flame reads and writes profiles in the formats of other programs, and in our own:
// folded text, profile.proto, speedscope, JSON.
//
// Writers give the same bytes for the same profile: no clock, no chance, stable order. They
// turn stacks over where a format wants the outermost frame first. What a format cannot hold is
// described at its writer. The caller closes and compresses, but for profile.proto, which is always
// compressed.
//
// Readers take bytes from anyone: names stay as they are (who shows them escapes them), sizes
// are bounded, and what was not understood is an error or is in the profile's Comments.
// A profile that was read passes [profile.Profile.CheckValid] and has no value below 0: a file with a
// difference becomes a profile with an older and a newer value ([profile.Profile.IsDiff]).
//
// Pages are package page's.
//
// Rules and their sources are in docs/dev/formats.md.
package flame
