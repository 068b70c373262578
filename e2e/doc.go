// Package e2e holds scripts that use Tenet as its users do: from the command line and over HTTP.
package e2e
