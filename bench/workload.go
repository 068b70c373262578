package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// corpus makes n rules spread evenly over a number of scopes, half of them with CEL checks on facts, half with patterns
// on Go files. Every check is different.
func corpus(n, scopes int) []map[string]any {
	rules := make([]map[string]any, n)
	for i := range rules {
		r := map[string]any{
			"slug": fmt.Sprintf("B-%06d", i), "status": "EFFECTIVE", "modality": "MUST", "severity": []string{"MEDIUM", "HIGH", "CRITICAL"}[i%3],
			"scope": []string{fmt.Sprintf("unit%d", i%scopes)},
			"tags":  []string{"bench", topics[i%len(topics)]},
			"statement": fmt.Sprintf("In unit %d, %s with the mark M%d must be approved by a second person before it is carried out.",
				i%scopes, topics[i%len(topics)], 1000+i),
			"rationale": "Two people see more than one, and what is approved can be traced to those who answer for it.",
		}
		if i%2 == 0 {
			r["applies_to"] = map[string]any{"kinds": []string{"facts"}}
			r["check"] = map[string]any{"cel": fmt.Sprintf("facts.amount <= %d || facts.approvals >= 2", 1000+i), "message": "approval is missing"}
		} else {
			r["applies_to"] = map[string]any{"paths": []string{"**/*.go"}}
			r["check"] = map[string]any{"pattern": map[string]any{"regex": fmt.Sprintf(`\bforbidden_%d\s*\(`, i)}, "message": "forbidden call"}
		}
		rules[i] = r
	}
	return rules
}

var topics = []string{"a payment", "a refund", "a discount", "a contract", "an order", "a write-off", "a loan", "a gift"}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// factsRequest asks about a payment, each time another one, so that no two records are alike.
func factsRequest(i int) []byte {
	return fmt.Appendf(nil, `{"facts":{"amount":%d,"approvals":%d,"reference":"P-%d","currency":"EUR"},"scope":"unit0/desk"}`, 500+i%400, i%3, i)
}

// diffRequest asks about a change of two files.
func diffRequest(i int) []byte {
	return encode(map[string]any{"diff": diff(2, i), "scope": "unit1", "repository": "acme/payments"})
}

func applicableRequest(i int) []byte {
	return encode(map[string]any{"file_paths": []string{fmt.Sprintf("pkg/a%d.go", i%50)}, "scope": fmt.Sprintf("unit%d", i%20)})
}

// diff makes a git diff that adds files of 30 lines each; i makes it differ from others.
func diff(files, i int) string {
	var b strings.Builder
	for f := range files {
		path := fmt.Sprintf("internal/pay/file%d.go", f)
		fmt.Fprintf(&b, "diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,30 @@\n", path, path, path)
		for line := range 30 {
			fmt.Fprintf(&b, "+\tif err := ledger.Post(ctx, account%d, amount%d); err != nil { return fmt.Errorf(\"post: %%w\", err) }\n", line, i)
		}
	}
	return b.String()
}

// commandLine measures the whole process of `tenet check` on a diff of 50 files with the starter packs.
func commandLine(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "tenet-bench-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	input := []byte(diff(50, 1))
	var times []time.Duration
	for range 11 {
		cmd := exec.CommandContext(ctx, binary, "check", "--format", "json", "-")
		cmd.Stdin, cmd.Dir = bytes.NewReader(input), dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("tenet check: %w: %.500s", err, out)
		}
		times = append(times, time.Since(began))
	}
	times = times[1:] // the first fills the disk cache
	slices.Sort(times)
	fmt.Printf("\n## tenet check, embedded, 50 files, starter packs\n\nWall clock of the whole process over %d runs: median %d ms, worst %d ms.\n",
		len(times), times[len(times)/2].Milliseconds(), times[len(times)-1].Milliseconds())
	return nil
}
