package checkpoint_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnote "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
)

var monday = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_SIGNER") != "" {
		actAsSigner()
		return
	}
	os.Exit(m.Run())
}

// actAsSigner is a program as audit_signer names it, with the key of a seed of ones.
func actAsSigner() {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("\x01", 32)))
	verb, origin := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	switch {
	case os.Getenv("TEST_SIGNER") == "broken":
		fmt.Fprintln(os.Stderr, "the module is locked")
		os.Exit(1)
	case verb == "keys":
		vkey, _ := note.NewEd25519VerifierKey(origin, key.Public().(ed25519.PublicKey))
		fmt.Println("sign " + vkey)
	default:
		text, _ := os.ReadFile("/dev/stdin")
		if os.Getenv("TEST_SIGNER") == "wrong" {
			text = append(text, 'x')
		}
		fmt.Println(base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)))
	}
}

func at(size int64) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{Origin: "example.com/tenet/default", Size: size, Root: tree.Hash{1, 2}}
}

func policyOf(t *testing.T, lines ...string) *checkpoint.Policy {
	t.Helper()
	p, err := checkpoint.ParsePolicy([]byte(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheckpointsAreParsedStrictly(t *testing.T) {
	want := at(20852163)
	if got, err := checkpoint.Parse(want.Text()); err != nil || got != want {
		t.Errorf("parsed %+v, %v; want %+v", got, err, want)
	}
	root := base64.StdEncoding.EncodeToString(want.Root[:])
	for _, bad := range []string{
		"", "o\n1\n", "o\n01\n" + root + "\n", "o\n-1\n" + root + "\n", "o\n1\nAAAA\n", "\n1\n" + root + "\n", "o\n9223372036854775808\n" + root + "\n",
		"o\n1\n" + root + "\nextension\n", "o\n+1\n" + root + "\n", "o\n1\n" + root,
	} {
		if c, err := checkpoint.Parse(bad); err == nil {
			t.Errorf("%q was parsed as %+v", bad, c)
		}
	}
}

// The keys of a file sign; one that was rotated out still verifies what it has signed, and its private half is gone.
func TestKeysRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit", "key")
	keys, err := checkpoint.OpenKeys(path, "example.com/tenet", monday)
	if err != nil {
		t.Fatal(err)
	}
	first, err := checkpoint.Sign(t.Context(), keys, at(1))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if keys.Retire(path) == nil {
		t.Error("the only key was retired")
	}
	if err := keys.Rotate(path, monday.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	both, err := checkpoint.Sign(t.Context(), keys, at(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Retire(path); err != nil {
		t.Fatal(err)
	}
	if keys, err = checkpoint.OpenKeys(path, "ignored.example.com", monday); err != nil {
		t.Fatal(err)
	}
	second, err := checkpoint.Sign(t.Context(), keys, at(3))
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]string{"by the first key": first, "by both": both, "by the second": second} {
		if _, err := checkpoint.OpenOwn(t.Context(), keys, n); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	signing, old, err := keys.Keys(t.Context(), "example.com/tenet/default")
	if err != nil || len(signing) != 1 || len(old) != 1 || keys.Origin != "example.com/tenet" {
		t.Fatalf("keys %v and %v, origin %s, %v", signing, old, keys.Origin, err)
	}
	accepts := func(key, signedNote string) bool {
		_, err := policyOf(t, "log "+key, "quorum none").Open(signedNote)
		return err == nil
	}
	for n, want := range map[string][2]bool{first: {false, true}, both: {true, true}, second: {true, false}} {
		if got := [2]bool{accepts(signing[0], n), accepts(old[0], n)}; got != want {
			t.Errorf("accepted %v by the new and the old key, want %v:\n%s", got, want, n)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\nsign ") != 1 || strings.Count(string(text), "\nverify ") != 1 {
		t.Errorf("the file, %v:\n%s", err, text)
	}
}

func TestDamagedFilesOfKeysAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	seed := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, text := range []string{"", "origin a b\n", "origin o\n", "sign 2026-01-01 " + seed + "\n", "origin o\nsign 2026-01-01 secret\n", "origin o\nverify 2026-01-01 " + seed + "\n", "origin o+p\nsign 2026-01-01 " + seed + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.OpenKeys(path, "", monday); err == nil || strings.Contains(err.Error(), "secret\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestASignerCanBeAProgram(t *testing.T) {
	for mode, fails := range map[string]string{"right": "", "wrong": "does not verify", "broken": "the module is locked"} {
		t.Setenv("TEST_SIGNER", mode)
		signer := checkpoint.Command{os.Args[0], "--slot=1"}
		signed, err := checkpoint.Sign(t.Context(), signer, at(5))
		switch {
		case fails == "" && err != nil, fails != "" && (err == nil || !strings.Contains(err.Error(), fails)):
			t.Errorf("%s: %v", mode, err)
		case fails == "":
			if c, err := checkpoint.OpenOwn(t.Context(), signer, signed); err != nil || c != at(5) {
				t.Errorf("opened %+v, %v", c, err)
			}
		}
	}
}

// cosigner is a witness's key.
func cosigner(t *testing.T, name string) (*fnote.Signer, string) {
	t.Helper()
	secret, public, err := note.GenerateKey(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := fnote.NewSignerForCosignatureV1(secret)
	if err != nil {
		t.Fatal(err)
	}
	vkey, err := fnote.VKeyToCosignatureV1(public)
	if err != nil {
		t.Fatal(err)
	}
	return s, vkey
}

func TestAPolicyNeedsItsQuorum(t *testing.T) {
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", monday)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := checkpoint.Sign(t.Context(), keys, at(9))
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := keys.Keys(t.Context(), at(9).Origin)
	var signers []note.Signer
	lines := []string{"# whom we trust", "", "log " + own[0] + " https://tenet.example.com/audit/default"}
	for _, name := range []string{"x1", "x2", "x3", "y1"} {
		s, vkey := cosigner(t, name+".example.com")
		signers = append(signers, s)
		lines = append(lines, "\twitness  "+name+" "+vkey)
	}
	lines = append(lines, "group X 2 x1 x2 x3", "group both all X y1", "quorum both")
	p := policyOf(t, lines...)
	for cosigned, enough := range map[string]bool{"": false, "0": false, "01": false, "03": false, "013": true, "123": true, "0123": true, "012": false} {
		opened, err := note.Open([]byte(signed), note.VerifierList(p.Logs...))
		if err != nil {
			t.Fatal(err)
		}
		var by []note.Signer
		for _, i := range cosigned {
			by = append(by, signers[i-'0'])
		}
		text, err := note.Sign(opened, by...)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := p.Open(string(text))
		var missing *checkpoint.QuorumError
		if enough && err != nil || !enough && !errors.As(err, &missing) || len(seen.Cosigned) != len(cosigned) || p.Cosigned(string(text)) != enough {
			t.Errorf("cosigned by %q: %v, %v", cosigned, seen.Cosigned, err)
		}
		if enough {
			if d := time.Since(seen.Cosigned[0].At); d > time.Minute || d < -time.Minute {
				t.Errorf("cosigned at %v", seen.Cosigned[0].At)
			}
			// A changed cosignature or text is refused.
			if _, err := p.Open(strings.Replace(string(text), "\n9\n", "\n8\n", 1)); err == nil {
				t.Error("another size was accepted")
			}
		}
	}
	_, stranger := cosigner(t, "z.example.com")
	if _, err := policyOf(t, "log "+own[0], "witness z "+stranger, "quorum z").Open(signed); err == nil {
		t.Error("accepted without the witness")
	}
}

func TestMalformedPoliciesAreRefused(t *testing.T) {
	_, a := cosigner(t, "a.example.com")
	_, b := cosigner(t, "b.example.com")
	same := "other.example.com" + a[strings.Index(a, "+"):]
	for _, text := range []string{
		"", "quorum x\n", "quorum none\nquorum none\n", "witness none " + a + "\nquorum none\n", "witness a " + a + "\nwitness a " + b + "\nquorum a\n",
		"witness a " + a + "\nwitness b " + a + "\nquorum a\n", "witness a " + a + "\nwitness b " + same + "\nquorum a\n", "group g any a\nwitness a " + a + "\nquorum g\n", "witness a " + a + "\ngroup g 2 a\nquorum g\n",
		"witness a " + a + "\ngroup g 0 a\nquorum g\n", "witness a " + a + "\ngroup g 01 a\nquorum g\n", "witness a " + a + "\ngroup g any none\nquorum g\n", "witness a " + a + "\ngroup g all a a\nquorum g\n",
		"witness a " + a + "\ngroup g any a\ngroup h any a\nquorum h\n", "witness a " + a + " ftp://x\nquorum a\n", "log x\nquorum none\n", "witness a x\nquorum a\n", "allow all\nquorum none\n", "quorum none\x00\n", "witness a " + a + "\r\nquorum a\n",
	} {
		if _, err := checkpoint.ParsePolicy([]byte(text)); err == nil {
			t.Errorf("accepted:\n%s", text)
		}
	}
}

// The example of the specification of witnesses.
const exampleRequest = `old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
`

func TestRequestsHaveTheFormOfTheSpecification(t *testing.T) {
	r, err := checkpoint.ParseRequest(exampleRequest)
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Parse(r.Note)
	if err != nil || r.Old != 20852014 || len(r.Proof) != 4 || c.Size != 20852163 || c.Origin != "example.com/behind-the-sofa" {
		t.Errorf("read %+v with %+v, %v", r, c, err)
	}
	if got := r.Marshal(); got != exampleRequest {
		t.Errorf("written:\n%s", got)
	}
	for _, bad := range []string{
		"", "old 1\n", "old 01\n\nx", "old -1\n\nx", "new 1\n\nx", "old 1\nAAAA\n\nx", "old 1\n" + strings.Repeat(strings.Split(exampleRequest, "\n")[1]+"\n", 64) + "\nx",
	} {
		if _, err := checkpoint.ParseRequest(bad); err == nil {
			t.Errorf("%.40q was accepted", bad)
		}
	}
}

func FuzzWhatComesFromOutside(f *testing.F) {
	f.Add(exampleRequest)
	f.Add("log x\nquorum none\n")
	f.Add("c2sp.org/tlog-proof@v1\nindex 0\n\no\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := checkpoint.ParseRequest(text); err == nil {
			if again, err := checkpoint.ParseRequest(r.Marshal()); err != nil || again.Old != r.Old || again.Note != r.Note {
				t.Errorf("%q is written as %q", text, r.Marshal())
			}
		}
		if c, err := checkpoint.Parse(text); err == nil && !strings.HasPrefix(text, c.Text()) {
			t.Errorf("%q is read as %+v", text, c)
		}
		if p, err := checkpoint.ParsePolicy([]byte(text)); err == nil {
			_, _ = p.Open(text)
		}
		if p, err := checkpoint.ParseProof([]byte(text)); err == nil {
			if _, err := checkpoint.ParseProof(p.Marshal()); err != nil {
				t.Errorf("a proof that was read cannot be written: %v", err)
			}
		}
	})
}
