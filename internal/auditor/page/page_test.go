package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/auditor/auditortest"
	"tenet/internal/console/browsertest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

// TestThePageChecksAProof checks a proof, and a forged one, in a browser, on a page that is served without any header.
func TestThePageChecksAProof(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dist", "page.html")
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(html) > 6<<20 || strings.Contains(string(html), "{{") {
		t.Fatalf("the page has %d bytes", len(html))
	}
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(html)
	}))
	defer server.Close()
	tab := browsertest.Open(t, server.URL)
	tab.Open("/page.html")
	tab.Wait(`!document.getElementById("check").disabled`)
	f := auditortest.New(t)
	check := func(files map[string]string) string {
		t.Helper()
		given, err := json.Marshal(files)
		if err != nil {
			t.Fatal(err)
		}
		browsertest.Eval[bool](tab, `(() => {
			for (const [id, text] of Object.entries(`+string(given)+`)) {
				const files = new DataTransfer();
				if (text) files.items.add(new File([text], id));
				document.getElementById(id).files = files.files;
				document.getElementById(id).dispatchEvent(new Event("change", { bubbles: true }));
			}
			document.getElementById("check").click();
			return true;
		})()`)
		tab.Wait(`!document.getElementById("result").hidden && !document.getElementById("check").disabled`)
		return tab.Text("#result")
	}
	for name, one := range map[string]struct {
		proof, record string
		want          []string
	}{
		"a proof":               {string(f.Proof), "", []string{"✓ Proven", "evaluation x1 is entry 1", "DENY", "by no witness"}},
		"with its record":       {string(f.Proof), f.Record, []string{"✓ Proven", "the same as the one that was given"}},
		"with another record":   {string(f.Proof), strings.Replace(f.Record, "DENY", "ALLOW", 1), []string{"✗ Not proven"}},
		"a forged proof":        {string(f.Forged), "", []string{"✗ Not proven"}},
		"something with markup": {"<img src=x onerror=alert(1)>", "", []string{"✗ Not proven"}},
	} {
		got := check(map[string]string{"policy": string(f.Policy), "file": one.proof, "record": one.record})
		for _, want := range one.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
	}
	for _, dark := range []bool{false, true} {
		tab.Dark(dark)
		tab.Width(360)
		if found := append(tab.Axe(), tab.Overflows()...); len(found) > 0 {
			t.Errorf("dark %t: %v", dark, found)
		}
	}
	close(asked)
	for path := range asked {
		if path != "/page.html" && path != "/favicon.ico" {
			t.Errorf("the page asks for %s", path)
		}
	}
}
