package checkpoint

import (
	"errors"
	"fmt"

	"github.com/transparency-dev/formats/proof"
	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit/tree"
)

// Proof proves that a log has an entry, without the log: C2SP tlog-proof.
type Proof struct {
	Index  int64 // of the entry, from 0
	Hashes []tree.Hash
	Note   string // the signed checkpoint with its cosignatures
	Extra  []byte // is not proven
}

// MaxExtra is the most bytes that Extra may have: readers of the format read lines of up to 64 KiB.
const MaxExtra = 48_000

// MaxFile bounds a file with a proof, in bytes.
const MaxFile = 256 << 10

// Marshal encodes a proof.
func (p Proof) Marshal() []byte {
	out := proof.TLogProof{Index: uint64(p.Index), Checkpoint: []byte(p.Note), ExtraData: p.Extra}
	for _, h := range p.Hashes {
		out.Hashes = append(out.Hashes, h)
	}
	return out.Marshal()
}

// ParseProof is the inverse of [Proof.Marshal].
func ParseProof(data []byte) (Proof, error) {
	if len(data) > MaxFile {
		return Proof{}, fmt.Errorf("a proof has at most %d bytes", MaxFile)
	}
	var in proof.TLogProof
	if err := in.Unmarshal(data); err != nil {
		return Proof{}, err
	}
	p := Proof{Index: int64(in.Index), Note: string(in.Checkpoint), Extra: in.ExtraData}
	if p.Index < 0 || len(in.Hashes) > MaxProof {
		return Proof{}, errors.New("the index or the hashes of the proof are out of range")
	}
	for _, h := range in.Hashes {
		p.Hashes = append(p.Hashes, h)
	}
	return p, nil
}

// Check checks that the log of the proof's checkpoint has a record, and that the policy accepts the checkpoint.
func (p Proof) Check(policy *Policy, record []byte) (Seen, error) {
	seen, err := policy.Open(p.Note)
	if err != nil {
		return seen, err
	}
	if p.Index >= seen.Size {
		return seen, fmt.Errorf("the proof is about entry %d of a log of %d", p.Index, seen.Size)
	}
	if err := tlog.CheckRecord(p.Hashes, seen.Size, seen.Root, p.Index, tlog.RecordHash(record)); err != nil {
		return seen, errors.New("the entry is not in the log of this checkpoint")
	}
	return seen, nil
}
