package cli

import (
	"fmt"
	"io"

	"tenet/internal/rulefile"
)

type rulesSchemaCommand struct {
	Output string `short:"o" placeholder:"PATH" help:"Write to this file."`
	JSON   bool   `name:"json" help:"Changes nothing: the schema is JSON."`
}

func (rulesSchemaCommand) Help() string {
	return fmt.Sprintf(`Prints the JSON Schema (2020-12) of rule files. Editors complete and check rule files by it:

    tenet rules schema -o .tenet/rules.schema.json

and as the first line of a rule file, for the YAML language server (VS Code, Neovim, Zed) and JetBrains:

    # yaml-language-server: $schema=.tenet/rules.schema.json

Its id is %s.`, rulefile.SchemaID)
}

func (k *rulesSchemaCommand) Run(s *session) error {
	if k.Output != "" {
		return writeTo(s, k.Output, func(w io.Writer) error {
			_, err := w.Write(rulefile.Schema())
			return err
		})
	}
	return pagedText(s, string(rulefile.Schema()))
}
