// Package assistant finds rules in the instructions that people give to coding assistants, such as AGENTS.md, CLAUDE.md and the
// rules of Cursor and Copilot, and writes rules as such instructions.
package assistant
