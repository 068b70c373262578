// Package wordtest holds comments, help texts and documents to plain technical English, as a test.
package wordtest
