package export

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kgo"

	"tenet/internal/rule"
)

// connectTime bounds connecting to a server of streams.
const connectTime = 10 * time.Second

// natsPlace publishes to a subject that a stream of JetStream has. The id of a decision is that of its message, so that the stream leaves out repeated ones
// within its window.
type natsPlace struct {
	address *url.URL
	subject string

	mu   sync.Mutex
	conn *nats.Conn
}

func (p *natsPlace) connect() (jetstream.JetStream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil || p.conn.IsClosed() {
		at := *p.address
		at.Path, at.RawQuery = "", ""
		conn, err := nats.Connect(at.String(), nats.Name("tenet"), nats.Timeout(connectTime), nats.MaxReconnects(-1))
		if err != nil {
			return nil, rule.Errorf(rule.CodeUnavailable, "NATS at %s cannot be reached: %w", p.address.Host, err)
		}
		p.conn = conn
	}
	return jetstream.New(p.conn)
}

// Write implements [Place].
func (p *natsPlace) Write(ctx context.Context, projectID string, _ int64, list []Decision) error {
	js, err := p.connect()
	if err != nil {
		return err
	}
	waiting := make([]jetstream.PubAckFuture, 0, len(list))
	for i := range list {
		body, err := json.Marshal(&list[i])
		if err != nil {
			return err
		}
		m := nats.NewMsg(p.subject)
		m.Data = body
		m.Header.Set("Tenet-Project", projectID)
		ack, err := js.PublishMsgAsync(m, jetstream.WithMsgID(list[i].ID))
		if err != nil {
			return err
		}
		waiting = append(waiting, ack)
	}
	for _, w := range waiting {
		select {
		case <-w.Ok():
		case err := <-w.Err():
			return rule.Errorf(rule.CodeUnavailable, "no stream of NATS has taken a decision on %s: %w", p.subject, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close implements [Place].
func (p *natsPlace) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.conn.Close()
	}
}

// kafkaPlace produces to a topic, all replicas in sync. The key of a record is the project, and the header id that of the decision.
type kafkaPlace struct{ client *kgo.Client }

func newKafka(brokers []string, topic string) (Place, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ClientID("tenet"),
		kgo.RecordDeliveryTimeout(time.Minute), kgo.DialTimeout(connectTime))
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the export to Kafka cannot be set up: %w", err)
	}
	return kafkaPlace{c}, nil
}

// Write implements [Place].
func (p kafkaPlace) Write(ctx context.Context, projectID string, _ int64, list []Decision) error {
	records := make([]*kgo.Record, len(list))
	for i := range list {
		body, err := json.Marshal(&list[i])
		if err != nil {
			return err
		}
		records[i] = &kgo.Record{
			Key: []byte(projectID), Value: body, Timestamp: list[i].At,
			Headers: []kgo.RecordHeader{{Key: "id", Value: []byte(list[i].ID)}, {Key: "seq", Value: strconv.AppendInt(nil, list[i].Seq, 10)}},
		}
	}
	if err := p.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return rule.Errorf(rule.CodeUnavailable, "Kafka has not taken a decision: %w", err)
	}
	return nil
}

// Close implements [Place].
func (p kafkaPlace) Close() { p.client.Close() }
