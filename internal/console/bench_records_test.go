package console_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/evaluate/find"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// recordsEnv names the variable that holds the number of recorded evaluations beside which BenchmarkScreens measures; without it those that
// the pages need.
const recordsEnv = "TENET_BENCH_RECORDS"

var benchPayment = regexp.MustCompile(`"PMT-[0-9A-Z]+"`)

// addRecords appends copies of the recorded evaluations, each with an id and a payment of its own and a time within the last 30 days, until there are
// as many as [recordsEnv] asks for, and indexes them. They go through the audit chain as all records do, but many in a transaction.
func addRecords(b *testing.B, s store.Store) {
	b.Helper()
	wanted, err := strconv.Atoi(os.Getenv(recordsEnv))
	if os.Getenv(recordsEnv) == "" {
		return
	}
	if err != nil {
		b.Fatal(err)
	}
	const batch, templates = 2_000, 500
	models, have, err := s.Audit.Find(b.Context(), store.AuditFilter{ProjectID: rule.DefaultProject, Kind: audit.KindEvaluation, Limit: templates})
	if err != nil {
		b.Fatal(err)
	}
	bodies := make([][]byte, len(models))
	for i := range models {
		if bodies[i], err = audit.Body(models[i]); err != nil {
			b.Fatal(err)
		}
	}
	const span = 30 * 24 * time.Hour
	began := time.Now()
	for n := have; n < wanted; {
		var records []audit.Record
		for ; n < wanted && len(records) < batch; n++ {
			e, id := &models[n%len(models)], audit.NewID()
			body := bytes.ReplaceAll(bodies[n%len(models)], []byte(e.ID), []byte(id))
			body = benchPayment.ReplaceAll(body, fmt.Appendf(nil, `"PMT-%d"`, 1_000_000+n))
			at := began.Add(-span + time.Duration(float64(span)*float64(n)/float64(wanted)))
			records = append(records, audit.Record{ID: id, Kind: e.Kind, At: rule.Instant(at), Actor: e.Actor, Verdict: e.Verdict, Mode: e.Mode, Body: body})
		}
		if err := s.Update(b.Context(), func(tx store.Tx) error { return audit.Append(b.Context(), tx, rule.DefaultProject, records...) }); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d records added in %.0f s", wanted-have, time.Since(began).Seconds())
	x := find.New(find.Config{Store: find.Store{Updater: s, DerivedUpdater: s, Audit: s.Audit, Rules: s.Rules, Terms: s.Terms}, Working: func() bool { return false }})
	for unsearched := int64(1); unsearched > 0; { // each query indexes for some seconds
		found, err := x.Find(b.Context(), rule.DefaultProject, wire.EvaluationQuery{PageQuery: wire.PageQuery{Page: 1, PageSize: 1}})
		if err != nil && rule.CodeOf(err) != rule.CodeConflict { // the server indexes, too
			b.Fatal(err)
		}
		unsearched = found.Unsearched
	}
	b.Logf("they are indexed after %.0f s", time.Since(began).Seconds())
}
