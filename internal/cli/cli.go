// Package cli is the command line. It speaks to a server through package client: over HTTP, or in process to a node of its
// own, so that both ways go through the same validation and authorisation.
//
// # Where things are
//
//	cli.go        the grammar of all commands, exit codes, Main
//	session.go    one run: streams, environment, colours, progress; pager.go and output.go print
//	connect.go    the client that a command works with: of a server, or of a node in process (local.go)
//	NOUN.go       the commands of a noun, such as rules.go, keys.go, queue.go; NOUN_VERB.go the larger ones
//	check*.go     tenet check: what is judged, what it is compared with; undecided.go and trust.go say what follows
//	hook*.go      the hooks of agents and of git: answering, installing, proving
//	serve.go      servers; edge.go edges
//
// A new command is a struct with the method Run, and a field of the grammar or of the commands of its noun.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"tenet/internal/client"
	"tenet/internal/rule"
)

// Exit codes.
const (
	exitOK          = 0
	exitFound       = 1   // violations, a broken audit chain, or a plan with changes under --exit-code
	exitFailed      = 2   // could not do it, usage errors included
	exitInterrupted = 130 // by a signal, as shells count
)

// grammar is the whole command line.
type grammar struct {
	globals

	Check       checkCommand        `cmd:"" help:"Judge a diff, files, facts or an action by the rules."`
	Review      reviewCommand       `cmd:"" help:"Write the findings of a check beside the lines of a pull or merge request."`
	Submit      submitCommand       `cmd:"" help:"Judge a subject of any kind, given as JSON."`
	Ask         askCommand          `cmd:"" data:"read" help:"Ask a question about the rules."`
	Author      authorCommand       `cmd:"" help:"Draft a rule from a description."`
	Hook        hookCommands        `cmd:"" help:"Connect coding agents, editors and git, so that they ask before they act."`
	Evaluations evaluationsCommands `cmd:"" help:"Find recorded evaluations by rule, fact, words, time and more."`
	Replay      replayCommand       `cmd:"" help:"Decide a recorded evaluation again and compare."`
	Feedback    feedbackCommand     `cmd:"" help:"Say whether a verdict was right."`
	Waive       waiveCommand        `cmd:"" help:"Waive a violation, by its fingerprint in a report, until a date."`
	Retention   retentionCommands   `cmd:"" help:"How long records are kept."`
	Privacy     privacyCommands     `cmd:"" help:"Personal data in records, and their removal."`
	Holds       holdsCommands       `cmd:"" help:"Legal holds: records that no job deletes."`
	Waivers     waiversCommands     `cmd:"" help:"Waive a violation until a date."`
	Approvals   approvalsCommands   `cmd:"" help:"Confirm actions that need confirmation."`
	Serve       serveCommand        `cmd:"" help:"Serve the HTTP API."`
	Health      healthCommand       `cmd:"" help:"Ask a server whether it can evaluate."`
	Fleet       fleetCommands       `cmd:"" help:"List, pin, pause and forget edges."`
	Edge        edgeCommand         `cmd:"" help:"Evaluate beside the caller, from signed bundles, without a database server."`
	Witness     witnessCommand      `cmd:"" help:"Cosign the checkpoints of audit logs, as a witness."`
	MCP         mcpCommand          `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output."`
	Gateway     gatewayCommands     `cmd:"" help:"Guard MCP servers: what agents ask of them is evaluated first."`
	Projects    projectsCommands    `cmd:"" help:"List, show, make and change projects."`
	Policy      policyCommands      `cmd:"" help:"Bound what callers may leave out, and decide about what no rule covers."`
	Rules       rulesCommands       `cmd:"" help:"Write, change, approve, publish, list and export rules, and apply them from files."`
	Nodes       nodesCommands       `cmd:"" help:"Set which rules apply where in an organization."`
	Search      searchCommand       `cmd:"" help:"Find rules by words, meaning, time, source, conflict, person or situation."`
	Documents   documentsCommands   `cmd:"" help:"Upload, read and search the documents that rules come from."`
	Scan        scanCommand         `cmd:"" help:"Find candidate rules in policies, instructions to assistants, linter settings and code."`
	Queue       queueCommands       `cmd:"" help:"List and decide what waits for a person."`
	Candidates  candidatesCommands  `cmd:"" help:"List, approve and dismiss candidate rules."`
	Conflicts   conflictsCommands   `cmd:"" help:"Decide on rules that contradict each other."`
	Cases       casesCommands       `cmd:"" help:"List, generate, confirm and delete the test cases of a rule."`
	Test        testCommand         `cmd:"" help:"Run the test cases of rules."`
	Eval        evalCommand         `cmd:"" help:"Measure a model by labelled cases."`
	Model       modelCommands       `cmd:"" help:"Measure how a model is best asked."`
	Snapshots   snapshotsCommands   `cmd:"" help:"Take snapshots of the rules, deploy them, roll back."`
	Bundle      bundleCommands      `cmd:"" help:"Build, move and verify the signed files that edges evaluate from."`
	Insights    insightsCommand     `cmd:"" help:"Show how rules were judged, and which need attention."`
	Report      reportCommand       `cmd:"" help:"Report a month against the one before."`
	Alerts      alertsCommands      `cmd:"" help:"List, acknowledge and resolve alerts about rules."`
	Webhooks    webhooksCommands    `cmd:"" help:"Send events to other systems."`
	Audit       auditCommands       `cmd:"" help:"Verify the audit chain."`
	Login       loginCommand        `cmd:"" help:"Sign in to a server at its identity provider."`
	Logout      logoutCommand       `cmd:"" help:"Forget the sign-in to a server on this machine."`
	Whoami      whoamiCommand       `cmd:"" help:"Show the name and the roles under which commands act."`
	Keys        keysCommands        `cmd:"" help:"Make, list, rotate and revoke API keys."`
	Agents      agentsCommands      `cmd:"" help:"List, suspend and resume the agents that act for people."`
	Cache       cacheCommands       `cmd:"" help:"Show and delete stored verdicts of the judge."`
	Jobs        jobsCommands        `cmd:"" help:"List, retry and cancel background jobs."`
	Servers     serversCommand      `cmd:"" help:"List the servers of the cluster and how they fare with their models."`
	Usage       usageCommand        `cmd:"" data:"read" help:"Sum up calls, tokens and cost of models."`
	Backup      backupCommand       `cmd:"" help:"Copy the embedded database while it is in use, and check the copy."`
	Restore     restoreCommand      `cmd:"" help:"Make a copy the embedded database."`
	DB          dbCommands          `cmd:"" name:"db" help:"Bring the database up to date, and spread it over servers."`
	Config      configCommands      `cmd:"" help:"Show the settings in force."`
	Doctor      doctorCommand       `cmd:"" help:"Look for what is wrong with the settings, the server, the models, the clocks and the hooks."`
	Upgrade     upgradeCommand      `cmd:"" help:"Ask whether a newer release exists."`
	Completion  completionCommand   `cmd:"" data:"grammar" help:"Print a script by which a shell completes commands and flags."`
	Man         manCommand          `cmd:"" data:"grammar" help:"Print the manual page of a command, or write all of them."`
	Version     versionCommand      `cmd:"" help:"Print the version."`
}

// globals are the flags of all commands.
type globals struct {
	Server      string `type:"filled" placeholder:"URL" help:"Use the server at this address instead of working embedded ($$TENET_SERVER)."`
	Key         string `type:"filled" placeholder:"KEY" help:"API key for the server ($$TENET_KEY or $$TENET_API_KEY)."`
	Project     string `type:"filled" short:"p" placeholder:"ID" help:"Project to work in; default is the project default ($$TENET_PROJECT)."`
	Data        string `type:"filled" placeholder:"DIR" help:"Folder of the embedded database ($$TENET_DATA). Default is the user's data folder."`
	DatabaseURL string `type:"filled" name:"database-url" placeholder:"URL" help:"PostgreSQL database instead of the embedded one ($$TENET_DATABASE_URL)."`
	Config      string `type:"filled" placeholder:"FILE" help:"Settings file ($$TENET_CONFIG). Default is tenet.yaml in the current folder, and else in tenet/ of the user's configuration folder; commands that judge skip that of the current folder."`
	Color       string `enum:"auto,always,never" default:"auto" help:"Colours: ${enum}. auto is on a terminal, unless $$NO_COLOR is set."`
	NoPager     bool   `help:"Print long output as it is, instead of showing it in $$TENET_PAGER, $$PAGER or less on a terminal."`
}

// exit ends a command with a code and without a message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// left is how kong's --help leaves the parser.
type left int

// Main runs a command line (without the program's name) and returns its exit code. It ends when ctx does.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	s := &session{stdin: stdin, in: interruptible{ctx, stdin}, out: stdout, err: stderr, env: lookup(environ), isSet: naming(environ)}
	err := s.run(ctx, args)
	return s.conclude(ctx, err)
}

func (s *session) run(ctx context.Context, args []string) (err error) {
	defer func() {
		v := recover()
		if code, ok := v.(left); ok {
			err = exit(code)
		} else if v != nil {
			panic(v)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	switch args[0] {
	case "help": // as in git and go
		args = append(slices.Clone(args[1:]), "--help")
	case "--version":
		args = []string{"version"}
	}
	command, err := parse(ctx, s, afterTo(args))
	if err != nil {
		return usage(err)
	}
	s.colour = s.wantsColour()
	stop := func() error { return nil }
	if err := command.BindSingletonProvider(func() (c *client.Client, err error) {
		c, stop, err = s.connect(ctx, needs[command.Selected().Tag.Get("data")], defaultSettings())
		if err != nil {
			stop = func() error { return nil }
		}
		return c, err
	}); err != nil {
		return err
	}
	return closed(command.Run(), stop)
}

// parse reads a command line. A parser of all commands takes ten times as long to make as one of a single command, and agents wait
// for commands: so the command that the line begins with is tried alone first. What it does not read is read again by all, which know what was
// meant.
func parse(ctx context.Context, s *session, args []string) (*kong.Context, error) {
	g := &grammar{}
	s.globals = &g.globals
	options := []kong.Option{
		kong.Name("tenet"),
		kong.Description("Tenet stores rules and answers, with evidence, whether a change, a payment or an action keeps them."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(left(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoExpandSubcommands: true}),
		kong.NamedMapper("filled", kong.MapperFunc(filled)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	}
	if alone := g.command(args[0]); alone != nil {
		parser, err := kong.New(&g.globals, append(slices.Clone(options), alone)...)
		if err != nil {
			return nil, err
		}
		if command, err := parser.Parse(args); err == nil {
			return command, nil
		}
		*g = grammar{}
	}
	parser, err := kong.New(g, options...)
	if err != nil {
		return nil, err
	}
	return parser.Parse(args)
}

// command is the option that gives a parser the command of that name; nil where there is none, or where it reads the grammar of all others.
func (g *grammar) command(name string) kong.Option {
	all := reflect.ValueOf(g).Elem()
	for field, value := range all.Fields() {
		tag := field.Tag
		if field.Anonymous || cmp.Or(tag.Get("name"), strings.ToLower(field.Name)) != name || tag.Get("data") == "grammar" {
			continue
		}
		return kong.DynamicCommand(name, tag.Get("help"), "", value.Addr().Interface(), fmt.Sprintf("data:%q", tag.Get("data")))
	}
	return nil
}

// filled reads a flag or an argument that must not be empty: an empty one is a variable of the caller that is not set, and leaving it out
// would judge something else, or by other rules.
func filled(c *kong.DecodeContext, target reflect.Value) error {
	var value string
	if err := c.Scan.PopValueInto("string", &value); err != nil {
		return err
	}
	if strings.TrimSpace(value) == "" {
		return errors.New("is empty; set the variable that it comes from, or leave it out")
	}
	target.SetString(value)
	return nil
}

// usage adds to an error how to get help on the command.
func usage(err error) error {
	at := "tenet"
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil && e.Context.Selected() != nil {
		at = e.Context.Selected().FullPath()
	}
	return fmt.Errorf("%w\nRun `%s --help` to see how it is used", err, at)
}

// conclude prints an error and returns the exit code.
func (s *session) conclude(ctx context.Context, err error) int {
	code, isExit := errors.AsType[exit](err)
	switch {
	case err == nil:
		return exitOK
	case isExit:
		return int(code)
	case errors.Is(err, syscall.EPIPE):
		return exitFailed // the reader has gone; nobody reads the message
	case ctx.Err() != nil:
		fmt.Fprintln(s.err, "tenet: interrupted")
		return exitInterrupted
	}
	printError(s, err)
	return exitFailed
}

// printError prints an error: the message, and each wrong field on a line of its own.
func printError(s *session, err error) {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || len(e.Fields) == 0 {
		fmt.Fprintf(s.err, "%s %s\n", s.red("tenet:"), err)
		printRequest(s, err)
		return
	}
	// The text that wraps the error precedes it, and stays.
	before, _, found := strings.Cut(err.Error(), e.Error())
	if !found {
		before = ""
	}
	fmt.Fprintf(s.err, "%s %s%s\n", s.red("tenet:"), before, e.Message)
	in, _ := errors.AsType[*filesError](err)
	for i, f := range e.Fields {
		fmt.Fprintf(s.err, "  %s: %s\n", s.bold(f.Field), f.Message)
		if in != nil && in.excerpts[i] != "" {
			fmt.Fprintln(s.err, s.dim(in.excerpts[i]))
		}
	}
	printRequest(s, err)
}

// printRequest names the request in the server's log where the server is at fault.
func printRequest(s *session, err error) {
	if e, ok := errors.AsType[*client.Error](err); ok && e.Err.Code == rule.CodeInternal && e.RequestID != "" {
		fmt.Fprintf(s.err, "  request %s in the server's log\n", e.RequestID)
	}
}
