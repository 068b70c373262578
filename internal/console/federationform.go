package console

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// nodeForm is the view of a form that changes the federation. Its action is one of a preview: create, change, delete, attach or detach.
type nodeForm struct {
	action  string
	form    entry
	node    *wire.NodeDetail // nil for create
	about   *rule.Rule       // the rule to detach
	preview *wire.PreviewedNodes
	seen    string // names what was previewed
	notice  string
	post    string // address of the form
}

// title is the heading of the form.
func (v *nodeForm) title() string {
	switch v.action {
	case "create":
		return "New node"
	case "change":
		return "Change " + v.node.Name
	case "delete":
		return "Delete " + v.node.Name
	case "attach":
		return "Attach a rule to " + v.node.Name
	}
	return "Detach " + v.about.Label() + " from " + v.node.Name
}

// button is the label of the button that makes the change.
func (v *nodeForm) button() string {
	return map[string]string{
		"create": "Create the node", "change": "Store the change", "delete": "Delete the node", "attach": "Attach the rule", "detach": "Detach the rule",
	}[v.action]
}

// asks reports whether the form has fields of its own, besides the reason.
func (v *nodeForm) asks() bool { return v.action != "delete" && v.action != "detach" }

func (v *nodeForm) show(p *page) error {
	return p.showAs(v.form.code(), head{Title: v.title(), Nav: "federation"}, nodeFormView(p, v))
}

// newNodePage shows the form of a new node.
func newNodePage(p *page) error {
	parent := p.r.URL.Query().Get("parent")
	level := rule.LevelOrganization
	if parent != "" {
		level = rule.LevelTeam
		if strings.Count(parent, "/") > 0 {
			level = rule.LevelProject
		}
	}
	v := &nodeForm{action: "create", post: p.at("federation", "new"), form: entry{values: url.Values{"parent": {parent}, "level": {string(level)}}}}
	return v.show(p)
}

// makeNode previews or makes a node.
func makeNode(p *page) error {
	v := &nodeForm{action: "create", post: p.at("federation", "new"), form: entry{values: p.r.PostForm}}
	return v.submit(p)
}

// nodeFormPage shows the form that does something to a node: edit, delete, attach or detach.
func nodeFormPage(action string) func(*page) error {
	return func(p *page) error {
		v, err := openNodeForm(p, action, p.r.URL.Query())
		if err != nil {
			return err
		}
		if action == "change" {
			v.fill()
		}
		if !v.asks() { // there is nothing to type before the preview
			if err := v.ask(p); err != nil {
				return err
			}
		}
		return v.show(p)
	}
}

// postNodeForm previews or makes a change of a node.
func postNodeForm(action string) func(*page) error {
	return func(p *page) error {
		v, err := openNodeForm(p, action, p.r.PostForm)
		if err != nil {
			return err
		}
		return v.submit(p)
	}
}

// openNodeForm reads the node of a form, and the rule to detach.
func openNodeForm(p *page, action string, values url.Values) (*nodeForm, error) {
	v := &nodeForm{action: action, form: entry{values: maps.Clone(values)}, post: p.r.URL.EscapedPath()}
	node, err := client.Get(p.ctx, p.api, op.GetNode.At(p.r.PathValue("id")).Where(wire.NodeQuery{Brief: true}))
	if err != nil {
		return nil, err
	}
	v.node = &node
	if action == "detach" {
		about, err := client.Get(p.ctx, p.api, op.GetRule.At(v.form.get("rule")))
		if err != nil {
			return nil, err
		}
		v.about = &about
	}
	return v, nil
}

// fill fills the form with the node as it is.
func (v *nodeForm) fill() {
	n := v.node
	set := func(name, value string) { v.form.values.Set(name, value) }
	set("name", n.Name)
	set("level", string(n.Level))
	set("description", n.Description)
	set("default_scope", n.DefaultScope)
	set("repositories", strings.Join(n.Repositories, "\n"))
	set("parent", parentPath(n))
	if n.OwnRulesOnly {
		set("own_rules_only", "true")
	}
}

// parentPath is the path of the parent of a node; empty without one.
func parentPath(n *wire.NodeDetail) string {
	names := make([]string, len(n.Ancestors))
	for i := range n.Ancestors {
		names[i] = n.Ancestors[i].Name
	}
	return strings.Join(names, "/")
}

// submit previews the change, or makes it if the person has seen what it leads to.
func (v *nodeForm) submit(p *page) error {
	now := v.fingerprint()
	if v.form.get("do") != "apply" || v.form.get("seen") != now {
		if v.form.get("do") == "apply" {
			v.notice = "The form is not the one that was previewed. Look at what it leads to now, then press the button again."
		}
		if err := v.ask(p); err != nil {
			return err
		}
		return v.show(p)
	}
	body, ok, err := v.body(p)
	if err != nil {
		return err
	}
	if !ok {
		return v.show(p)
	}
	to, said, err := v.apply(p, body)
	if err == nil {
		p.say(said)
		return p.redirect(to)
	}
	if err = v.form.refuse(err, nodeField); err != nil {
		return err
	}
	problem, status, wrong := v.form.problem, v.form.status, v.form.wrong
	v.form.problem, v.form.wrong = "", nil
	if err := v.ask(p); err != nil { // the form again, with what it leads to
		return err
	}
	v.form.problem, v.form.status, v.form.wrong = problem, status, wrong
	return v.show(p)
}

// fingerprint names what the form would change. The reason and the permission are not part of it: people give them once they have seen
// the preview.
func (v *nodeForm) fingerprint() string {
	values := maps.Clone(v.form.values)
	for _, name := range []string{"reason", "allow_weakening"} {
		delete(values, name)
	}
	return fingerprint(values)
}

// ask asks what the change would lead to.
func (v *nodeForm) ask(p *page) error {
	body, ok, err := v.body(p)
	if err != nil || !ok {
		return err
	}
	preview, err := client.Call(p.ctx, p.api, op.PreviewNodes, body)
	if err != nil {
		return v.form.refuse(err, nodeField)
	}
	v.preview, v.seen = &preview, v.fingerprint()
	return nil
}

// nodeField is the name of a field of the form by that of the API.
func nodeField(name string) string {
	name = strings.TrimPrefix(name, "node.")
	name, _, _ = strings.Cut(name, "[")
	switch name {
	case "parent_id":
		return "parent"
	case "rule_id":
		return "rule"
	case "override_parent_rule_id":
		return "overrides"
	case "own_rules_reason":
		return "reason"
	case "name", "level", "description", "default_scope", "repositories", "own_rules_only", "reason", "allow_weakening":
		return name
	}
	return ""
}

// body reads the form as the body of a preview, which has all that the change needs. It reports false if a field is wrong.
func (v *nodeForm) body(p *page) (wire.PreviewNodes, bool, error) {
	body := wire.PreviewNodes{
		Action: v.action, RuleID: strings.TrimSpace(v.form.get("rule")), OverrideID: strings.TrimSpace(v.form.get("overrides")),
		WeakeningInput: wire.WeakeningInput{AllowWeakening: v.form.get("allow_weakening") != "", Reason: strings.TrimSpace(v.form.get("reason"))},
	}
	if v.node != nil {
		body.NodeID = v.node.ID
	}
	switch v.action {
	case "detach":
		body.RuleID = v.about.ID
	case "attach":
		if body.RuleID == "" {
			v.form.bad("rule", "is empty; name the rule by its slug, such as SEC-003, or its id")
		}
	case "create", "change":
		parentID, err := v.parent(p)
		if err != nil {
			return body, false, err
		}
		body.Node = v.change(parentID)
	}
	if body.AllowWeakening && body.Reason == "" {
		v.form.bad("reason", "is missing; say why the rules may end or demand less")
	}
	return body, !v.form.fails(), nil
}

// change reads the fields of a node: all of a new one, of another those that differ from what it has.
func (v *nodeForm) change(parentID string) *wire.ChangeNode {
	n := wire.NodeDetail{}
	made := v.node == nil
	if !made {
		n = *v.node
	}
	out := &wire.ChangeNode{}
	text := func(field *wire.Optional[string], is, was string) {
		if is = strings.TrimSpace(is); made && is != "" || !made && is != was {
			*field = wire.Some(is)
		}
	}
	text(&out.Name, v.form.get("name"), n.Name)
	if made {
		out.Name = wire.Some(strings.TrimSpace(v.form.get("name")))
	}
	if level := rule.Level(v.form.get("level")); made || level != n.Level {
		out.Level = wire.Some(level)
	}
	text(&out.Description, strings.ReplaceAll(v.form.get("description"), "\r\n", "\n"), n.Description)
	text(&out.DefaultScope, v.form.get("default_scope"), n.DefaultScope)
	if globs := splitList(v.form.get("repositories"), false); !slices.Equal(globs, n.Repositories) && len(globs)+len(n.Repositories) > 0 {
		out.Repositories = wire.Some(append([]string{}, globs...))
	}
	if alone := v.form.get("own_rules_only") != ""; alone != n.OwnRulesOnly {
		out.OwnRulesOnly = wire.Some(alone)
	}
	if parentID != n.Parent() {
		out.ParentID = wire.Some(parentID)
	}
	return out
}

// parent finds the node that the form names as parent, by its id, its path or its name if only one node has it; empty without one.
func (v *nodeForm) parent(p *page) (string, error) {
	ref := strings.TrimSpace(v.form.get("parent"))
	if ref == "" {
		return "", nil
	}
	if v.node != nil && ref == parentPath(v.node) {
		return v.node.Parent(), nil
	}
	if rule.IsID(strings.ToLower(ref)) {
		return ref, nil
	}
	const first = 100 // nodes whose whole name or path it is come first
	list, err := client.Get(p.ctx, p.api, op.FindNodes.Where(wire.NodesQuery{Q: ref, PageQuery: wire.PageQuery{Page: 1, PageSize: first}}))
	if err != nil {
		return "", v.form.refuse(err, func(string) string { return "parent" })
	}
	var byName []string
	for _, n := range list.Items {
		if n.Path == ref {
			return n.ID, nil
		}
		if n.Name == ref {
			byName = append(byName, n.ID)
		}
	}
	switch len(byName) {
	case 0:
		v.form.bad("parent", "no node has this path or name")
	case 1:
		return byName[0], nil
	default:
		v.form.bad("parent", "several nodes have this name; give the path, such as acme/payments")
	}
	return "", nil
}

// apply makes the change, and returns the page to go to and what it says.
func (v *nodeForm) apply(p *page, body wire.PreviewNodes) (to, said string, err error) {
	weakening := wire.WeakeningQuery{AllowWeakening: body.AllowWeakening, Reason: body.Reason}
	switch v.action {
	case "create":
		n := body.Node
		made, err := client.Call(p.ctx, p.api, op.CreateNode, wire.CreateNode{
			Name: n.Name.Value, Level: n.Level.Value, ParentID: n.ParentID.Value, Description: n.Description.Value, DefaultScope: n.DefaultScope.Value,
			Repositories: n.Repositories.Value, OwnRulesOnly: n.OwnRulesOnly.Value, WeakeningInput: body.WeakeningInput,
		})
		return nodeAddress(p, made.ID), made.Name + " is a node now.", err
	case "change":
		body.Node.WeakeningInput = body.WeakeningInput
		text, err := json.Marshal(body.Node)
		if err != nil {
			return "", "", err
		}
		var patch map[string]any
		if err := json.Unmarshal(text, &patch); err != nil {
			return "", "", err
		}
		made, err := client.Call(p.ctx, p.api, op.ChangeNode.At(v.node.ID), patch)
		return nodeAddress(p, v.node.ID), made.Name + " is changed.", err
	case "delete":
		to := p.at("federation")
		if v.node.ParentID != nil {
			to = nodeAddress(p, v.node.Parent())
		}
		return to, v.node.Name + " is deleted.", client.Run(p.ctx, p.api, op.DeleteNode.At(v.node.ID).Where(weakening))
	case "attach":
		_, err := client.Call(p.ctx, p.api, op.AttachRule.At(v.node.ID), wire.AttachRule{
			RuleID: body.RuleID, OverrideID: body.OverrideID, AllowWeakening: body.AllowWeakening, Reason: body.Reason,
		})
		return nodeAddress(p, v.node.ID), body.RuleID + " is attached to " + v.node.Name + ".", err
	}
	return nodeAddress(p, v.node.ID), v.about.Label() + " is detached from " + v.node.Name + ".",
		client.Run(p.ctx, p.api, op.DetachRule.At(v.node.ID, v.about.ID).Where(weakening))
}

// needsReason reports whether the change needs a reason and the permission: of those that are known by now.
func (v *nodeForm) needsReason() bool {
	return (v.preview != nil && v.preview.Silenced != nil && v.preview.Silenced.Guarded > 0) || v.form.get("allow_weakening") != "" ||
		v.form.get("own_rules_only") != "" && (v.node == nil || !v.node.OwnRulesOnly)
}

// backAddress is the page that the form was opened from.
func (v *nodeForm) backAddress(p *page) string {
	if v.node == nil {
		return p.at("federation")
	}
	return nodeAddress(p, v.node.ID)
}
