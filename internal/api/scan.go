package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// maxScanProblems is how many problems of a body are told before the scan ends.
const maxScanProblems = 50

var errEnough = errors.New("enough problems")

// scanJSON goes once over a JSON body and checks it against a shape, token by token, without building anything. Text that
// is not strict JSON (malformed, not UTF-8, a name twice, deeper than maxDepth, something behind the value) gives an error of
// status 400; every value of the wrong form, unknown and missing field is named in one of status 422. A field that need not
// be there may be null, which means the same.
func scanJSON(data []byte, sh *shape, maxDepth int) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return withStatus(http.StatusBadRequest, "", "the body is empty; send a JSON object, at least {}")
	}
	s := &scan{dec: jsontext.NewDecoder(bytes.NewBuffer(data)), maxDepth: maxDepth}
	err := s.value(sh)
	if err == nil {
		if _, err = s.dec.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = withStatus(http.StatusBadRequest, "", "the body holds something behind its JSON value, at byte %d", s.dec.InputOffset())
		}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return s.malformed(err)
	}
	return s.problems.Err("the request body is invalid")
}

type scan struct {
	dec      *jsontext.Decoder
	depth    int
	maxDepth int
	path     []byte
	problems rule.Problems
}

// malformed words a syntax error and says where it is.
func (s *scan) malformed(err error) error {
	if _, ok := errors.AsType[*httpError](err); ok {
		return err
	}
	where := string(s.path)
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case ok && errors.Is(e.Err, jsontext.ErrDuplicateName):
		s.push(e.JSONPointer.LastToken())
		return withStatus(http.StatusBadRequest, string(s.path), "the body is not valid: an object names %q twice", cut(e.JSONPointer.LastToken(), maxValue))
	case ok && errors.Is(e.Err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return withStatus(http.StatusBadRequest, where, "the body is not valid JSON: it ends too early")
	case ok:
		return withStatus(http.StatusBadRequest, where, "the body is not valid JSON: %s at byte %d", e.Err.Error(), e.ByteOffset)
	}
	return withStatus(http.StatusBadRequest, where, "the body is not valid JSON")
}

// value checks the next value. Its error is a syntax error, or errEnough.
func (s *scan) value(sh *shape) error {
	switch s.dec.PeekKind() {
	case '{':
		return s.object(sh)
	case '[':
		return s.array(sh)
	case '"':
		raw, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		return s.text(sh, raw)
	case '0':
		raw, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		return s.number(sh, string(raw))
	case 'n':
		if _, err := s.dec.ReadToken(); err != nil {
			return err
		}
		if sh.nullable || sh.kind == anything {
			return nil
		}
		return s.problem("must be %s, not null", sh.kind.noun())
	}
	token, err := s.dec.ReadToken() // true, false, or what is wrong
	if err != nil {
		return err
	}
	if sh.kind != boolean && sh.kind != anything {
		return s.problem("must be %s, not %s", sh.kind.noun(), token.String())
	}
	return nil
}

// problem notes that the value at the current path is wrong.
func (s *scan) problem(format string, args ...any) error {
	name := string(s.path)
	if name == "" {
		name = "body"
	}
	s.problems.Add(name, format, args...)
	if s.problems.Len() >= maxScanProblems {
		return errEnough
	}
	return nil
}

// Bounds of a path in messages, in bytes.
const (
	maxPathName = 60
	maxPath     = 180
)

// push adds a name to the path. Names come from outside: long ones are cut, and control characters replaced.
func (s *scan) push(name string) {
	if len(s.path) > maxPath {
		return
	}
	if len(s.path) > 0 {
		s.path = append(s.path, '.')
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' {
			return utf8.RuneError
		}
		return r
	}, cut(name, maxPathName))
	s.path = append(s.path, clean...)
}

func (s *scan) pushIndex(i int) {
	if len(s.path) <= maxPath {
		s.path = append(s.path, '[')
		s.path = strconv.AppendInt(s.path, int64(i), 10)
		s.path = append(s.path, ']')
	}
}

// enter reads the start of an object or array, and leave its end.
func (s *scan) enter() error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	if s.depth++; s.depth > s.maxDepth {
		return withStatus(http.StatusBadRequest, string(s.path), "the body is nested more than %d levels deep", s.maxDepth)
	}
	return nil
}

func (s *scan) leave() error {
	s.depth--
	_, err := s.dec.ReadToken()
	return err
}

// expect returns sh, or notes that it wants something else and returns a shape that takes everything.
func (s *scan) expect(sh *shape, is kind) (*shape, error) {
	if sh.kind == is || sh.kind == anything {
		return sh, nil
	}
	return anyShape, s.problem("must be %s, not %s", sh.kind.noun(), is.noun())
}

func (s *scan) object(sh *shape) error {
	sh, err := s.expect(sh, object)
	if err != nil {
		return err
	}
	if sh.choice != nil {
		return s.choose(sh.choice)
	}
	if err := s.enter(); err != nil {
		return err
	}
	var present uint64
	for s.dec.PeekKind() != '}' {
		raw, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		mark := len(s.path)
		bit, err := s.field(sh, raw)
		if err != nil {
			return err
		}
		present |= bit
		s.path = s.path[:mark]
	}
	for _, f := range sh.required {
		if present&f.bit != 0 {
			continue
		}
		mark := len(s.path)
		s.push(f.name)
		if err := s.problem("is missing"); err != nil {
			return err
		}
		s.path = s.path[:mark]
	}
	return s.leave()
}

// choose reads an object as a whole, looks for the field that says which shape it has, and checks it against that.
func (s *scan) choose(c *choice) error {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return err
	}
	sh, err := s.chosen(c, raw)
	if sh == nil || err != nil {
		return err
	}
	whole := s.dec
	s.dec = jsontext.NewDecoder(bytes.NewBuffer(raw))
	defer func() { s.dec = whole }()
	return s.value(sh)
}

// chosen finds the shape of an object, whose text is known to be JSON. It returns nil after it has noted why there is none.
func (s *scan) chosen(c *choice, raw []byte) (*shape, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	defer func(mark int) { s.path = s.path[:mark] }(len(s.path))
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		if name.String() != c.field {
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		s.push(c.field)
		if value.Kind() != '"' {
			return nil, s.problem("must be a string; use one of %s", strings.Join(c.values, ", "))
		}
		if sh := c.shape(value.String()); sh != nil {
			return sh, nil
		}
		return nil, s.problem("is %q; use one of %s", cut(value.String(), maxValue), strings.Join(c.values, ", "))
	}
	s.push(c.field)
	return nil, s.problem("is missing; use one of %s", strings.Join(c.values, ", "))
}

// field checks one field of an object, whose quoted name has been read, and returns its bit.
func (s *scan) field(sh *shape, quoted []byte) (uint64, error) {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return 0, err
		}
		name = unquoted
	}
	if f, ok := sh.fields[string(name)]; ok {
		s.push(f.name)
		if f.bit == 0 && s.dec.PeekKind() == 'n' {
			_, err := s.dec.ReadToken()
			return 0, err
		}
		return f.bit, s.value(f.shape)
	}
	s.push(string(name))
	if bytes.IndexByte(name, 0) >= 0 {
		if err := s.problem("has a name with a NUL character"); err != nil {
			return 0, err
		}
	}
	if sh.extra != nil {
		return 0, s.value(sh.extra)
	}
	if err := s.problem("is not a field here; there are %s", sh.known); err != nil {
		return 0, err
	}
	return 0, s.value(anyShape)
}

func (s *scan) array(sh *shape) error {
	sh, err := s.expect(sh, array)
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	mark, n := len(s.path), 0
	for ; s.dec.PeekKind() != ']'; n++ {
		s.pushIndex(n)
		if err := s.value(sh.items); err != nil {
			return err
		}
		s.path = s.path[:mark]
	}
	if err := s.leave(); err != nil {
		return err
	}
	if n < sh.shortest || (sh.longest >= 0 && n > sh.longest) {
		return s.problem("has %d entries; %s", n, sh.allowed())
	}
	return nil
}
