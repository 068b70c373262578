package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"tenet/internal/checkpoint"
	"tenet/internal/rule"
)

// errDamaged reports bytes that are not a whole bundle.
var errDamaged = errors.New("the bundle is damaged")

// magic begins each file; after it come the length of the note (4 bytes, big-endian), the note and the body.
var magic = []byte("TNTB1\n")

// File is a bundle as it is stored and sent.
type File struct {
	Note string // the signed head
	Body []byte // compressed
}

// Bytes returns the file.
func (f *File) Bytes() []byte {
	out := make([]byte, 0, len(magic)+4+len(f.Note)+len(f.Body))
	out = append(out, magic...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(f.Note)))
	out = append(out, f.Note...)
	return append(out, f.Body...)
}

// Parse reads a file without trusting it.
func Parse(data []byte) (*File, error) {
	r := bytes.NewReader(data)
	signedNote, err := ReadNote(r)
	if err != nil {
		return nil, err
	}
	return &File{Note: signedNote, Body: data[len(data)-r.Len():]}, nil
}

// Pack compresses a canonical text, and completes a head with the sizes and hashes.
func Pack(h *Head, text []byte) ([]byte, error) {
	body, err := compress(text)
	if err != nil {
		return nil, err
	}
	h.RawSize, h.RawHash = int64(len(text)), hashOf(text)
	h.Size, h.Hash = int64(len(body)), hashOf(body)
	if h.Size > MaxSize || h.RawSize > MaxRawSize {
		return nil, rule.Errorf(rule.CodeTooLarge, "the bundle would have %d bytes, and %d unpacked; at most %d and %d are possible", h.Size, h.RawSize, MaxSize, MaxRawSize)
	}
	return body, nil
}

// window bounds the memory of a reader beside the text itself.
const window = 4 << 20

// frameSize is the length of the text of a frame. Short ones keep all cores at work to the end, longer ones are a little smaller together.
const frameSize = 1 << 20

// compress writes a frame for each frameSize of a text, so that several can be unpacked at a time. A checksum in each finds faults of unpacking.
func compress(text []byte) ([]byte, error) { return compressAt(zstd.SpeedDefault, window, text) }

// compressAt is compress with a level and a window of some size, twice of which it takes of memory for as long.
func compressAt(level zstd.EncoderLevel, size int, text []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(size), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text)/4)
	for part := range slices.Chunk(text, frameSize) {
		out = w.EncodeAll(part, out)
	}
	return out, w.Close()
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ReadNote reads the beginning of a file up to its body. It trusts nothing.
func ReadNote(r io.Reader) (string, error) {
	begin := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(r, begin); err != nil || !bytes.HasPrefix(begin, magic) {
		return "", rule.Errorf(rule.CodeInvalid, "this is not a bundle, or it is cut short")
	}
	n := binary.BigEndian.Uint32(begin[len(magic):])
	if n > checkpoint.MaxNote {
		return "", rule.Errorf(rule.CodeInvalid, "the bundle is refused: its head has %d bytes; at most %d are read", n, checkpoint.MaxNote)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", rule.Errorf(rule.CodeInvalid, "the bundle is cut short in its head")
	}
	return string(text), nil
}

// Opened is a bundle whose signature and hashes are right.
type Opened struct {
	File
	Head *Head
	Text []byte // canonical
}

// Open reads a file and checks its signature, sizes and hashes. It reads the body only once a trusted key has vouched for its size, and
// never more. base is the text that a delta changes; nil for none. Deltas give whole contents, and keep their own head.
func Open(r io.Reader, trusted []string, base []byte) (*Opened, error) {
	signedNote, err := ReadNote(r)
	if err != nil {
		return nil, err
	}
	h, err := OpenHead(signedNote, trusted)
	if err != nil {
		return nil, err
	}
	body := make([]byte, h.Size)
	if n, err := io.ReadFull(r, body); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the bundle is cut short: it has %d of %d bytes", n, h.Size)
	}
	if n, _ := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return nil, rule.Errorf(rule.CodeInvalid, "the bundle is refused: it has more bytes than its head says")
	}
	sum := make(chan string, 1)
	go func() { sum <- hashOf(body) }()
	text, err := unpack(h, body, base, func() error {
		if <-sum != h.Hash {
			return errors.New("its content is not the one that was signed")
		}
		return nil
	})
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the bundle is refused: %w", err)
	}
	return &Opened{File: File{Note: signedNote, Body: body}, Head: h, Text: text}, nil
}

// CheckText compares the text with the hash in the head, which names the bundle in records. Open has compared what was signed of a whole
// body; this also finds a server that has signed a body and the name of another.
func (o *Opened) CheckText() error {
	if hashOf(o.Text) != o.Head.RawHash {
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: its text is not the one that its head names")
	}
	return nil
}

// unpack returns the canonical text of a body. Nothing of it is unpacked before signed returns, whose error comes before all others.
func unpack(h *Head, body, base []byte, signed func() error) ([]byte, error) {
	limit := h.RawSize
	if h.Base != "" {
		if err := signed(); err != nil {
			return nil, err
		}
		signed = nil
		if hashOf(base) != h.Base {
			return nil, fmt.Errorf("it changes the bundle %d, which is not there", h.BaseSeq)
		}
		limit += int64(len(base)) // a delta is smaller than both together
	}
	text, err := decompressOnce(body, limit, signed)
	if err != nil {
		return nil, err
	}
	if h.Base != "" {
		if text, err = apply(base, text, h.RawSize); err != nil {
			return nil, err
		}
	}
	// The body is the one that was signed; the text that a delta makes has another signed hash.
	if int64(len(text)) != h.RawSize || h.Base != "" && hashOf(text) != h.RawHash {
		return nil, errors.New("its text is not the one that was signed")
	}
	return text, nil
}

// Stored returns a file with the head of an opened bundle over its whole text, also where it came as a delta. It then is a little larger than one that was
// built, and takes a fraction of the time: it stays with the edge that has made it.
func (o *Opened) Stored() (*File, error) {
	if o.Head.Base == "" {
		return &o.File, nil
	}
	body, err := compressAt(zstd.SpeedFastest, frameSize, o.Text)
	return &File{Note: o.Note, Body: body}, err
}

// OpenStored reads what [Opened.Stored] made: the signed head vouches for the text, whatever it was sent as.
func OpenStored(data []byte, trusted []string) (*Opened, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	h, err := OpenHead(f.Note, trusted)
	if err != nil {
		return nil, err
	}
	text, err := decompress(f.Body, h.RawSize)
	if err != nil || int64(len(text)) != h.RawSize || hashOf(text) != h.RawHash {
		return nil, rule.Errorf(rule.CodeInvalid, "the stored bundle is damaged")
	}
	return &Opened{File: *f, Head: h, Text: text}, nil
}

// Unpack unpacks a body that the caller has made, to a text of size bytes.
func Unpack(body []byte, size int64) ([]byte, error) { return decompress(body, size) }

// errSize reports a body that unpacks to more or less than it may.
var errSize = errors.New("it does not unpack to the size that was signed")

// decompress unpacks a body of at most limit bytes of text, several frames at a time.
func decompress(body []byte, limit int64) ([]byte, error) { return decompressOnce(body, limit, nil) }

// decompressOnce is decompress that unpacks nothing before ready returns, whose error comes before all others; nil waits for nothing. It allocates
// the text in the meantime, which takes as long as hashing the body.
func decompressOnce(body []byte, limit int64, ready func() error) ([]byte, error) {
	frames, size, err := framesOf(body, limit)
	var text []byte
	if err == nil {
		text = make([]byte, size)
	}
	if ready != nil {
		if err := ready(); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(uint64(max(limit+1, window))), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range frames {
		group.Go(func() error {
			part, err := d.DecodeAll(f.packed, text[f.from:f.from:f.to])
			if err != nil {
				return fmt.Errorf("%w: %w", errDamaged, err)
			}
			if int64(len(part)) != f.to-f.from {
				return errSize
			}
			return nil
		})
	}
	return text, group.Wait()
}

// frame is a part of a body, and where its text belongs.
type frame struct {
	packed   []byte
	from, to int64
}

// framesOf finds the frames of a body and the size of their text, limit at most, without unpacking them: RFC 8878, section 3.1.1. A frame that does not say its
// size is refused.
func framesOf(body []byte, limit int64) (frames []frame, size int64, err error) {
	for len(body) > 0 {
		var h zstd.Header
		if err := h.Decode(body); err != nil || h.Skippable || !h.HasFCS || h.FrameContentSize > uint64(limit-size) {
			return nil, 0, errSize
		}
		n := h.HeaderSize
		for last := false; !last; {
			if n < 0 || n+blockHeader > len(body) {
				return nil, 0, errDamaged
			}
			head := int(body[n]) | int(body[n+1])<<8 | int(body[n+2])<<16
			last = head&1 == 1
			n += blockHeader
			if head>>1&3 == repeatedByte {
				n++
			} else {
				n += head >> 3
			}
		}
		if h.HasCheckSum {
			n += checksumSize
		}
		if n > len(body) {
			return nil, 0, errDamaged
		}
		to := size + int64(h.FrameContentSize)
		frames = append(frames, frame{packed: body[:n], from: size, to: to})
		body, size = body[n:], to
	}
	return frames, size, nil
}

// Sizes and block types of a frame.
const (
	blockHeader  = 3
	checksumSize = 4
	repeatedByte = 1 // such a block has one byte, whatever size it says
)
