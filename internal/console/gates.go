package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Names of the fields of a freeze, which the form has several times, and the form in which a browser sends a time.
const (
	freezeFrom, freezeUntil, freezeReason = "from", "until", "reason"

	formTime   = "2006-01-02T15:04"
	newFreezes = 2 // empty lines for more
)

// gatesForm is the view of the gates of an environment.
type gatesForm struct {
	environment wire.Environment
	form        entry
}

// gatesPage shows the gates of an environment in a form.
func gatesPage(p *page) error {
	environment, err := pathEnvironment(p)
	if err != nil {
		return err
	}
	gates, err := client.Get(p.ctx, p.api, op.GetGates.At(string(environment)))
	if err != nil {
		return err
	}
	values := url.Values{"max_risk": {string(gates.MaxRisk)}}
	if gates.Approvals > 0 {
		values.Set("approvals", strconv.Itoa(gates.Approvals))
	}
	if gates.TestsPass {
		values.Set("tests_pass", "true")
	}
	for _, f := range gates.Freezes {
		values.Add(freezeFrom, f.From.UTC().Format(formTime))
		values.Add(freezeUntil, f.Until.UTC().Format(formTime))
		values.Add(freezeReason, f.Reason)
	}
	return showGates(p, &gatesForm{environment: environment, form: entry{values: values}})
}

// pathEnvironment is the environment that the path names.
func pathEnvironment(p *page) (wire.Environment, error) {
	environment := wire.Environment(p.r.PathValue("environment"))
	if !slices.Contains(wire.Environments, environment) {
		return "", rule.NotFound("environment", string(environment))
	}
	return environment, nil
}

func showGates(p *page, v *gatesForm) error {
	return p.showAs(v.form.code(), head{Title: "Gates of " + string(v.environment), Nav: "releases"}, gatesView(p, v))
}

// setGates stores the gates of an environment.
func setGates(p *page) error {
	v := &gatesForm{form: entry{values: p.r.PostForm}}
	var err error
	if v.environment, err = pathEnvironment(p); err != nil {
		return err
	}
	gates := v.read()
	if v.form.fails() {
		return showGates(p, v)
	}
	if _, err := client.Call(p.ctx, p.api, op.SetGates.At(string(v.environment)), gates); err != nil {
		if err := v.form.refuse(err, gateField); err != nil {
			return err
		}
		return showGates(p, v)
	}
	p.say("The gates of " + string(v.environment) + " are stored.")
	return p.redirect(p.at("releases"))
}

// gateField is the field of the form that a field of the request is in, or empty.
func gateField(name string) string {
	switch name {
	case "max_risk", "approvals":
		return name
	}
	return ""
}

// read makes gates of what was typed, and notes what cannot be read.
func (v *gatesForm) read() wire.Gates {
	gates := wire.Gates{TestsPass: v.form.get("tests_pass") != "", MaxRisk: wire.Risk(v.form.get("max_risk"))}
	if text := strings.TrimSpace(v.form.get("approvals")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			v.form.bad("approvals", "This is not a number. Write one from 0 to 10.")
		}
		gates.Approvals = n
	}
	for i := range v.freezes() {
		f := v.freeze(i)
		if f == (freezeFields{}) {
			continue
		}
		from, errFrom := time.Parse(formTime, f.from)
		until, errUntil := time.Parse(formTime, f.until)
		switch {
		case errFrom != nil || errUntil != nil:
			v.form.bad(freezeFrom, fmt.Sprintf("Freeze %d needs a beginning and an end, such as 2026-12-24T00:00.", i+1))
		case !until.After(from):
			v.form.bad(freezeFrom, fmt.Sprintf("Freeze %d ends before it begins.", i+1))
		}
		gates.Freezes = append(gates.Freezes, wire.Freeze{From: from, Until: until, Reason: f.reason})
	}
	return gates
}

// freezeFields is one freeze as it was typed.
type freezeFields struct{ from, until, reason string }

// freeze returns one of the freezes as it was typed; empty beyond the last.
func (v *gatesForm) freeze(i int) freezeFields {
	at := func(name string) string {
		if list := v.form.values[name]; i < len(list) {
			return strings.TrimSpace(list[i])
		}
		return ""
	}
	return freezeFields{at(freezeFrom), at(freezeUntil), at(freezeReason)}
}

// freezes is the number of the freezes that were typed.
func (v *gatesForm) freezes() int {
	return max(len(v.form.values[freezeFrom]), len(v.form.values[freezeUntil]), len(v.form.values[freezeReason]))
}

// lines is the number of lines for freezes that the form has.
func (v *gatesForm) lines() int {
	n := v.freezes()
	for n > 0 && v.freeze(n-1) == (freezeFields{}) {
		n--
	}
	return n + newFreezes
}
