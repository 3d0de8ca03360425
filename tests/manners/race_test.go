//go:build linux && race

package manners

const raceDetector = true
