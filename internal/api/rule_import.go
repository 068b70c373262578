package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// RuleFiles imports and exports rules as files.
type RuleFiles struct{ Catalog *catalog.Catalog }

// Routes implements [rest.Resource].
func (s RuleFiles) Routes(r *rest.Router) {
	r = r.Tag(ruleTag)
	file := rest.SchemaOf[wire.RuleFile](r)
	// In a file the statement may be absent: defaults never have one, and an update may leave it as it is.
	rest.SchemaOf[wire.RuleInput](r).Target().Required = nil
	content := map[string]*rest.Media{"application/json": {Schema: file}, rest.YAMLTypes[0]: {Schema: file}}
	rest.Handle(r, rest.Operation{
		ID: "import-rules", Route: op.ImportRules.Route(), Role: auth.Reviewer, Summary: "Import rules",
		Description: "All rules and federation nodes of the file or none, as JSON or YAML by Content-Type. Rules are matched by id or slug; " +
			"errors name the rule by its place, its slug and the field. Nodes are matched by id, or by name below their parent.",
	}, s.load).Accept(r.Limits().MaxImportBody, content)
	exported := rest.Handle(r, rest.Operation{
		ID: "export-rules", Route: op.ExportRules.Route(), Role: auth.Viewer, Summary: "Export rules",
		Description: "As a file in a stable order and without times, without retired and superseded rules, and " +
			"with a filter without the federation. The file can be imported.",
	}, s.export).Success()
	exported.Description, exported.Content = "The file", content
}

func (s RuleFiles) load(ctx context.Context, in *wire.ImportQuery) (*rule.ImportResult, error) {
	f, err := rest.ReadFile(ctx, func(data []byte) (*wire.RuleFile, error) {
		// Reading so large a file takes half a minute; counting takes none of it.
		if n := len(ruleStart.FindAllIndex(data, catalog.MaxImport+1)); n > catalog.MaxImport {
			return nil, rule.Errorf(rule.CodeTooLarge, "the file holds more than %d rules, which one import takes; import it in parts, as tenet rules import does", catalog.MaxImport)
		}
		return catalog.ReadFor(ctx, s.Catalog, rest.Project(ctx), data)
	})
	if err != nil {
		return nil, err
	}
	return s.Catalog.Import(ctx, rest.Project(ctx), f, catalog.ImportOptions{CreateOnly: in.Mode == "create", Prune: in.Prune, DryRun: in.DryRun, Permission: in.Permission()})
}

// ruleStart finds rules of a file in YAML by the key that they begin with.
var ruleStart = regexp.MustCompile(`(?m)^ *- *\{? *(?:slug|statement):`)

// fileOutput is a file.
type fileOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (s RuleFiles) export(ctx context.Context, in *struct {
	ruleFilter
	wire.ExportQuery
},
) (out fileOutput, err error) {
	filter, err := in.filter()
	if err != nil {
		return out, err
	}
	selects := filter.Matches
	if reflect.ValueOf(filter).IsZero() {
		selects = nil
	}
	f, err := s.Catalog.Export(ctx, rest.Project(ctx), selects)
	if err != nil {
		return out, err
	}
	out.Disposition = fmt.Sprintf(`attachment; filename="%s-rules.%s"`, rest.Project(ctx), in.Format)
	if in.Format == "yaml" {
		out.ContentType = rest.YAMLTypes[0]
		out.Body, err = catalog.YAML(f)
		return out, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return out, err
	}
	out.ContentType, out.Body = "application/json", buf.Bytes()
	return out, nil
}
