package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// manCommand is `tenet man`.
type manCommand struct {
	Command string `arg:"" optional:"" help:"First word of a command, such as rules; without it, the page of tenet."`
	Dir     string `type:"filled" placeholder:"DIR" help:"Write all pages into this folder instead of printing one."`
	JSON    bool   `name:"json" help:"List the commands with their arguments and flags as JSON, for programs."`
}

func (manCommand) Help() string {
	return `Prints the manual page of a command, for man(1). Packages for Debian and RPM install all pages; else:

    tenet man rules | man -l -
    tenet man --dir ~/.local/share/man/man1`
}

// Run prints a page or writes all.
func (k *manCommand) Run(s *session, app *kong.Kong) error {
	root := app.Model.Node
	if k.JSON && k.Dir != "" {
		return errors.New("--json lists the commands and --dir writes pages; give one of them")
	}
	if k.Dir != "" {
		if k.Command != "" {
			return fmt.Errorf("--dir writes all pages; leave out %s", k.Command)
		}
		return writePages(root, k.Dir)
	}
	if k.Command == "" && k.JSON {
		return printJSON(s.out, described(root))
	}
	if k.Command == "" {
		_, err := fmt.Fprint(s.out, manualOf(root, root))
		return err
	}
	for _, n := range root.Children {
		if n.Name == k.Command && !n.Hidden && k.JSON {
			return printJSON(s.out, described(n))
		}
		if n.Name == k.Command && !n.Hidden {
			_, err := fmt.Fprint(s.out, manualOf(root, n))
			return err
		}
	}
	return fmt.Errorf("there is no command %s; tenet help lists them", k.Command)
}

// commandDescription is the JSON of a command.
type commandDescription struct {
	Command   string                `json:"command"`
	Help      string                `json:"help"`
	Detail    string                `json:"detail,omitempty"`
	Arguments []argumentDescription `json:"arguments"`
	Flags     []argumentDescription `json:"flags"`
}

// argumentDescription is the JSON of an argument or a flag of a command.
type argumentDescription struct {
	Name     string   `json:"name"`
	Help     string   `json:"help"`
	Required bool     `json:"required"`
	Values   []string `json:"values,omitempty"`
	Default  string   `json:"default,omitempty"`
}

// described lists the commands at and below a node that can be run, with their arguments and flags; the flags of all commands are those of tenet.
func described(n *kong.Node) []commandDescription {
	var list []commandDescription
	if n.Hidden {
		return nil
	}
	if len(n.Children) == 0 || n.Type == kong.ApplicationNode {
		one := commandDescription{
			Command: commandName(n), Help: n.Help, Detail: n.Detail, Arguments: []argumentDescription{}, Flags: []argumentDescription{},
		}
		for _, p := range n.Positional {
			if !p.Tag.Hidden {
				one.Arguments = append(one.Arguments, argumentDescription{p.Name, p.Help, p.Required, valuesOf(p), p.Default})
			}
		}
		for _, f := range n.Flags {
			if !f.Hidden {
				one.Flags = append(one.Flags, argumentDescription{"--" + f.Name, f.Help, f.Required, valuesOf(f.Value), f.Default})
			}
		}
		list = append(list, one)
	}
	for _, child := range n.Children {
		list = append(list, described(child)...)
	}
	return list
}

// commandName is the words of a command.
func commandName(n *kong.Node) string {
	if n.Parent == nil {
		return n.Name
	}
	return commandName(n.Parent) + " " + n.Name
}

// valuesOf lists the values that an argument or a flag may have, if they are listed.
func valuesOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// writePages writes the pages of tenet and of its commands.
func writePages(root *kong.Node, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manuals are for everybody
		return err
	}
	for _, n := range append([]*kong.Node{root}, root.Children...) {
		if n.Hidden {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, pageName(root, n)+".1"), []byte(manualOf(root, n)), 0o644); err != nil { //nolint:gosec // manuals are for everybody
			return err
		}
	}
	return nil
}

// pageName is the name of the page of a command: tenet, or tenet-rules.
func pageName(root, n *kong.Node) string {
	if n == root {
		return root.Name
	}
	return root.Name + "-" + n.Name
}

// manualOf is the page of a command with all the commands below it, in the language of man(7). It holds no date, so that equal programs have equal pages.
func manualOf(root, n *kong.Node) string {
	var b strings.Builder
	name := pageName(root, n)
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"Tenet\"\n.SH NAME\n%s \\- %s\n", roffQuoted(strings.ToUpper(name)), roffQuoted("tenet "+version()), roff(name), roff(strings.TrimSuffix(n.Help, ".")))
	if n == root {
		b.WriteString(".SH SYNOPSIS\n.B tenet\n\\fICOMMAND\\fR [\\fIFLAG\\fR]...\n.SH COMMANDS\n")
		for _, c := range root.Children {
			if !c.Hidden {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(root, c)), roffLines(c.Help))
			}
		}
		b.WriteString(".SH FLAGS OF ALL COMMANDS\n")
		roffFlags(&b, root.Flags)
		b.WriteString(`.SH EXIT STATUS
.TP
0
It is done; what was judged keeps the rules.
.TP
1
Rules are broken, the audit log is not as it was written, or a plan has changes.
.TP
2
It could not be done.
.TP
130
It was interrupted.
`)
		return b.String()
	}
	roffCommand(&b, n, "SH")
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\nhas the flags of all commands and the exit status.\n", root.Name)
	return b.String()
}

// roffCommand describes a command and those below it; heading is the macro of its heading.
func roffCommand(b *strings.Builder, n *kong.Node, heading string) {
	if n.Type == kong.CommandNode && len(n.Children) == 0 {
		if heading == "SH" {
			b.WriteString(".SH SYNOPSIS\n")
		}
		fmt.Fprintf(b, ".B %s\n", roff(n.FullPath()))
		for _, p := range n.Positional {
			fmt.Fprintf(b, "%s\n", roff(p.Summary()))
		}
		b.WriteString("[\\fIFLAG\\fR]...\n")
	}
	if heading == "SH" {
		b.WriteString(".SH DESCRIPTION\n")
	} else {
		b.WriteString(".PP\n")
	}
	b.WriteString(roffLines(n.Help) + "\n")
	if n.Detail != "" {
		b.WriteString(".PP\n" + roffText(n.Detail))
	}
	if len(n.Positional) > 0 || len(n.Flags) > 0 {
		if heading == "SH" {
			b.WriteString(".SH ARGUMENTS AND FLAGS\n")
		}
		for _, p := range n.Positional {
			fmt.Fprintf(b, ".TP\n%s\n%s\n", roff(p.Summary()), roffLines(p.Help))
		}
		roffFlags(b, n.Flags)
	}
	first := true
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		if first && heading == "SH" {
			b.WriteString(".SH COMMANDS\n")
		}
		first = false
		fmt.Fprintf(b, ".SS %s\n", roffQuoted(c.FullPath()))
		roffCommand(b, c, "SS")
	}
}

func roffFlags(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		text := "--" + f.Name
		if f.Short != 0 {
			text = "-" + string(f.Short) + ", " + text
		}
		if !f.IsBool() {
			text += "=" + f.FormatPlaceHolder()
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", roff(text), roffLines(f.Help))
	}
}

// roffText sets paragraphs, and lines that are indented as they are.
func roffText(text string) string {
	var b strings.Builder
	literal := false
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		indented := strings.HasPrefix(l, "    ")
		switch {
		case indented && !literal:
			b.WriteString(".PP\n.nf\n")
			literal = true
		case !indented && literal && l != "":
			b.WriteString(".fi\n.PP\n")
			literal = false
		case l == "" && !literal:
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roffLines(l) + "\n")
	}
	if literal {
		b.WriteString(".fi\n")
	}
	return b.String()
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// roff takes its meaning from what man(7) knows.
func roff(s string) string { return roffEscapes.Replace(s) }

// roffQuoted is an argument of a macro.
func roffQuoted(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }

// roffLines sets lines of text, none of which is taken for a macro.
func roffLines(s string) string {
	lines := strings.Split(roff(s), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
