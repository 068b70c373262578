package hierarchy

import (
	"context"
	"fmt"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// put changes a node in the tree of the edit, with the guard of [edit.take].
func (e *edit) put(permission rule.Permission, n store.NodeState) (*rule.Silenced, error) {
	return e.take(e.By, permission, e.tree.Apply([]store.NodeState{n}, nil))
}

// take makes a tree that of the edit, and returns the rules in force that end somewhere with it. The error is a conflict if guarded rules
// do, and the actor by has no permission for that. A preview ends here, with [change.ErrUndo]: it needs no transaction.
func (e *edit) take(by string, permission rule.Permission, tree *federation.Tree) (*rule.Silenced, error) {
	c := federation.Change{Before: e.state, After: state{e.view, tree}, Now: e.At, By: by}
	silenced := c.Losses().Silenced()
	if e.preview {
		e.shift, e.silenced, e.tree = c.Shift(), silenced, tree
		return silenced, change.ErrUndo
	}
	if err := guard(&c, silenced, e.permission(permission)); err != nil {
		return silenced, err
	}
	e.tree = tree
	return silenced, nil
}

// guard is the weakening guard of the federation: it refuses a change without permission that takes guarded rules out of force somewhere.
// Everything that changes nodes or attachments passes it.
func guard(c *federation.Change, silenced *rule.Silenced, permission rule.Permission) error {
	if n := c.Enclosed(); n != nil {
		if err := permission.Refuse("%s would stand below a node with own_rules_only, where the CRITICAL and HIGH rules that no node has do not hold", n.Name); err != nil {
			return err
		}
	}
	if silenced == nil || silenced.Guarded == 0 {
		return nil
	}
	first := &silenced.Rules[0]
	text := fmt.Sprintf("the %s rule %s would no longer hold at %s", first.Severity, first.Label(), first.At)
	if first.Scope != nil {
		text = fmt.Sprintf("the %s rule %s would hold at %s in the scope %q only", first.Severity, first.Label(), first.At, first.Scope[0])
	}
	if more := silenced.Guarded - 1; more > 0 {
		text += fmt.Sprintf(", nor would %d other enforced CRITICAL and HIGH rules hold where they do", more)
	}
	return permission.Refuse("%s", text)
}

func checkPermission(permission *rule.Permission) error {
	var p rule.Problems
	permission.Check(&p, "rules may end somewhere")
	return p.Err("the permission is invalid")
}

// note records a change of the federation in the audit chain, with what it ends and why it may. It takes the use of its approval.
func (e *edit) note(ctx context.Context, action string, permission rule.Permission, silenced *rule.Silenced, body map[string]any) error {
	if err := e.use(ctx, permission); err != nil {
		return err
	}
	return e.Note(ctx, audit.KindFederation, noted(action, permission, silenced, body))
}

func noted(action string, permission rule.Permission, silenced *rule.Silenced, body map[string]any) map[string]any {
	body["action"] = action
	if permission.AllowWeakening {
		body["allow_weakening"], body["reason"] = true, permission.Reason
	}
	if permission.Approved != nil {
		body["approval"] = permission.Approved
	}
	if silenced != nil {
		body["silenced"] = silenced
	}
	return body
}
