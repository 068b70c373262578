package judge

import (
	"slices"
	"testing"
)

// FuzzReadTriage reads any answer: what it names is in order and in range, and an answer with a fault names nothing.
func FuzzReadTriage(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"subject":"A change of code.","concerned":["R2"]}`, `{"subject":"A change of code.","concerned":["R2","R5","R1"]}`,
		`{"subject":"A change of code.","concerned":["R2","R2"]}`, `{"subject":"A change of code.","concerned":["R2","R4"]}`,
		`{"subject":"A change of code.","concerned":["R2","R6"]}`, `{"subject":"A change of code.","concerned":null}`,
		`{"subject":1,"concerned":["R2"]}`, `{"concerned":["R2"],"subject":"A change of code."} `, "\xff", `{"subject":"A change`,
	} {
		f.Add(seed)
	}
	k := triageControls{planted: control{index: 1}, at: 3, size: 5}
	f.Fuzz(func(t *testing.T, text string) {
		named, held, fault := k.read(text, 3)
		if (fault == "") != held || !held && named != nil {
			t.Fatalf("named %v, held %v, fault %q", named, held, fault)
		}
		if !slices.IsSorted(named) || len(slices.Compact(slices.Clone(named))) != len(named) || len(named) > 0 && (named[0] < 0 || named[len(named)-1] > 2) {
			t.Fatalf("named %v", named)
		}
	})
}

func TestReadTriage(t *testing.T) {
	k := triageControls{planted: control{index: 1}, at: 3, size: 5} // R2 is planted, R4 the decoy; R1, R3 and R5 are statements
	named, held, fault := k.read(`{"subject":"A change of code.","concerned":["R5","R2","R1"]}`, 3)
	if !held || fault != "" || !slices.Equal(named, []int{0, 2}) {
		t.Errorf("named %v, held %v, fault %q", named, held, fault)
	}
}
