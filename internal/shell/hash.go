package shell

import "strings"

// hash gives names another program: hash -p PROGRAM NAME... of bash, and hash NAME=PROGRAM of zsh. It goes on in the subshells of the program, and a
// later hash -r does not take it back, so that no branch hides it.
func (w starter) hash(args []Word) {
	give := func(name string, program Word) {
		if w.hashed == nil {
			w.hashed = map[string]Word{}
		}
		w.hashed[name] = program
	}
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		if name, program, ok := strings.Cut(text, "="); ok && !strings.HasPrefix(text, "-") {
			give(name, Word{program, args[i].Known})
		}
		program, ok := strings.CutPrefix(text, "-p")
		if !ok {
			continue
		}
		value := Word{program, args[i].Known}
		if program == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		for _, a := range args[i+1:] {
			give(a.Text, value)
		}
		return
	}
}
