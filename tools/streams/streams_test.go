// Package streams tests exports to streams against real servers of NATS and a Kafka in process. It is a module of its own, so that they are no part of
// the program.
package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tenet/internal/audit"
	"tenet/internal/export"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

const count = 50

// chain is a database with evaluations.
func chain(t *testing.T) (store.Store, []string) {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), t.TempDir(), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var ids []string
	err = s.Update(t.Context(), func(tx store.Tx) error {
		ids = nil
		if err := tx.Projects.Create(t.Context(), rule.Project{ID: "pay", Name: "Pay"}); err != nil {
			return err
		}
		for i := range count {
			id := fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", i)
			ids = append(ids, id)
			rec := wire.EvaluationRecord{Evaluation: &rule.Evaluation{EvaluationID: id, OverallVerdict: rule.Deny}}
			if err := audit.Append(t.Context(), tx, "pay", audit.Record{ID: id, Kind: audit.KindEvaluation, At: time.Now(), Actor: "ci", Body: audit.JSON(rec)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, ids
}

func exporter(t *testing.T, s store.Store, exports store.ExportReader, address string) *export.Exporter {
	t.Helper()
	e, err := export.New(export.Config{
		Updater: s, Audit: s.Audit, Exports: exports, Projects: s.Projects, Addresses: []string{address}, Env: func(string) string { return "" },
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// forgetful reads a database whose positions are lost, so that all is sent again.
type forgetful struct{ store.ExportReader }

func (forgetful) Position(context.Context, string, string) (int64, error) { return 0, nil }

func TestKafkaGetsEveryDecision(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(3, "decisions"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s, want := chain(t)
	address := "kafka://" + strings.Join(cluster.ListenAddrs(), "+") + "/decisions"
	for range 2 { // the second finds nothing new
		if err := exporter(t, s, s.Exports, address).Handle(t.Context(), wire.Job{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("decisions"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for len(got) < count {
		f := c.PollFetches(t.Context())
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			var d export.Decision
			if err := json.Unmarshal(r.Value, &d); err != nil || string(r.Key) != "pay" || string(r.Headers[0].Value) != d.ID || d.Verdict != "DENY" {
				t.Errorf("%s: %v", r.Value, err)
			}
			got = append(got, d.ID)
		})
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%d decisions", len(got))
	}
}

// cluster starts three servers of NATS with JetStream.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	ports := make([]int, 3)
	var routes []*url.URL
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
	}
	var list []*server.Server
	for i, port := range ports {
		n, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port},
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Start()
		t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
		list = append(list, n)
	}
	for _, n := range list {
		if !n.ReadyForConnections(60 * time.Second) {
			t.Fatal("NATS does not start")
		}
	}
	return list
}

func TestNATSGetsEveryDecisionOnceAlsoWhenAServerEnds(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	conn, err := nats.Connect(servers[1].ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	var stream jetstream.Stream
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		stream, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "D", Subjects: []string{"tenet.decisions"}, Replicas: 3, Duplicates: time.Hour})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	s, _ := chain(t)
	address := servers[1].ClientURL() + "/tenet.decisions"
	send := func() error { return exporter(t, s, forgetful{}, address).Handle(t.Context(), wire.Job{}, nil) }
	if err := send(); err != nil {
		t.Fatal(err)
	}
	servers[2].Shutdown()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		if err = send(); err == nil { // again, from the beginning
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs != count {
		t.Errorf("the stream has %+v, %v; want %d messages", info, err, count)
	}
	if err := exporter(t, s, forgetful{}, servers[1].ClientURL()+"/no.stream").Handle(t.Context(), wire.Job{}, nil); err == nil {
		t.Error("a subject without a stream takes decisions")
	}
}
