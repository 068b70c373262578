package extract

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"

	"tenet/internal/rule"
)

// pdfLine is a line of text on a page.
type pdfLine struct {
	text strings.Builder
	page int
	// Where it begins, where it ends, its height on the page, and the size of its letters.
	x, end, y, size float64
	bold            bool
}

// pdfWalker reads the content of pages: the operators that place and show text. Positions are those of the page.
type pdfWalker struct {
	fonts map[string]*pdfFont // by the text of their dictionaries
	lines []*pdfLine
	page  int
	count int // bytes of text so far
	limit int

	resources pdf.Value
	now       textState
	saved     []textState
}

// textState is the state that operators change.
type textState struct {
	font                      *pdfFont
	size, leading, char, word float64
	scale, rise               float64
	page, line, text          matrix
}

// matrix maps x, y to a*x + c*y + e, b*x + d*y + f.
type matrix struct{ a, b, c, d, e, f float64 }

var unmoved = matrix{a: 1, d: 1}

// of returns the transform that is first t, then u.
func (t matrix) of(u matrix) matrix {
	return matrix{
		t.a*u.a + t.b*u.c, t.a*u.b + t.b*u.d, t.c*u.a + t.d*u.c, t.c*u.b + t.d*u.d,
		t.e*u.a + t.f*u.c + u.e, t.e*u.b + t.f*u.d + u.f,
	}
}

func moved(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

// Bounds of nesting within a page.
const (
	maxForms = 5   // forms inside one another
	maxSaved = 500 // saved states
)

// readPage reads one page. It is not whole if the library has given up on a part of it.
func (w *pdfWalker) readPage(page pdf.Value) (whole bool, err error) {
	w.resources = inherited(page, "Resources")
	w.now, w.saved = textState{scale: 1, page: unmoved, line: unmoved, text: unmoved}, nil
	whole = true
	for _, part := range streams(page.Key("Contents")) {
		ok, err := w.readStream(part, 0)
		if err != nil {
			return false, err
		}
		whole = whole && ok
	}
	return whole, nil
}

// stopped carries an error of ours out of the library's callback.
type stopped struct{ err error }

func (w *pdfWalker) readStream(part pdf.Value, depth int) (whole bool, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case stopped:
			err = v.err
		default:
			whole = false
		}
	}()
	if !hasContent(part) {
		return true, nil
	}
	pdf.Interpret(part, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		w.operate(op, args, depth)
	})
	return true, nil
}

// numbers reads n numeric arguments; false for any other number of them.
func numbers(args []pdf.Value, n int) ([]float64, bool) {
	if len(args) != n {
		return nil, false
	}
	list := make([]float64, n)
	for i, a := range args {
		list[i] = a.Float64()
		if math.IsNaN(list[i]) || math.IsInf(list[i], 0) {
			return nil, false
		}
	}
	return list, true
}

// operate carries out one operator; those that do not concern text, and those with wrong arguments, do nothing.
func (w *pdfWalker) operate(op string, args []pdf.Value, depth int) {
	s := &w.now
	switch op {
	case "q":
		if len(w.saved) < maxSaved {
			w.saved = append(w.saved, *s)
		}
	case "Q":
		if n := len(w.saved); n > 0 {
			*s, w.saved = w.saved[n-1], w.saved[:n-1]
		}
	case "cm":
		if n, ok := numbers(args, 6); ok {
			s.page = matrix{n[0], n[1], n[2], n[3], n[4], n[5]}.of(s.page)
		}
	case "BT":
		s.text, s.line = unmoved, unmoved
	case "Tm":
		if n, ok := numbers(args, 6); ok {
			s.line = matrix{n[0], n[1], n[2], n[3], n[4], n[5]}
			s.text = s.line
		}
	case "Td", "TD":
		if n, ok := numbers(args, 2); ok {
			if op == "TD" {
				s.leading = -n[1]
			}
			s.next(n[0], n[1])
		}
	case "T*":
		s.next(0, -s.leading)
	case "Tf":
		if len(args) == 2 {
			s.font, s.size = w.font(args[0].Name()), args[1].Float64()
		}
	case "Tj", "'", `"`, "TJ":
		w.showAll(op, args)
	case "Do":
		if len(args) == 1 && depth < maxForms {
			w.form(args[0].Name(), depth)
		}
	default:
		w.set(op, args)
	}
}

// set carries out the operators that set one number.
func (w *pdfWalker) set(op string, args []pdf.Value) {
	n, ok := numbers(args, 1)
	if !ok {
		return
	}
	switch op {
	case "TL":
		w.now.leading = n[0]
	case "Tc":
		w.now.char = n[0]
	case "Tw":
		w.now.word = n[0]
	case "Tz":
		w.now.scale = n[0] / 100
	case "Ts":
		w.now.rise = n[0]
	}
}

// next goes to the beginning of another line.
func (s *textState) next(x, y float64) {
	s.line = moved(x, y).of(s.line)
	s.text = s.line
}

// font reads a font of the resources, each but once.
func (w *pdfWalker) font(name string) *pdfFont {
	v := w.resources.Key("Font").Key(name)
	key := v.String()
	f, ok := w.fonts[key]
	if !ok {
		f = readFont(v)
		w.fonts[key] = f
	}
	return f
}

// form reads a piece of content that a page refers to.
func (w *pdfWalker) form(name string, depth int) {
	v := w.resources.Key("XObject").Key(name)
	if v.Kind() != pdf.Stream || v.Key("Subtype").Name() != "Form" {
		return
	}
	resources, state, saved := w.resources, w.now, w.saved
	defer func() { w.resources, w.now, w.saved = resources, state, saved }()
	if own := v.Key("Resources"); !own.IsNull() {
		w.resources = own
	}
	if m := v.Key("Matrix"); m.Len() == 6 {
		w.now.page = matrix{
			m.Index(0).Float64(), m.Index(1).Float64(), m.Index(2).Float64(), m.Index(3).Float64(), m.Index(4).Float64(), m.Index(5).Float64(),
		}.of(w.now.page)
	}
	w.saved = nil
	if _, err := w.readStream(v, depth+1); err != nil {
		panic(stopped{err})
	}
}

func (w *pdfWalker) showAll(op string, args []pdf.Value) {
	s := &w.now
	if op == `"` && len(args) == 3 {
		s.word, s.char = args[0].Float64(), args[1].Float64()
		args = args[2:]
	}
	if len(args) != 1 {
		return
	}
	if op == "'" || op == `"` {
		s.next(0, -s.leading)
	}
	if op != "TJ" {
		w.show(args[0].RawString())
		return
	}
	for i := range args[0].Len() {
		if v := args[0].Index(i); v.Kind() == pdf.String {
			w.show(v.RawString())
		} else {
			s.text = moved(-v.Float64()/1000*s.size*s.scale, 0).of(s.text)
		}
	}
}

// show places one string on the page.
func (w *pdfWalker) show(raw string) {
	s := &w.now
	if s.font == nil || raw == "" {
		return
	}
	text := s.font.encoder.Decode(raw)
	if w.count += len(text); w.count > 4*w.limit {
		panic(stopped{rule.Errorf(rule.CodeTooLarge, "the document holds more than %d characters of text; split it", w.limit)})
	}
	at := s.text.of(s.page)
	size := math.Abs(s.size) * math.Hypot(at.c, at.d)
	width, codes := s.font.advance(raw)
	forward := (width/1000*s.size + float64(codes)*s.char + float64(strings.Count(raw, " "))*s.word) * s.scale
	s.text = moved(forward, 0).of(s.text)
	w.place(text, at.e, at.f+s.rise*at.d, s.text.of(s.page).e, size)
}

// place appends text to the line under way, with a space across a gap, or begins another line.
func (w *pdfWalker) place(text string, x, y, end, size float64) {
	var l *pdfLine
	if n := len(w.lines); n > 0 && w.lines[n-1].page == w.page {
		l = w.lines[n-1]
	}
	if l == nil || math.Abs(y-l.y) > 0.5*max(size, l.size) || x < l.x-size {
		l = &pdfLine{page: w.page, x: x, end: x, y: y, size: size, bold: w.now.font.bold}
		w.lines = append(w.lines, l)
	}
	if gap := x - l.end; gap > 0.18*size && l.text.Len() > 0 {
		l.text.WriteByte(' ')
	}
	l.text.WriteString(text)
	l.end, l.size, l.bold = max(end, x), max(l.size, size), l.bold && w.now.font.bold
}
