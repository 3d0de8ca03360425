// Package run starts commands under `fpstack run` as people and CI systems do, with real processes, terminals and
// signals, and compares what the command and who waits for it see with what they see without fpstack.
package run
