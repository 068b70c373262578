package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"tenet/internal/hook/guard"
	"tenet/internal/rule"
	"tenet/internal/shell"
	"tenet/internal/subject"
)

// maxUnknown is the most reasons that a question keeps.
const maxUnknown = 5

// command asks about a shell command, and about the files that it leaves.
func (q *Question) command(tool string, in object) error {
	command, ok := in.text("command")
	if !ok || strings.TrimSpace(command) == "" {
		return errors.New("the payload has no command")
	}
	return q.run(tool, command)
}

// run asks about a shell command of a tool, and about the files that it leaves.
func (q *Question) run(tool, command string) error {
	if tool == "PowerShell" {
		q.Acts = append(q.Acts, guard.Act{Text: command, Dir: q.Dir})
		q.unsure("programs of PowerShell are not followed")
		return q.action("%s", command)
	}
	q.Acts = append(q.Acts, guard.Act{Command: command, Dir: folder(q.Dir)})
	if err := q.action("%s", command); err != nil {
		return err
	}
	q.follow(command)
	return nil
}

// folder is the absolute name of the folder that a tool works in.
func folder(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

// unsure notes why the whole effect of a question is not known.
func (q *Question) unsure(why string) {
	if len(q.Unknown) < maxUnknown {
		q.Unknown = append(q.Unknown, why)
	}
}

// follow adds the files that a shell program leaves to the question.
func (q *Question) follow(command string) {
	script, err := shell.Parse(command)
	if err != nil {
		q.unsure(err.Error())
		return
	}
	dir, err := filepath.Abs(q.Dir)
	if err != nil || filepath.Separator != '/' {
		q.unsure("the folder of the command is not known")
		return
	}
	e := script.Effect(shell.Disk{}, dir)
	q.Acts[len(q.Acts)-1].Effect = &e
	for _, why := range e.Unknown {
		q.unsure(why)
	}
	asked := map[string]bool{}
	for i := range e.Files {
		f := &e.Files[i]
		var paths []string
		for _, name := range append([]string{f.Path}, f.Names...) {
			for _, path := range place(dir, name).paths() {
				if !asked[path] {
					asked[path] = true
					paths = append(paths, path)
				}
			}
		}
		q.effect(f, paths)
	}
}

// effect asks about one file that a command changes, under each of its paths.
func (q *Question) effect(f *shell.File, paths []string) {
	switch {
	case f.Kind == shell.Folder || len(paths) == 0:
		return
	case f.Kind == shell.Link:
		q.unsure("it changes the link " + paths[0])
	case f.Mode:
		q.unsure("it changes the permissions of " + paths[0])
	}
	before, after := f.Before, f.After
	if q.Mode == rule.Posthoc { // the file on disk is the result, and what it was is not known
		b, err := shell.Disk{}.ReadFile(f.Path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		before, after = nil, &b
	}
	if len(f.Earlier) > 0 {
		text := strings.Join(f.Earlier, "\n")
		if after != nil {
			text += "\n" + *after
		}
		before, after = nil, &text
		q.Note = "line numbers of files that a command writes several times count within all that it writes"
	}
	for _, text := range []*string{before, after} {
		if text != nil && (strings.IndexByte(*text, 0) >= 0 || len(*text) > maxFile) {
			q.unsure(paths[0] + " is not a text file")
			return
		}
	}
	for _, text := range []**string{&before, &after} {
		if *text != nil && !utf8.ValidString(**text) {
			q.unsure(paths[0] + " is not text in UTF-8")
			valid := strings.ToValidUTF8(**text, "\uFFFD")
			*text = &valid
		}
	}
	for _, path := range paths {
		switch {
		case before == nil && after == nil:
		case before == nil:
			q.Files = append(q.Files, subject.InputFile{Path: path, Content: after})
		case after == nil:
			q.Diff += deletion(path, *before)
		case *before != *after:
			q.Diff += changeOf(path, *before, *after)
		}
	}
}
