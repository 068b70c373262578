// Package cases runs every verdict case of this folder three ways: through the node in process, over HTTP, and through the
// command line. The three must give the verdicts and lines that the case expects.
package cases
