package extract

import (
	"errors"

	"tenet/internal/blocks"
	"tenet/internal/rule"
)

// readMarkdown reads a Markdown file, without its marks.
func readMarkdown(s *sink, content string) error {
	matter, rest, first := blocks.FrontMatter(content)
	if err := s.add(Block{Text: matter, Line: 1}); err != nil {
		return err
	}
	return s.addAll(blocks.Markdown(rest, first, blocks.Everything))
}

// readHTML reads an HTML page: no scripts, styles and comments.
func readHTML(s *sink, content string) error {
	list, title, err := blocks.HTML(content, blocks.Everything)
	if errors.Is(err, blocks.ErrToken) {
		return rule.Errorf(rule.CodeTooLarge, "the HTML file holds a tag or text of more than %d bytes", blocks.MaxToken)
	}
	if err != nil {
		return err
	}
	s.title(title)
	return s.addAll(list)
}

// addAll appends blocks. Items of lists begin with "- ".
func (s *sink) addAll(list []blocks.Block) error {
	for _, b := range list {
		content := b.Text
		if b.Kind == blocks.Item {
			content = "- " + content
		}
		if err := s.add(Block{Heading: b.Level, Text: content, Line: b.Line}); err != nil {
			return err
		}
	}
	return nil
}
