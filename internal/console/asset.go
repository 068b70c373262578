package console

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"

	"tenet/internal/rule"
)

//go:embed assets vendored/*.js
var files embed.FS

// served is a file that browsers may keep without limit, since its name follows from its content.
type served struct {
	address     string
	contentType string
	body        []byte
}

// contentTypes gives the types of the files.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assets holds the files by their names in the source, and by their names in addresses.
//
// Most commands serve no pages, so the files are read when the first page is.
var assets = sync.OnceValue(readAssets)

type assetSet struct{ byName, byAddress map[string]served }

func readAssets() assetSet {
	byName, byAddress := map[string]served{}, map[string]served{}
	for _, dir := range []string{"assets", "vendored"} {
		entries, err := files.ReadDir(dir)
		if err != nil {
			panic(err) // the files are part of the program
		}
		for _, e := range entries {
			body, err := files.ReadFile(path.Join(dir, e.Name()))
			if err != nil {
				panic(err)
			}
			sum := sha256.Sum256(body)
			extension := path.Ext(e.Name())
			name := fmt.Sprintf("%s-%s%s", strings.TrimSuffix(e.Name(), extension), base64.RawURLEncoding.EncodeToString(sum[:9]), extension)
			s := served{address: "/assets/" + name, contentType: contentTypes[extension], body: body}
			byName[e.Name()], byAddress[name] = s, s
		}
	}
	return assetSet{byName, byAddress}
}

// assetAddress is the address of a file by its name in the source.
func assetAddress(name string) string { return assets().byName[name].address }

// asset answers with a file.
func asset(p *page) error {
	s, ok := assets().byAddress[p.r.PathValue("name")]
	if !ok {
		return rule.NotFound("file", p.r.PathValue("name"))
	}
	header := p.w.Header()
	header.Set("Content-Type", s.contentType)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	p.sent = true
	p.w.WriteHeader(http.StatusOK)
	_, _ = p.w.Write(s.body)
	return nil
}
