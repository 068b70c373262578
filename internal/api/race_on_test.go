//go:build race

package api

// raceDetector reports that memory is not that of the program.
const raceDetector = true
