package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
)

func (s *server) importRoutes() {
	registry := s.api.OpenAPI().Components.Schemas
	schema := registry.Schema(reflect.TypeFor[catalog.File](), true, "")
	// In a file the statement may be absent: defaults never have one, and an update may leave it as it is.
	input := registry.SchemaFromRef(registry.Schema(reflect.TypeFor[catalog.Input](), true, "").Ref)
	input.Required = nil
	input.PrecomputeMessages()

	op := register(s, operation{
		id: "import-rules", method: http.MethodPost, path: rulesPath + "/import", tag: ruleTag, role: auth.Reviewer,
		summary: "Import rules",
		description: "All rules and federation nodes of the file or none, as JSON or YAML by Content-Type. Rules are matched by id or slug; " +
			"errors name the rule by its place, its slug and the field. Nodes are matched by id, or by name below their parent.",
	}, s.importRules)
	content := map[string]*huma.MediaType{jsonType: {Schema: schema}, yamlTypes[0]: {Schema: schema}}
	op.RequestBody = &huma.RequestBody{Required: true, Content: content}
	p := s.plans[http.MethodPost+" "+rulesPath+"/import"]
	p.body, p.limit, p.yaml = compileShape(registry, schema), s.cfg.Limits.MaxImportBody, true

	register(s, operation{
		id: "export-rules", method: http.MethodGet, path: rulesPath + "/export", tag: ruleTag, role: auth.Viewer,
		summary: "Export rules",
		description: "As a file in a stable order and without times; retired and superseded rules are left out, and " +
			"with a filter the federation too. What is exported can be imported.",
		responses: map[string]*huma.Response{"200": {Description: "The file", Content: content}},
	}, s.exportRules)
}

type importOutput struct{ Body *rule.ImportResult }

func (s *server) importRules(ctx context.Context, in *struct {
	ProjectQuery
	Mode   string `query:"mode" enum:"upsert,create" default:"upsert" doc:"upsert updates rules that exist; create refuses them."`
	Prune  bool   `query:"prune" doc:"Retire the rules of the project that the file does not name; if it has a federation, also delete the nodes and remove the attachments that it does not name."`
	DryRun bool   `query:"dry_run" doc:"Tell what would happen, and change nothing."`
},
) (*importOutput, error) {
	f, err := s.readFile(ctx)
	if err != nil {
		return nil, err
	}
	result, err := s.cfg.Catalog.Import(ctx, project(ctx), f, catalog.ImportOptions{
		CreateOnly: in.Mode == "create", Prune: in.Prune, DryRun: in.DryRun,
	})
	if err != nil {
		return nil, err
	}
	return &importOutput{result}, nil
}

// readFile reads a rule file from the body, in JSON or YAML.
func (s *server) readFile(ctx context.Context) (*catalog.File, error) {
	x := exchangeFrom(ctx)
	media, err := x.mediaType()
	if err != nil {
		return nil, err
	}
	buf, err := s.read(x)
	if err != nil {
		return nil, err
	}
	defer putBuffer(buf)
	if media == jsonType {
		return decodeJSON[catalog.File](buf.Bytes(), x.plan.body, s.cfg.Limits.MaxJSONDepth)
	}
	return catalog.ParseYAML(buf.Bytes())
}

type exportOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (s *server) exportRules(ctx context.Context, in *struct {
	ProjectQuery
	RuleFilter
	Format string `query:"format" enum:"yaml,json" default:"yaml" doc:"Format of the file."`
},
) (*exportOutput, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	selects := filter.Matches
	if reflect.ValueOf(filter).IsZero() {
		selects = nil
	}
	f, err := s.cfg.Catalog.Export(ctx, project(ctx), selects)
	if err != nil {
		return nil, err
	}
	out := &exportOutput{
		ContentType: yamlTypes[0], Disposition: fmt.Sprintf(`attachment; filename="%s-rules.%s"`, project(ctx), in.Format),
	}
	if in.Format == "yaml" {
		out.Body, err = f.YAML()
		return out, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, err
	}
	out.ContentType, out.Body = jsonType, buf.Bytes()
	return out, nil
}
