package main

import (
	"regexp"
	"strings"
)

// spellings returns other texts with the same effect: ten and more for a command whose first word is that of a program, fewer for
// compound ones.
func spellings(text string) []string {
	quoted := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	list := []string{
		"sh -c " + quoted,
		"env -i PATH=/bin bash -c " + quoted,
		"eval " + quoted,
		"bash <<'END_OF_TEXT'\n" + text + "\nEND_OF_TEXT",
		"echo " + quoted + " | sh",
		"f() {\n" + text + "\n}\nf",
		"if true; then\n" + text + "\nfi",
		"x=" + quoted + "; bash -c \"$x\"",
		`eval "$(printf '%s' ` + quoted + `)"`,
		"(\n" + text + "\n)",
		"nohup timeout 60 bash -c " + quoted + " &",
	}
	m := simple.FindStringSubmatch(text)
	if m == nil {
		return list
	}
	name, rest := m[1], m[2]
	half := len(name) / 2
	list = append(list, name[:half]+`""`+name[half:]+rest, "'"+name+"'"+rest, "x="+name+"; $x"+rest)
	if !builtins[name] {
		list = append(list, "/usr/bin/"+name+rest, "\\"+name+rest, "command "+name+rest, "env LC_ALL=C "+name+rest, "nice -n 5 "+name+rest)
	}
	if plain.MatchString(text) {
		list = append(list, strings.ReplaceAll(text, " ", "${IFS}"))
		if !builtins[name] && rest != "" {
			list = append(list, "echo"+rest+" | xargs "+name, "find . -maxdepth 0 -exec "+text+" ';'")
		}
	}
	if strings.Contains(text, " -rf ") {
		list = append(list, strings.ReplaceAll(text, " -rf ", " -f --recursive "), strings.ReplaceAll(text, " -rf ", " -fR "))
	}
	return list
}

var (
	// simple is a command that begins with the name of a program, and plain one without quotes and operators.
	simple = regexp.MustCompile(`^([a-z][a-z0-9_.-]+)((?s:[ \n].*)?)$`)
	plain  = regexp.MustCompile(`^[a-zA-Z0-9 ./_:=@+~,-]+$`)
)

// builtins are words of the shell that no program has, or that mean something else as one.
var builtins = map[string]bool{
	"eval": true, "set": true, "history": true, "trap": true, "if": true, "for": true, "while": true, "unset": true, "export": true, "cd": true, "source": true, "filename": true,
}
