package settings

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// entry is one hook and the event that it stands under.
type entry struct {
	event string
	hook  any
}

// document is a JSON file, perhaps with comments, in the form it was written in.
type document struct {
	root   hujson.Value
	unit   string // of indentation
	end    string // of lines
	narrow bool   // all on one line
}

func openJSON(b []byte) (*document, *hujson.Object, error) {
	d := &document{unit: "  ", end: "\n"}
	var err error
	if d.root, err = hujson.Parse(b); err != nil {
		return nil, nil, malformed("it is not JSON: %v", err)
	}
	root, ok := d.root.Value.(*hujson.Object)
	if !ok {
		return nil, nil, malformed("it is not a JSON object")
	}
	text := string(b)
	if strings.Contains(text, "\r\n") {
		d.end = "\r\n"
	}
	d.narrow = len(root.Members) > 0 && !strings.Contains(strings.TrimSpace(text), "\n")
	for line := range strings.Lines(text) {
		if bare := strings.TrimLeft(line, " \t"); len(bare) < len(line) && strings.TrimSpace(bare) != "" {
			d.unit = line[:len(line)-len(bare)]
			break
		}
	}
	return d, root, nil
}

// addJSON adds hooks to a file, in place of those with a mark. Fresh is what a new file begins with.
func addJSON(old, fresh []byte, m mark, entries []entry) ([]byte, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		if old = fresh; old == nil {
			old = []byte("{}\n")
		}
	}
	before, err := removeJSON(old, m)
	if err != nil {
		return nil, err
	}
	if before == nil {
		before = []byte("{}\n")
	}
	d, root, err := openJSON(before)
	if err != nil {
		return nil, err
	}
	hooks, err := child(d, root, 1, "hooks", &hujson.Object{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		list, err := child(d, hooks, 2, e.event, &hujson.Array{})
		if err != nil {
			return nil, err
		}
		value, err := d.value(e.hook, 3)
		if err != nil {
			return nil, err
		}
		d.put(list, value)
	}
	after := d.root.Pack()
	if bytes.Equal(normal(after), normal(old)) {
		return old, nil // the same hooks in another form
	}
	return after, nil
}

// normal is a JSON text without its form.
func normal(b []byte) []byte {
	std, err := hujson.Standardize(bytes.Clone(b))
	if err != nil {
		return b
	}
	var v any
	if json.Unmarshal(std, &v) != nil {
		return b
	}
	out, err := json.Marshal(v)
	if err != nil {
		return b
	}
	return out
}

// composite is an object or an array of a file.
type composite interface {
	*hujson.Object | *hujson.Array
	hujson.ValueTrimmed
}

// child is the member of an object with a name, which is made if it is missing.
func child[T composite](d *document, o *hujson.Object, depth int, name string, fresh T) (T, error) {
	at, err := member(o, name)
	if err != nil {
		return nil, err
	}
	if at >= 0 {
		found, ok := o.Members[at].Value.Value.(T)
		if !ok {
			return nil, malformed("%s is not what it should be, %T", name, fresh)
		}
		return found, nil
	}
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: hujson.Value{Value: fresh}}
	if !d.narrow {
		m.Value.BeforeExtra = hujson.Extra(" ")
	}
	n := len(o.Members)
	if n > 0 {
		m.Value.AfterExtra = trailing(o.Members[n-1].Value.AfterExtra)
	}
	m.Name.BeforeExtra = d.lead(&o.AfterExtra, n, depth)
	o.Members = append(o.Members, m)
	return fresh, nil
}

// member is the place of a member; -1 if there is none.
func member(o *hujson.Object, name string) (int, error) {
	at := -1
	for i := range o.Members {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			if at >= 0 {
				return 0, malformed("it has %s twice", name)
			}
			at = i
		}
	}
	return at, nil
}

// trailing keeps the habit of a comma behind the last one.
func trailing(last hujson.Extra) hujson.Extra {
	if last == nil {
		return nil
	}
	return hujson.Extra{}
}

// lead is what stands before a new last element of a list of n. A comment at the end of the list stays where it is.
func (d *document) lead(after *hujson.Extra, n, depth int) hujson.Extra {
	if d.narrow {
		return nil
	}
	comment := strings.TrimRight(string(*after), " \t\r\n")
	if n == 0 || comment != "" {
		*after = hujson.Extra(d.end + strings.Repeat(d.unit, depth-1))
	}
	return hujson.Extra(comment + d.end + strings.Repeat(d.unit, depth))
}

// put adds an element to a list.
func (d *document) put(list *hujson.Array, v hujson.Value) {
	n := len(list.Elements)
	if n > 0 {
		v.AfterExtra = trailing(list.Elements[n-1].AfterExtra)
	}
	v.BeforeExtra = d.lead(&list.AfterExtra, n, 3)
	list.Elements = append(list.Elements, v)
}

// value writes v in the form of the file.
func (d *document) value(v any, depth int) (hujson.Value, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !d.narrow {
		enc.SetIndent(strings.Repeat(d.unit, depth), d.unit)
	}
	if err := enc.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	text := strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", d.end)
	return hujson.Parse([]byte(text))
}

// removeJSON takes out the hooks with a mark, and what is empty without them; nil if that is all.
func removeJSON(old []byte, m mark) ([]byte, error) {
	d, root, err := openJSON(old)
	if err != nil {
		return nil, err
	}
	at, err := member(root, "hooks")
	if err != nil || at < 0 {
		return old, err
	}
	hooks, ok := root.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil, malformed("hooks is not an object")
	}
	changed := false
	for i, listed := range slices.Backward(hooks.Members) {
		list, ok := listed.Value.Value.(*hujson.Array)
		if !ok {
			return nil, malformed("the hooks of %s are not a list", listed.Name.Value)
		}
		if !removeHooks(list, m) {
			continue
		}
		changed = true
		if len(list.Elements) == 0 {
			removeMember(hooks, i)
		}
	}
	if !changed {
		return old, nil
	}
	if len(hooks.Members) == 0 {
		removeMember(root, at)
	}
	if len(root.Members) == 0 && !bytes.ContainsRune(root.AfterExtra, '/') {
		return nil, nil
	}
	return d.root.Pack(), nil
}

// removeHooks takes out of a list, and of the lists named hooks in it, the objects with a mark.
func removeHooks(list *hujson.Array, m mark) (changed bool) {
	for i, e := range slices.Backward(list.Elements) {
		o, ok := e.Value.(*hujson.Object)
		if !ok {
			continue
		}
		gone := false
		for j := range o.Members {
			name, _ := o.Members[j].Name.Value.(hujson.Literal)
			switch v := o.Members[j].Value.Value.(type) {
			case hujson.Literal:
				gone = gone || (name.String() == "command" && m.is(v.String()))
			case *hujson.Array:
				if name.String() == "hooks" && removeHooks(v, m) {
					changed = true
					gone = gone || len(v.Elements) == 0
				}
			}
		}
		if gone {
			changed = true
			removeElement(list, i)
		}
	}
	return changed
}

func removeElement(list *hujson.Array, at int) {
	gone := list.Elements[at]
	if n := len(list.Elements); at == n-1 {
		if at > 0 {
			inherit(&list.Elements[at-1].AfterExtra, gone.AfterExtra)
		}
		restore(&list.AfterExtra, gone.BeforeExtra)
	}
	list.Elements = append(list.Elements[:at], list.Elements[at+1:]...)
}

func removeMember(o *hujson.Object, at int) {
	gone := o.Members[at]
	if n := len(o.Members); at == n-1 {
		if at > 0 {
			inherit(&o.Members[at-1].Value.AfterExtra, gone.Value.AfterExtra)
		}
		restore(&o.AfterExtra, gone.Name.BeforeExtra)
	}
	o.Members = append(o.Members[:at], o.Members[at+1:]...)
}

// inherit lets the element before the last become the last: with a comma behind it only if the last had one.
func inherit(before *hujson.Extra, last hujson.Extra) {
	if last == nil && len(*before) == 0 {
		*before = nil
	} else if last != nil && *before == nil {
		*before = hujson.Extra{}
	}
}

// restore puts back the comment that stood at the end of a list before its last element came.
func restore(after *hujson.Extra, lead hujson.Extra) {
	if comment := strings.TrimRight(string(lead), " \t\r\n"); comment != "" {
		*after = hujson.Extra(comment + string(*after))
	}
}
