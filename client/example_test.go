package client_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"tenet/client"
)

func Example() {
	url, stop := server()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	c, err := client.New(url, os.Getenv("TENET_KEY"), nil)
	if err != nil {
		panic(err)
	}
	content := "import os\n\nresult = eval(os.environ[\"X\"])\n"
	e, err := c.Evaluate(ctx, client.Evaluate{Files: []client.File{{Path: "report.py", Content: &content}}})
	if err != nil {
		panic(err) // not judged, and so not allowed
	}
	fmt.Println(e.OverallVerdict)
	for _, v := range e.Violations {
		fmt.Println(v.RuleSlug, v.Locations[0].FilePath, v.Locations[0].StartLine)
	}

	// A waiver lets what was denied pass until a date.
	w, err := c.CreateWaiver(ctx, client.NewWaiver{
		RuleID: e.Violations[0].RuleID, Fingerprint: e.Violations[0].Fingerprint, Reason: "removed with the next release",
		ExpiresAt: time.Now().AddDate(0, 1, 0),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(w.Status)
	if e, err = c.Evaluate(ctx, client.Evaluate{Files: []client.File{{Path: "report.py", Content: &content}}}); err != nil {
		panic(err)
	}
	fmt.Println(e.OverallVerdict, e.RulesWaived)
	// Output:
	// DENY
	// PY-001 report.py 3
	// active
	// ALLOW 1
}

func ExampleClient_Check() {
	url, stop := server()
	defer stop()
	c, err := client.New(url, os.Getenv("TENET_KEY"), nil)
	if err != nil {
		panic(err)
	}
	a, err := c.Check(context.Background(), client.AgentRequest{Intent: "Do it"})
	switch {
	case err != nil:
		panic(err) // nothing was decided
	case a.Status == client.ClarificationNeeded:
		fmt.Println(a.Reasoning)
	case a.Result.Allowed:
		fmt.Println("allowed")
	}
	// Output: What exactly is to be done, to what, and by whom? Nothing was checked yet, so do not take this for a permission.
}

func ExampleCodeOf() {
	url, stop := server()
	defer stop()
	c, err := client.New(url, "", nil)
	if err != nil {
		panic(err)
	}
	_, err = c.Evaluate(context.Background(), client.Evaluate{Diff: "this is no diff"})
	fmt.Println(client.CodeOf(err) == client.CodeInvalid)
	// Output: true
}
