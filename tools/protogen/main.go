// Command protogen writes the Go code of .proto files, with the pinned generators of this module and without protoc:
//
//	cd tools && GOWORK=off go run ./protogen FOLDER FILE.proto...
//
// Files are looked for in FOLDER, and the code is written beside them.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugins are the generators, which read a request on standard input and write an answer to standard output.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: protogen FOLDER FILE.proto")
	}
	folder, names := args[0], args[1:]
	request, err := compile(ctx, folder, names)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		answer, err := generate(ctx, plugin, request)
		if err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
		for _, file := range answer.File {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(file.GetName())), []byte(file.GetContent()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// compile reads files of a folder and returns what a generator is asked, with comments.
func compile(ctx context.Context, folder string, names []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{folder}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range files {
		add(file)
	}
	return request, nil
}

// generate asks one generator.
func generate(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	input, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, errors.New(answer.GetError())
	}
	return &answer, nil
}
