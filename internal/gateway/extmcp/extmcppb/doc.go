// Package extmcppb is the interface of ext_mcp.proto in Go, generated.
package extmcppb

//go:generate env GOWORK=off go -C ../../../../tools run ./protogen ../internal/gateway/extmcp/extmcppb ext_mcp.proto
