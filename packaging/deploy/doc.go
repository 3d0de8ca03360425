// Package deploy has the files that run the agent elsewhere than under systemd: a DaemonSet for Kubernetes, a compose
// file for one machine. Its tests read them as those programs do, by their own types.
//
// It is a module of its own: what reads the files is no dependency of fpstack.
package deploy
