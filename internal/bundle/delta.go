package bundle

import (
	"bytes"
	"fmt"
)

// Delta returns the text that leads from a base to a text: a line "- KEY" for each thing that is gone, and "+ LINE" for each that is new or
// differs, in order of their keys.
func Delta(base, text []byte) ([]byte, error) {
	before, err := split(base)
	if err != nil {
		return nil, err
	}
	after, err := split(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].key < after[0].key:
			out.WriteString("- " + before[0].key + "\n")
			before = before[1:]
		case len(before) == 0 || after[0].key < before[0].key:
			plus(&out, after[0])
			after = after[1:]
		default:
			if !bytes.Equal(before[0].body, after[0].body) {
				plus(&out, after[0])
			}
			before, after = before[1:], after[1:]
		}
	}
	return out.Bytes(), nil
}

func plus(out *bytes.Buffer, l line) {
	out.WriteString("+ " + l.key + "\t")
	out.Write(l.body)
	out.WriteByte('\n')
}

// apply returns the text to which a delta leads, of at most size bytes.
func apply(base, delta []byte, size int64) ([]byte, error) {
	before, err := split(base)
	if err != nil {
		return nil, err
	}
	if len(delta) > 0 && delta[len(delta)-1] != '\n' {
		return nil, fmt.Errorf("%w: the last line of its delta is not whole", errDamaged)
	}
	out := make([]byte, 0, size)
	put := func(l line) error {
		if int64(len(out)+len(l.key)+len(l.body)+2) > size {
			return fmt.Errorf("%w: its delta leads to more bytes than were signed", errDamaged)
		}
		out = append(out, l.key...)
		out = append(out, '\t')
		out = append(out, l.body...)
		out = append(out, '\n')
		return nil
	}
	last := ""
	for len(delta) > 0 {
		one, rest, _ := bytes.Cut(delta, []byte("\n"))
		delta = rest
		sign, change, _ := bytes.Cut(one, []byte(" "))
		key, body, hasBody := bytes.Cut(change, []byte("\t"))
		l := line{string(key), body}
		if l.key <= last || hasBody != (string(sign) == "+") || !hasBody && string(sign) != "-" {
			return nil, fmt.Errorf("%w: its delta is malformed", errDamaged)
		}
		last = l.key
		for len(before) > 0 && before[0].key < l.key {
			if err := put(before[0]); err != nil {
				return nil, err
			}
			before = before[1:]
		}
		there := len(before) > 0 && before[0].key == l.key
		if there {
			before = before[1:]
		}
		if !hasBody {
			if !there {
				return nil, fmt.Errorf("%w: its delta removes what is not there", errDamaged)
			}
			continue
		}
		if err := put(l); err != nil {
			return nil, err
		}
	}
	for _, l := range before {
		if err := put(l); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// PackDelta compresses a delta, and returns its head and body. h is the head of the whole bundle.
func PackDelta(h Head, baseSeq int64, base, text []byte) (*Head, []byte, error) {
	delta, err := Delta(base, text)
	if err != nil {
		return nil, nil, err
	}
	body, err := compress(delta)
	if err != nil {
		return nil, nil, err
	}
	h.Base, h.BaseSeq = hashOf(base), baseSeq
	h.Size, h.Hash = int64(len(body)), hashOf(body)
	return &h, body, nil
}
