package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"tenet/internal/client"
	"tenet/internal/gateway/extauthz"
	"tenet/internal/gateway/extmcp"
	"tenet/internal/rule"
	"tenet/internal/tlsfile"
	"tenet/internal/wire"
)

// Bounds of the server for gateways.
const (
	maxQuestions = 1000             // at once on one connection
	maxQuestion  = 2 * time.Minute  // for one answer
	maxIdle      = 15 * time.Minute // of a connection
	gatewaySlack = 1 << 20          // bytes of a question beside the body that it is about
)

// gateways answers gateways over gRPC. They ask through the API of this node, in process, each with the key in the metadata of its call.
type gateways struct {
	listen     string
	api        http.Handler
	maxBody    int64
	headers    []string // of HTTP requests that are facts
	log        *slog.Logger
	ready      func(context.Context) error
	needsKey   bool            // even while no key is in force
	tls        *tlsfile.Source // nil: without TLS
	whenFailed func(error)
}

// serve listens and answers in the background until stop is called, which lets calls finish until its context ends.
func (g *gateways) serve(ctx context.Context) (at net.Addr, stop func(context.Context) error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", g.listen)
	if err != nil {
		return nil, nil, err
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(g.maxBody) + gatewaySlack), grpc.MaxHeaderListSize(64 << 10), grpc.MaxConcurrentStreams(maxQuestions),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: maxIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(withTimeLeft),
	}
	if g.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(g.tls.Server(true, "h2"))))
	}
	server := grpc.NewServer(options...)
	extmcp.Register(server, extmcp.Config{Client: g.client, Logger: g.log})
	extauthz.Register(server, extauthz.Config{Client: g.client, Headers: g.headers, Logger: g.log})
	grpc_health_v1.RegisterHealthServer(server, gatewayHealth{ready: g.ready})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			g.whenFailed(err)
		}
	}()
	return listener.Addr(), func(ctx context.Context) error {
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			server.GracefulStop()
		}()
		select {
		case <-stopped:
		case <-ctx.Done():
			server.Stop() // gateways that still wait have had their time
			<-stopped
		}
		<-ended
		return nil
	}, nil
}

// GRPCAddr is the address on which the node answers gateways; empty if it does not.
func (a *App) GRPCAddr() string {
	if a.grpcAddr == nil {
		return ""
	}
	return a.grpcAddr.String()
}

// withTimeLeft ends the evaluation some time before the caller stops to wait, so that a refusal reaches it: what a gateway makes of no
// answer is up to its settings.
func withTimeLeft(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	left := maxQuestion
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
		left -= min(left/10, time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return handle(ctx, req)
}

// client returns a client of the API with the key in the metadata of a call.
func (g *gateways) client(ctx context.Context) (*client.Client, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	key, err := gatewayKey(md)
	if err != nil {
		return nil, err
	}
	if key == "" && g.needsKey {
		return nil, rule.Errorf(rule.CodeUnauthenticated, "an API key is needed; send it in the metadata as authorization: Bearer tnt_... or as x-api-key")
	}
	project, err := single(md, "tenet-project")
	if err != nil {
		return nil, err
	}
	c, err := client.New("http://localhost", key, &http.Client{Transport: client.InProcess(fromPeer{g.api})})
	if err != nil {
		return nil, err
	}
	var acting wire.Acting
	for _, f := range []struct {
		name string
		to   *string
	}{{"tenet-on-behalf-of", &acting.OnBehalfOf}, {"tenet-agent", &acting.Agent}, {"tenet-session", &acting.Session}} {
		if *f.to, err = single(md, f.name); err != nil {
			return nil, err
		}
	}
	return client.Acting(c.InProject(project), acting), nil
}

// gatewayKey returns the key in the metadata of a call, by the rules of the API; empty for none.
func gatewayKey(md metadata.MD) (string, error) {
	authorization, err := single(md, "authorization")
	if err != nil {
		return "", err
	}
	key, err := single(md, "x-api-key")
	if err != nil || authorization == "" {
		return key, err
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", rule.Errorf(rule.CodeUnauthenticated, "authorization in the metadata must be Bearer and an API key")
	}
	if key != "" && key != token {
		return "", rule.Errorf(rule.CodeUnauthenticated, "authorization and x-api-key in the metadata are two different keys; send one")
	}
	return token, nil
}

// single returns the value of a name in the metadata; empty for none.
func single(md metadata.MD, name string) (string, error) {
	values := md.Get(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", rule.Errorf(rule.CodeUnauthenticated, "%s is in the metadata more than once", name)
}

// gatewayHealth says to gateways and load balancers whether the node can answer.
type gatewayHealth struct {
	grpc_health_v1.UnimplementedHealthServer

	ready func(context.Context) error
}

// Check implements the health protocol of gRPC.
func (h gatewayHealth) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	state := grpc_health_v1.HealthCheckResponse_SERVING
	if h.ready(ctx) != nil {
		state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return &grpc_health_v1.HealthCheckResponse{Status: state}, nil
}

// fromPeer gives requests in process the address of the gateway that has asked, which the networks of keys count by.
type fromPeer struct{ next http.Handler }

// ServeHTTP implements [http.Handler].
func (f fromPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p, ok := peer.FromContext(r.Context()); ok {
		r.RemoteAddr = p.Addr.String()
	}
	f.next.ServeHTTP(w, r)
}
