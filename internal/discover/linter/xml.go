package linter

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"tenet/internal/text"
)

// element is an element of an XML file. Elements nest at most [maxDepth] deep.
type element struct {
	name     string
	attrs    map[string]string
	children []*element
	line     int
}

// readXML reads the elements of an XML file. Entities of the document's own are errors, so that none can grow.
func readXML(src string) (*element, error) {
	dec := xml.NewDecoder(strings.NewReader(src))
	root := &element{}
	open := []*element{root}
	for count := 0; ; count++ {
		line, _ := dec.InputPos()
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			line, _ = dec.InputPos()
			return nil, &syntaxError{line: line, reason: "it is not valid XML: " + text.FitRunes(err.Error(), 200, "…")}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if count > maxNodes || len(open) > maxDepth {
				return nil, &syntaxError{line: line, reason: "there are too many elements, or they are nested too deep"}
			}
			e := &element{name: t.Name.Local, attrs: map[string]string{}, line: line}
			for _, a := range t.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			parent := open[len(open)-1]
			parent.children = append(parent.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}
