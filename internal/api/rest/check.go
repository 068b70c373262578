package rest

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// maxCheckProblems bounds the problems of one body. The check ends after so many.
const maxCheckProblems = 50

var errEnough = errors.New("enough problems")

// anySchema allows every value.
var anySchema = &Schema{}

// checkJSON checks a JSON body against a schema in one pass over its tokens, and builds nothing. Text that is not strict
// JSON (malformed, not UTF-8, a name twice, deeper than maxDepth, text after the value) gives an error of status 400. An
// error of status 422 names every value of the wrong form and every unknown or missing field. An optional field that the
// schema lets be null is absent then. checkJSON returns the body with its integers in digits.
func checkJSON(data []byte, schema *Schema, maxDepth int) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, withStatus(http.StatusBadRequest, "", "the body is empty; send a JSON object%s", wanted(schema))
	}
	c := &check{dec: jsontext.NewDecoder(bytes.NewBuffer(data)), maxDepth: maxDepth}
	err := c.value(schema)
	if err == nil {
		if _, err = c.dec.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = withStatus(http.StatusBadRequest, "", "the body has text after its JSON value, at byte %d", c.dec.InputOffset())
		}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, c.malformed(err)
	}
	return c.respell(data), c.problems.Err("the request body is invalid")
}

// wanted says which fields an object needs, or which it may have if it needs none.
func wanted(s *Schema) string {
	s, _ = s.resolve()
	switch names := slices.Sorted(maps.Keys(s.Properties)); {
	case len(s.Required) > 0:
		return " with " + strings.Join(s.Required, ", ")
	case len(names) > 0 && len(names) <= maxWanted:
		return ": {}, or one with any of " + strings.Join(names, ", ")
	}
	return ", at least {}"
}

// maxWanted bounds the fields that an error about an empty body lists.
const maxWanted = 20

// respelled is an integer that the decoder cannot read as it is written, such as 53.0.
type respelled struct {
	from, to int64 // offsets in the body
	digits   string
}

// respell writes integers in digits.
func (c *check) respell(data []byte) []byte {
	if len(c.respelled) == 0 {
		return data
	}
	var out []byte
	at := int64(0)
	for _, r := range c.respelled {
		out = append(append(out, data[at:r.from]...), r.digits...)
		at = r.to
	}
	return append(out, data[at:]...)
}

// check is the state of [checkJSON].
type check struct {
	dec       *jsontext.Decoder
	base      int64 // where the text of dec begins in the body
	depth     int
	maxDepth  int
	path      []byte
	problems  rule.Problems
	respelled []respelled
}

// malformed words a syntax error and says where it is.
func (c *check) malformed(err error) error {
	if _, ok := errors.AsType[*httpError](err); ok {
		return err
	}
	where := string(c.path)
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case ok && errors.Is(e.Err, jsontext.ErrDuplicateName):
		c.push(e.JSONPointer.LastToken())
		return withStatus(http.StatusBadRequest, string(c.path), "the body is not valid: an object names %q twice", Clip(e.JSONPointer.LastToken(), maxValue))
	case ok && errors.Is(e.Err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return withStatus(http.StatusBadRequest, where, "the body is not valid JSON: it ends too early")
	case ok:
		return withStatus(http.StatusBadRequest, where, "the body is not valid JSON: %s at byte %d", e.Err.Error(), e.ByteOffset)
	}
	return withStatus(http.StatusBadRequest, where, "the body is not valid JSON")
}

// value checks the next value. Its error is a syntax error, or errEnough.
func (c *check) value(s *Schema) error {
	s, nullable := s.resolve()
	switch c.dec.PeekKind() {
	case '{':
		return c.object(s)
	case '[':
		return c.array(s)
	case '"':
		raw, err := c.dec.ReadValue()
		if err != nil {
			return err
		}
		return c.text(s, raw)
	case '0':
		raw, err := c.dec.ReadValue()
		if err != nil {
			return err
		}
		return c.number(s, string(raw))
	case 'n':
		if _, err := c.dec.ReadToken(); err != nil {
			return err
		}
		if nullable || s.any() {
			return nil
		}
		return c.wrongType(s, "null")
	}
	token, err := c.dec.ReadToken() // true, false, or a syntax error
	if err != nil {
		return err
	}
	return c.want(s, typeBoolean, token.String())
}

// typeNouns name the JSON types in messages.
var typeNouns = map[string]string{
	typeObject: "an object", typeArray: "a list", typeString: "a string", typeInteger: "an integer", typeNumber: "a number",
	typeBoolean: "true or false", "": "an object", // oneOf
}

func (c *check) wrongType(s *Schema, is string) error {
	return c.problem("must be %s, not %s", typeNouns[s.Type], is)
}

// want adds a problem unless s allows values of a type.
func (c *check) want(s *Schema, typ, is string) error {
	if s.Type == typ || s.Type == "" && s.OneOf == nil {
		return nil
	}
	return c.wrongType(s, is)
}

// problem adds a problem of the value at the current path.
func (c *check) problem(format string, args ...any) error {
	name := string(c.path)
	if name == "" {
		name = "body"
	}
	c.problems.Add(name, format, args...)
	if c.problems.Len() >= maxCheckProblems {
		return errEnough
	}
	return nil
}

// Bounds of a path in messages, in bytes.
const (
	maxPathName = 60
	maxPath     = 180
)

// push adds a name to the path. The client chooses names: push cuts long ones and replaces control characters.
func (c *check) push(name string) {
	if len(c.path) > maxPath {
		return
	}
	if len(c.path) > 0 {
		c.path = append(c.path, '.')
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' {
			return utf8.RuneError
		}
		return r
	}, Clip(name, maxPathName))
	c.path = append(c.path, clean...)
}

func (c *check) pushIndex(i int) {
	if len(c.path) <= maxPath {
		c.path = append(c.path, '[')
		c.path = strconv.AppendInt(c.path, int64(i), 10)
		c.path = append(c.path, ']')
	}
}

// enter reads the start of an object or array, and leave its end.
func (c *check) enter() error {
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	if c.depth++; c.depth > c.maxDepth {
		return withStatus(http.StatusBadRequest, string(c.path), "the body is nested more than %d levels deep", c.maxDepth)
	}
	return nil
}

func (c *check) leave() error {
	c.depth--
	_, err := c.dec.ReadToken()
	return err
}

func (c *check) object(s *Schema) error {
	if s.OneOf != nil {
		return c.choose(s)
	}
	if s.Type != typeObject {
		if err := c.want(s, typeObject, "an object"); err != nil {
			return err
		}
		s = anySchema
	}
	if err := c.enter(); err != nil {
		return err
	}
	var present uint64 // the required fields by their place in s.Required
	for c.dec.PeekKind() != '}' {
		raw, err := c.dec.ReadValue()
		if err != nil {
			return err
		}
		mark := len(c.path)
		required, err := c.field(s, raw)
		if err != nil {
			return err
		}
		if required >= 0 {
			present |= 1 << required
		}
		c.path = c.path[:mark]
	}
	var missing []string
	for i, name := range s.Required {
		if present&(1<<i) == 0 {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	for _, name := range missing {
		mark := len(c.path)
		c.push(name)
		if err := c.problem("is missing"); err != nil {
			return err
		}
		c.path = c.path[:mark]
	}
	return c.leave()
}

// field checks one field of an object, whose quoted name has been read. It returns the place of the field among the
// required ones, or -1.
func (c *check) field(s *Schema, quoted []byte) (int, error) {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return -1, err
		}
		name = unquoted
	}
	c.push(string(name))
	if f, ok := s.Properties[string(name)]; ok {
		required := slices.Index(s.Required, string(name))
		if required < 0 && c.dec.PeekKind() == 'n' {
			target, nullable := f.resolve()
			if _, err := c.dec.ReadToken(); err != nil || nullable || target.any() {
				return -1, err
			}
			if f.Default != nil {
				return -1, c.problem("must not be null; leave it out for %s", string(f.Default))
			}
			return -1, c.problem("must not be null; leave it out")
		}
		return required, c.value(f)
	}
	if bytes.IndexByte(name, 0) >= 0 {
		if err := c.problem("has a name with a NUL character"); err != nil {
			return -1, err
		}
	}
	switch others := s.AdditionalProperties.(type) {
	case *Schema:
		return -1, c.value(others)
	case bool:
		if err := c.problem("is not a field here; use one of %s", s.fieldNames()); err != nil {
			return -1, err
		}
	}
	return -1, c.value(anySchema)
}

// choose reads an object as a whole, finds its schema by the value of one field, in any letter case, and checks it.
func (c *check) choose(s *Schema) error {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return err
	}
	form, err := c.form(s, raw)
	if form == nil || err != nil {
		return err
	}
	whole, base := c.dec, c.base
	c.base += whole.InputOffset() - int64(len(raw))
	c.dec = jsontext.NewDecoder(bytes.NewBuffer(raw))
	defer func() { c.dec, c.base = whole, base }()
	return c.value(form)
}

// form finds the schema of an object of valid JSON. It returns nil after it has added a problem.
func (c *check) form(s *Schema, raw []byte) (*Schema, error) {
	field := s.Discriminator.PropertyName
	values := make([]string, len(s.OneOf))
	for i, one := range s.OneOf {
		values[i] = one.target.Properties[field].Enum[0]
	}
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	mark := len(c.path)
	defer func() { c.path = c.path[:mark] }()
	c.push(field)
	value, ok := fields[field]
	var text string
	switch {
	case !ok:
		return nil, c.problem("is missing; use one of %s", strings.Join(values, ", "))
	case json.Unmarshal(value, &text) != nil || value.Kind() != '"':
		return nil, c.problem("must be a string; use one of %s", strings.Join(values, ", "))
	}
	if i := indexFold(values, text); i >= 0 {
		return s.OneOf[i], nil
	}
	return nil, c.problem("is %q; use one of %s", Clip(text, maxValue), strings.Join(values, ", "))
}

func (c *check) array(s *Schema) error {
	if s.Type != typeArray {
		if err := c.want(s, typeArray, "a list"); err != nil {
			return err
		}
		s = &Schema{Items: anySchema}
	}
	if err := c.enter(); err != nil {
		return err
	}
	mark, n := len(c.path), 0
	for ; c.dec.PeekKind() != ']'; n++ {
		c.pushIndex(n)
		if err := c.value(s.Items); err != nil {
			return err
		}
		c.path = c.path[:mark]
	}
	if err := c.leave(); err != nil {
		return err
	}
	if s.MaxItems != nil && n > *s.MaxItems {
		return c.problem("has %d entries; %s", n, lengths(nil, s.MaxItems))
	}
	return nil
}
