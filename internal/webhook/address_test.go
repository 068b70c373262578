package webhook_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/webhook"
)

func TestAddressesThatArePlainlyBadAreRefused(t *testing.T) {
	b := newBed(t)
	b.cfg.AllowNetworks = nil
	b.hooks = webhook.New(b.cfg)
	create := func(url string) error {
		b.n++
		_, err := b.hooks.Create(b.ctx(), project, webhook.Input{Name: new(url), URL: &url, EventTypes: &rule.EventTypes}, "")
		return err
	}
	for _, url := range []string{
		"", "hooks.example.com", "/x", "http://", "https://:443", "ftp://hooks.example.com", "file:///etc/passwd", "gopher://x.example", "javascript:alert(1)",
		"https://user:pass@hooks.example.com", "https://user@hooks.example.com", "https://hooks.example.com/#x", "https://hooks.example.com:0/", "https://hooks.example.com:70000/",
		"http://127.0.0.1", "http://127.0.0.1:8080/x", "http://127.1", "http://127.0.1", "http://0.0.0.0", "http://0", "http://10.0.0.1", "http://172.16.3.4", "http://192.168.1.1",
		"http://100.64.0.1", "http://169.254.169.254/latest/meta-data/", "http://224.0.0.1", "http://255.255.255.255", "http://198.18.0.1", "http://192.0.2.1",
		"http://2130706433", "http://017700000001", "http://0x7f000001", "http://0x7f.1", "http://0177.0.0.1", "http://127.0.0.0x1", "http://0X7F000001", "http://127.0.0.1.",
		"http://[::1]", "http://[::]", "http://[::ffff:127.0.0.1]", "http://[::ffff:a9fe:a9fe]", "http://[::127.0.0.1]", "http://[64:ff9b::7f00:1]", "http://[64:ff9b::169.254.169.254]",
		"http://[64:ff9b:1::a00:1]", "http://[fe80::1]", "http://[fe80::1%25eth0]", "http://[fc00::1]", "http://[fd00:ec2::254]", "http://[ff02::1]", "http://[2002:7f00:1::]",
		"http://[2001:0:7f00:1::]", "http://[2001:db8::1]", "http://[3fff::1]", "http://localhost", "http://LOCALHOST.:9", "http://a.localhost", "http://①②⑦.0.0.1", "http://exa mple.com",
		"http://127.0.0.1%2f@hooks.example.com", "http://hooks.example.com\\@127.0.0.1/", "https://" + strings.Repeat("x", 2100),
	} {
		if err := create(url); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{
		"https://hooks.example.com", "http://hooks.example.com:8443/a?b=c", "https://93.184.216.34/", "https://[2606:4700::1111]/", "https://xn--bcher-kva.example/", "https://1password.example", "https://a.0xfg/",
	} {
		if err := create(url); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	networks, err := webhook.ParseNetworks(" 10.1.0.0/16,fd00::/8 ,127.0.0.1/32,")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"10.1.0.0", "x", "10.0.0.0/33", "10.1.0.0/16;fd00::/8"} {
		if _, err := webhook.ParseNetworks(bad); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	b := newBed(t)
	b.cfg.AllowNetworks = networks
	b.hooks = webhook.New(b.cfg)
	for url, ok := range map[string]bool{
		"http://10.1.2.3": true, "http://10.2.0.1": false, "http://[fd00::1]": true, "http://[fc00::1]": false, "http://127.0.0.1": true, "http://127.0.0.2": false,
		"http://localhost": true, "http://[::ffff:10.1.2.3]": false, "http://169.254.169.254": false, "http://0177.0.0.1": false,
	} {
		_, err := b.hooks.Create(b.ctx(), project, webhook.Input{Name: &url, URL: &url, EventTypes: &rule.EventTypes}, "")
		if (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A name may lead anywhere, and elsewhere each time: what counts is where a connection goes.
func TestNamesThatLeadInside(t *testing.T) {
	e := newEndpoint(t)
	port := netip.MustParseAddrPort(strings.TrimPrefix(e.URL, "http://")).Port()
	b := newBed(t)
	b.cfg.AllowNetworks = nil
	for name, addrs := range map[string][]string{
		"loopback": {"127.0.0.1"}, "loopback in v6": {"::1"}, "mapped": {"::ffff:127.0.0.1"}, "metadata": {"169.254.169.254"}, "private": {"10.0.0.1"},
		"several, all inside": {"10.0.0.1", "127.0.0.1", "fd00::1"}, "nat64": {"64:ff9b::7f00:1"}, "this network": {"0.0.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			b.cfg.Resolver = fakeDNS(func() []string { return addrs })
			b.hooks = webhook.New(b.cfg)
			p := b.policy("http://rebound.example:"+itoa(port)+"/", nil)
			b.publish()
			b.work()
			r, err := b.hooks.Test(b.ctx(), project, p.ID)
			if err != nil || r.Delivered || !strings.Contains(r.Reason, "not on the public internet") {
				t.Errorf("ping: %+v, %v", r, err)
			}
			if list := b.deliveries(p.ID, store.DeliveryPending); len(list) != 1 || !strings.Contains(list[0].Reason, "not on the public internet") {
				t.Errorf("delivery: %+v", list)
			}
			if err := b.hooks.Delete(b.ctx(), project, p.ID); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("rebinding", func(t *testing.T) {
		// It leads where it may go when it is first asked for, and inside from then on.
		b := newBed(t)
		b.cfg.AllowNetworks, b.cfg.Timeout = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, 200*time.Millisecond
		var asked atomic.Int64
		b.cfg.Resolver = fakeDNS(func() []string {
			if asked.Add(1) <= 2 { // one question for each family
				return []string{"192.0.2.1"}
			}
			return []string{"127.0.0.1"}
		})
		b.hooks = webhook.New(b.cfg)
		p := b.policy("http://rebound.example:"+itoa(port)+"/", nil)
		if r, err := b.hooks.Test(b.ctx(), project, p.ID); err != nil || r.Delivered || strings.Contains(r.Reason, "not on the public internet") {
			t.Errorf("the first ping: %+v, %v", r, err)
		}
		asked.Add(2)
		b.cfg.Timeout = 0 // the usual
		b.hooks = webhook.New(b.cfg)
		for range 2 {
			if r, err := b.hooks.Test(b.ctx(), project, p.ID); err != nil || r.Delivered || !strings.Contains(r.Reason, "not on the public internet") {
				t.Errorf("ping: %+v, %v", r, err)
			}
		}
	})
	if n := len(e.messages()); n > 0 {
		t.Errorf("%d requests came in", n)
	}
}

// A proxy of the environment would make the connections, and nobody would look at where they go.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	proxy := newEndpoint(t)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("ALL_PROXY", proxy.URL)
	b := newBed(t)
	b.cfg.Resolver = fakeDNS(func() []string { return []string{"10.0.0.1"} })
	b.hooks = webhook.New(b.cfg)
	p := b.policy("http://hooks.example/", nil)
	if r, err := b.hooks.Test(b.ctx(), project, p.ID); err != nil || r.Delivered || len(proxy.messages()) > 0 {
		t.Errorf("ping: %+v, %v; the proxy got %d requests", r, err, len(proxy.messages()))
	}
}

// A name that leads nowhere is told, but not which server of the network inside was asked for it.
func TestANameThatLeadsNowhere(t *testing.T) {
	b := newBed(t)
	b.cfg.Resolver = fakeDNS(func() []string { return nil })
	b.hooks = webhook.New(b.cfg)
	p := b.policy("http://hooks.example/", nil)
	if r, err := b.hooks.Test(b.ctx(), project, p.ID); err != nil || r.Reason != "no answer: hooks.example cannot be found: no such host" {
		t.Errorf("ping: %+v, %v", r, err)
	}
}

func itoa(port uint16) string {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()[len("0.0.0.0:"):]
}

// fakeDNS answers every question with addresses.
func fakeDNS(addrs func() []string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = ours.Close() }()
			for {
				var size [2]byte
				if _, err := io.ReadFull(ours, size[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(ours, question); err != nil {
					return
				}
				answer := dnsAnswer(question, addrs())
				if _, err := ours.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
					return
				}
			}
		}()
		return theirs, nil
	}}
}

func dnsAnswer(question []byte, addrs []string) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		panic(err)
	}
	m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals = true, true, true, nil
	for _, a := range addrs {
		addr := netip.MustParseAddr(a)
		header := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}
		switch {
		case addr.Is4() && m.Questions[0].Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && m.Questions[0].Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return packed
}

func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"https://a.example/x?y#z", "http://[::ffff:127.0.0.1]:80", "http://0x7f.1", "http://u:p@h", "//", "http://%00", "http://[fe80::1%25x]"} {
		f.Add(s)
	}
	hooks := webhook.New(webhook.Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		if hooks.CheckURL(raw) != nil {
			return
		}
		if strings.ContainsAny(raw, "@#\x00") && !strings.ContainsAny(strings.TrimPrefix(strings.TrimPrefix(raw, "https://"), "http://"), "/?") {
			t.Errorf("%q was taken", raw)
		}
	})
}
