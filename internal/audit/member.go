package audit

import "bytes"

// Members finds members of the JSON objects of bodies that are much alike, such as those of a batch of records. It remembers parts of what it has
// checked, in about a megabyte. The zero Members is ready; only one may use it at a time.
type Members struct{ json validator }

// Find returns the value of the last member with a name that a body has at its top; nil if it has none. It reports false if the body is no
// JSON object, or if it writes a name at its top with escapes, which Find does not read.
func (m *Members) Find(body []byte, name string) (value []byte, ok bool) {
	if !bytes.HasPrefix(body[blanks(body, 0):], []byte("{")) {
		return nil, false
	}
	plain := true
	valid := m.json.walk(body, func(found, of []byte) {
		if bytes.IndexByte(found, '\\') >= 0 {
			plain = false
		}
		if string(found) == name {
			value = of
		}
	})
	if !valid || !plain {
		return nil, false
	}
	return value, true
}
