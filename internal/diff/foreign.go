package diff

import (
	"regexp"
	"strings"
)

// foreign notes what the text between files shows of the changes that patch reads and git does not: context diffs, normal diffs, scripts for
// ed, and unified diffs behind an indentation. They name a file in one line and change it in a later one.
type foreign struct {
	named   bool // a line names a file
	command bool // a line is a command of ed, as normal diffs have them too
	last    bool // the line before is one
	stars   bool // the line before begins a hunk of a context diff
}

var (
	namingLine   = regexp.MustCompile(`^(?:--- |\+\+\+ |\*\*\* |Index:|diff -)`)
	edCommand    = regexp.MustCompile(`^[0-9][0-9,]*[acd]`)
	contextLines = regexp.MustCompile(`^(?:\*\*\* |--- )[0-9]`)
)

// indent are the characters that patch takes for an indentation.
const indent = " \tX"

// take reads a line between files, and returns what it begins, or "" if it is text.
func (f *foreign) take(line string) string {
	inner := strings.TrimLeft(line, indent)
	wasCommand, wasStars := f.last, f.stars
	f.last, f.stars = edCommand.MatchString(inner), strings.HasPrefix(inner, "********")
	f.command = f.command || f.last
	switch {
	case wasStars && contextLines.MatchString(inner):
		return "a context diff"
	case !f.named:
	case strings.HasPrefix(inner, "@@ -"):
		return "an indented diff"
	case wasCommand && (strings.HasPrefix(inner, "< ") || strings.HasPrefix(inner, "> ")):
		return "a normal diff"
	case f.command && inner == ".":
		return "a script for ed"
	}
	f.named = f.named || namingLine.MatchString(inner)
	return ""
}

// encodedMail matches the header of a mail whose text is not the one that it shows.
var encodedMail = regexp.MustCompile(`(?i)^content-transfer-encoding:\s*(\S*)`)

// packedFile matches a line between files that brings a file in a form that is not read: a header of Perforce, a shell archive, or a file in
// the encoding of uuencode or yEnc.
var packedFile = regexp.MustCompile(`^(?:={4} //\S.*#[0-9]+.* ={4}|#\s*This is a shell archive|sed .*s/\^X//.*>|begin(?:-base64)? [0-7]{3,4} \S|=ybegin )`)

// foreignLine refuses a line between files that changes a file for some other reader.
func (p *parser) foreignLine() error {
	if kind := p.foreign.take(p.line); kind != "" {
		return brokenAt(p.no, "%s begins %s, which patch applies and git does not; send all changes as one unified diff, without indentation", excerpt(p.line), kind)
	}
	if packedFile.MatchString(p.line) && !strings.HasPrefix(p.ahead(1), "--- ") {
		return brokenAt(p.no, "%s brings a file in a form that is not read; send all changes as one unified diff", excerpt(p.line))
	}
	if m := encodedMail.FindStringSubmatch(p.line); m != nil {
		switch strings.ToLower(m[1]) {
		case "7bit", "8bit", "binary":
		default:
			return brokenAt(p.no, "%s says that the text of the mail is encoded; send the diff as git mailinfo writes it", excerpt(p.line))
		}
	}
	return nil
}
