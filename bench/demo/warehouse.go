package main

import (
	"context"
	"encoding/json"
	"fmt"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// warehouse is a second project, in which two people must agree on each change of a rule in force.
const warehouse = "warehouse"

// setUpWarehouse makes the project with its rules.
func setUpWarehouse(ctx context.Context, y *year) error {
	admin := y.as("admin")
	_, err := client.Call(ctx, admin, op.CreateProject, wire.CreateProject{ID: warehouse, Name: "Warehouse", Description: "Orders, parcels and returns of Acme."})
	if err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	owner, file := "logistics", &wire.RuleFile{}
	for _, r := range []struct {
		slug, statement, when, cel string
		severity                   rule.Severity
	}{
		{"SHIP-001", "Parcels above 30 kg must be carried by two people.", "'weight_kg' in facts", "facts.weight_kg <= 30 || facts.carriers >= 2", rule.Critical},
		{"SHIP-002", "Goods above 5000 EUR must be insured.", "'value_eur' in facts", "facts.value_eur <= 5000 || facts.insured", rule.High},
		{"SHIP-003", "Returns must be refunded within 14 days.", "'refund_days' in facts", "facts.refund_days <= 14", rule.High},
		{"SHIP-004", "Parcels to other countries must name their goods.", "'country' in facts", "facts.country == 'NL' || facts.goods != ''", rule.Medium},
	} {
		file.Rules = append(file.Rules, wire.RuleInput{
			Slug: &r.slug, Owner: &owner, Statement: r.statement, Severity: r.severity, Status: rule.Effective, Scope: []string{"logistics"},
			AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{When: r.when, CEL: r.cel},
		})
	}
	if _, err := client.Call(ctx, admin.InProject(warehouse), op.ImportRules, file); err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	_, err = client.Call(ctx, admin, op.ChangeProject.At(warehouse), wire.ChangeProject{TwoPerson: wire.Some(true)})
	if err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	return nil
}

// ship has parcels of a month judged, and at the end of the year proposes a change, which waits for a second person.
func ship(ctx context.Context, y *year, month int) error {
	c := y.as("key:warehouse").InProject(warehouse)
	for i := range 10 {
		facts, err := json.Marshal(map[string]any{
			"parcel": fmt.Sprintf("P-%02d%03d", month, i), "weight_kg": 1 + y.random.IntN(36), "carriers": 1, "value_eur": y.random.IntN(6000), "insured": !chance(y.random, 20),
			"refund_days": 2 + y.random.IntN(14), "country": pick(y.random, countries[:8]).code, "goods": "spare parts",
		})
		if err != nil {
			return err
		}
		if _, err := c.Evaluate(ctx, client.Evaluate{Facts: facts, Scope: "logistics", Repository: "acme/warehouse"}); err != nil {
			return fmt.Errorf("parcel: %w", err)
		}
	}
	if month < 12 {
		return nil
	}
	_, err := client.Call(ctx, y.as(reviewers[0]).InProject(warehouse), op.ReviseRule.At("SHIP-002"), map[string]any{
		"statement": "Goods above 4000 EUR must be insured.", "check": map[string]any{"when": "'value_eur' in facts", "cel": "facts.value_eur <= 4000 || facts.insured"},
		"change_note": "The insurer has lowered its limit.",
	})
	if err != nil {
		return fmt.Errorf("revision: %w", err)
	}
	return nil
}
