package bundle

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// frameSize is the length of text that is compressed on its own: so the frames of a body unpack on all processors. One reader of zstd reads
// them one after the other as well.
const frameSize = 1 << 20

// window bounds the memory of a reader beside the text itself.
const window = 4 << 20

// errSize reports a body that would unpack to more than was signed.
var errSize = errors.New("it does not unpack to the size that was signed")

// compress writes a text as frames of zstd. Equal texts give equal bytes, however many processors there are.
func compress(text []byte) ([]byte, error) {
	frames := make([][]byte, max(1, (len(text)+frameSize-1)/frameSize))
	workers := min(len(frames), runtime.GOMAXPROCS(0))
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(workers), zstd.WithWindowSize(window),
		zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	spread(len(frames), workers, func(i int) {
		part := text[i*frameSize : min(len(text), (i+1)*frameSize)]
		frames[i] = w.EncodeAll(part, make([]byte, 0, len(part)/4))
	})
	size := 0
	for _, f := range frames {
		size += len(f)
	}
	out := make([]byte, 0, size)
	for _, f := range frames {
		out = append(out, f...)
	}
	return out, w.Close()
}

// frame is a part of a body that unpacks on its own, and the place of its text.
type frame struct {
	body     []byte
	from, to int64
}

// frames finds the frames of a body of at most limit bytes of text, and the length of that text, without unpacking it.
func frames(body []byte, limit int64) ([]frame, int64, error) {
	var list []frame
	var size int64
	for len(body) > 0 {
		var h zstd.Header
		if err := h.Decode(body); err != nil || h.Skippable || !h.HasFCS || h.FrameContentSize > uint64(limit-size) {
			return nil, 0, errSize
		}
		end, err := frameEnd(body, h)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, frame{body[:end], size, size + int64(h.FrameContentSize)})
		size += int64(h.FrameContentSize)
		body = body[end:]
	}
	if len(list) == 0 {
		return nil, 0, errSize
	}
	return list, size, nil
}

// frameEnd returns where the frame with which a body begins ends: after its last block, as the lengths before the blocks have it.
func frameEnd(body []byte, h zstd.Header) (int, error) {
	const rle = 1
	at := h.HeaderSize
	for last := false; !last; {
		if len(body)-at < 3 {
			return 0, fmt.Errorf("%w: a frame is cut short", errDamaged)
		}
		b := int(body[at]) | int(body[at+1])<<8 | int(body[at+2])<<16
		last = b&1 != 0
		n := b >> 3
		if b>>1&3 == rle {
			n = 1 // one byte, as often as n
		}
		at += 3 + n
	}
	if h.HasCheckSum {
		at += 4
	}
	if at > len(body) {
		return 0, fmt.Errorf("%w: a frame is cut short", errDamaged)
	}
	return at, nil
}

// decompress unpacks a body of at most limit bytes of text, its frames on all processors.
func decompress(body []byte, limit int64) ([]byte, error) {
	list, size, err := frames(body, limit)
	if err != nil {
		return nil, err
	}
	workers := min(len(list), runtime.GOMAXPROCS(0))
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(workers), zstd.WithDecoderMaxMemory(uint64(max(limit+1, window))), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	text, errs := make([]byte, size), make([]error, len(list))
	spread(len(list), workers, func(i int) {
		f := list[i]
		place := text[f.from:f.to:f.to]
		out, err := d.DecodeAll(f.body, place[:0])
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("%w: %w", errDamaged, err)
		case len(out) != len(place):
			errs[i] = errSize
		case len(out) > 0 && &out[0] != &place[0]:
			copy(place, out)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// spread calls fn for 0 to n-1, on so many goroutines.
func spread(n, workers int, fn func(i int)) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				fn(i)
			}
		})
	}
	wg.Wait()
}
