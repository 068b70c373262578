package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// diffFlags make git's answer independent of the user's configuration.
var diffFlags = []string{
	"-c", "core.quotepath=false", "-c", "diff.suppressBlankEmpty=false",
	"diff", "--patch", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--no-relative", "--unified=3",
	"--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short",
}

// gitDiff returns the output of git diff for further arguments. A file that becomes one of another kind, as by a renaming from .txt to
// .py, is shown as a whole: what has not changed of it was under other rules.
func gitDiff(ctx context.Context, args ...string) (string, error) {
	shown, err := textDiff(ctx, args...)
	if err != nil || !strings.Contains(shown, "\nrename to ") {
		return shown, err
	}
	var rest strings.Builder
	var whole []string
	for _, part := range fileDiffs(shown) {
		if from, to, ok := renamed(part); ok && path.Ext(from) != path.Ext(to) {
			whole = append(whole, ":(top,literal)"+from, ":(top,literal)"+to)
		} else {
			rest.WriteString(part)
		}
	}
	if len(whole) == 0 {
		return shown, nil
	}
	plain := slices.Concat([]string{"--no-renames"}, args[:slices.Index(args, "--")], []string{"--"}, whole)
	if shown, err = textDiff(ctx, plain...); err == nil && len(fileDiffs(shown)) != len(whole) { // names in quotes, or several changes of one
		return textDiff(ctx, slices.Concat([]string{"--no-renames"}, args)...)
	}
	return rest.String() + shown, err
}

// renamed returns the old and the new name of a file in a part of a diff, as git writes them.
func renamed(part string) (from, to string, ok bool) {
	head, _, _ := strings.Cut(part, "\n@@ ")
	for line := range strings.Lines(head) {
		line = strings.TrimSuffix(line, "\n")
		if name, found := strings.CutPrefix(line, "rename from "); found {
			from = name
		}
		if name, found := strings.CutPrefix(line, "rename to "); found {
			to = name
		}
	}
	return from, to, from != "" && to != ""
}

// textDiff returns the output of git diff, with its text made UTF-8. A file that git takes for binary is shown as well if it is text: what git
// takes for binary is up to the attributes of the repository, and to a single NUL character, so a change could hide itself.
func textDiff(ctx context.Context, args ...string) (string, error) {
	shown, err := git(ctx, slices.Concat(diffFlags, args)...)
	if err != nil || !strings.Contains(shown, "\nBinary files ") {
		return validText([]byte(shown)), err
	}
	parts := fileDiffs(shown)
	hidden := map[int]bool{}
	for i, part := range parts {
		if isHidden(part) {
			hidden[i] = true
		}
	}
	texts, n, err := hiddenTexts(ctx, hidden, args)
	switch {
	case err != nil:
		return "", err
	case n != len(parts): // somebody is changing the repository just now
		return "", errors.New("git diff gives another answer each time")
	}
	size := len(shown)
	for i, t := range texts {
		if size += len(t); size > maxInput {
			return "", tooLarge("the diff")
		}
		parts[i] = t
	}
	return validText([]byte(strings.Join(parts, ""))), nil
}

// fileDiff begins the part of a diff that concerns one file. No line of a hunk begins so.
const fileDiff = "diff --"

// fileDiffs splits a diff by its files.
func fileDiffs(diff string) []string {
	var parts []string
	from, at := 0, 0
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, fileDiff) && at > from {
			parts = append(parts, diff[from:at])
			from = at
		}
		at += len(line)
	}
	return append(parts, diff[from:])
}

// isHidden reports whether the part of a diff says only that its file is binary.
func isHidden(part string) bool {
	part = strings.TrimSuffix(part, "\n")
	return strings.HasPrefix(part[strings.LastIndexByte(part, '\n')+1:], "Binary files ")
}

// Bounds on the part of a file that is read to decide whether it is text, and on the part that is taken of a text.
const (
	looksAt   = 64 << 10
	maxHidden = 8 << 20
)

// hiddenTexts has git show everything as text and keeps, of the files that are hidden, those that are. It returns how many
// files there were.
func hiddenTexts(ctx context.Context, hidden map[int]bool, args []string) (texts map[int]string, n int, err error) {
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _ = in.CloseWithError(gitInto(ctx, in, slices.Concat(diffFlags, []string{"--text"}, args)...)) }()
	defer func() { _ = out.Close() }() // ends git where this gives up
	parts := map[int][]byte{}
	lines, begins := bufio.NewReaderSize(out, looksAt), true
	at := -1
	for {
		piece, err := lines.ReadSlice('\n')
		if begins && (bytes.HasPrefix(piece, []byte(fileDiff)) || at < 0 && len(piece) > 0) {
			at++
		}
		if hidden[at] {
			part := append(parts[at], piece...)
			if parts[at] = part; len(part) > maxHidden || len(part) > looksAt && !readable(part[:looksAt]) {
				delete(hidden, at)
				delete(parts, at)
			}
		}
		switch begins = err == nil; {
		case err == io.EOF:
			texts = map[int]string{}
			for i, part := range parts {
				if readable(part) {
					texts[i] = strings.ReplaceAll(string(part), "\x00", "\uFFFD")
				}
			}
			return texts, at + 1, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
	}
}

// readable reports whether hunks are of text, also in another encoding than UTF-8 and with a few stray bytes.
func readable(part []byte) bool {
	hunks := part[max(0, bytes.Index(part, []byte("\n@@ "))):]
	return mostlyText(hunks)
}
