//go:build js

// Command wasm is the check of proofs and packs for the page of auditors: it gives the page a function tenetCheck.
package main

import (
	"encoding/json"
	"syscall/js"

	"tenet/internal/auditor"
)

func main() {
	js.Global().Set("tenetCheck", js.FuncOf(func(_ js.Value, args []js.Value) any {
		files := make([][]byte, 3)
		for i := range files {
			if i < len(args) && args[i].Truthy() {
				files[i] = make([]byte, args[i].Get("length").Int())
				js.CopyBytesToGo(files[i], args[i])
			}
		}
		out, err := json.Marshal(auditor.Check(files[0], files[1], files[2]))
		if err != nil {
			return `{"summary":"the result cannot be shown"}`
		}
		return string(out)
	}))
	select {} // until the page closes
}
