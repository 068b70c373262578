// Package importtest holds the arrows between packages as a test, so that none turns round unseen.
package importtest
