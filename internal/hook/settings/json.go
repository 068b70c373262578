package settings

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// entry is a hook and its event.
type entry struct {
	event string
	hook  any
}

// document is a JSON file, perhaps with comments, and its formatting.
type document struct {
	root   hujson.Value
	unit   string // indentation of one level
	end    string // line end
	narrow bool   // whether all is on one line
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

// addJSON adds hooks to a file, in place of those with a mark. Fresh is the content of a new file.
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
		return old, nil // the same hooks in another formatting
	}
	return after, nil
}

// normal returns a JSON text without its formatting.
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

// child returns the member of an object with a name, which it adds if it is missing.
func child[T composite](d *document, o *hujson.Object, depth int, name string, fresh T) (T, error) {
	at, err := member(o, name)
	if err != nil {
		return nil, err
	}
	if at >= 0 {
		value, ok := o.Members[at].Value.Value.(T)
		if !ok {
			return nil, malformed("%s is not of the expected type %T", name, fresh)
		}
		return value, nil
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

// member returns the index of a member, or -1.
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

// trailing returns the text before a comma after a new last element, if the old last one had a comma.
func trailing(last hujson.Extra) hujson.Extra {
	if last == nil {
		return nil
	}
	return hujson.Extra{}
}

// lead returns the text before a new last element of a list of n. A comment at the end of the list stays in its place.
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

// value returns v in the formatting of the file.
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

// removeJSON removes the hooks with a mark, and the lists and objects that become empty; it returns nil for an empty file.
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

// removeHooks removes the objects with a mark from a list and from the lists named hooks in it.
func removeHooks(list *hujson.Array, m mark) (changed bool) {
	for i, e := range slices.Backward(list.Elements) {
		o, ok := e.Value.(*hujson.Object)
		if !ok {
			continue
		}
		remove := false
		for j := range o.Members {
			name, _ := o.Members[j].Name.Value.(hujson.Literal)
			switch v := o.Members[j].Value.Value.(type) {
			case hujson.Literal:
				remove = remove || (slices.Contains(commandKeys, name.String()) && m.is(v.String()))
			case *hujson.Array:
				if name.String() == "hooks" && removeHooks(v, m) {
					changed = true
					remove = remove || len(v.Elements) == 0
				}
			}
		}
		if remove {
			changed = true
			removeElement(list, i)
		}
	}
	return changed
}

func removeElement(list *hujson.Array, at int) {
	removed := list.Elements[at]
	if n := len(list.Elements); at == n-1 {
		if at > 0 {
			inherit(&list.Elements[at-1].AfterExtra, removed.AfterExtra)
		}
		restore(&list.AfterExtra, removed.BeforeExtra)
	}
	list.Elements = append(list.Elements[:at], list.Elements[at+1:]...)
}

func removeMember(o *hujson.Object, at int) {
	removed := o.Members[at]
	if n := len(o.Members); at == n-1 {
		if at > 0 {
			inherit(&o.Members[at-1].Value.AfterExtra, removed.Value.AfterExtra)
		}
		restore(&o.AfterExtra, removed.Name.BeforeExtra)
	}
	o.Members = append(o.Members[:at], o.Members[at+1:]...)
}

// inherit makes the element before the last the last one, with a comma after it only if the last had one.
func inherit(before *hujson.Extra, last hujson.Extra) {
	if last == nil && len(*before) == 0 {
		*before = nil
	} else if last != nil && *before == nil {
		*before = hujson.Extra{}
	}
}

// restore puts a comment before the last element at the end of the list.
func restore(after *hujson.Extra, lead hujson.Extra) {
	if comment := strings.TrimRight(string(lead), " \t\r\n"); comment != "" {
		*after = hujson.Extra(comment + string(*after))
	}
}
