package extract

import "strings"

// readText takes paragraphs, which empty lines part. A form feed begins a new page.
func readText(s *sink, text string) error {
	pages := strings.Count(text, "\f") + 1
	line := 0
	for i, page := range strings.Split(text, "\f") {
		number := 0
		if pages > 1 {
			number = i + 1
			if err := s.page(number); err != nil {
				return err
			}
		}
		if err := paragraphs(s, page, number, &line); err != nil {
			return err
		}
	}
	return nil
}

// paragraphs adds the paragraphs of a text. line is the number of lines before it, and is moved on.
func paragraphs(s *sink, text string, page int, line *int) error {
	var b strings.Builder
	begin := 0
	flush := func() error {
		err := s.add(Block{Text: b.String(), Page: page, Line: begin})
		b.Reset()
		return err
	}
	for l := range strings.Lines(text) {
		if strings.HasSuffix(l, "\n") {
			*line++
		}
		if strings.TrimSpace(l) == "" {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		if b.Len() == 0 {
			begin = *line
			if !strings.HasSuffix(l, "\n") {
				begin++
			}
		}
		b.WriteString(l)
	}
	return flush()
}
