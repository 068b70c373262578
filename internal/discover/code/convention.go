package code

import (
	"slices"
	"strings"

	"tenet/internal/rule"
)

// convention is an answer that makes a rule when nearly all places give it.
type convention struct {
	question, choice string
	words            string // written with must; it becomes should where some place breaks it
	places           string // what was counted
	severity         rule.Severity
	tags             []string
	// paths are its files: nil for all of its language.
	paths   []string
	exclude []string
	// regex finds a line that breaks it with next to no false alarms; empty if none does. both says that a file without a hit
	// keeps the rule.
	regex  string
	unless string
	both   bool
}

func (c *convention) language() string {
	language, _, _ := strings.Cut(c.question, ".")
	if language == script {
		return "typescript"
	}
	return language
}

var globs = map[string][]string{
	golang: {"**/*.go"}, python: {"**/*.py"}, "typescript": {"**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}"},
}

// Files of tests, where a convention is only about other code.
var (
	goTests     = []string{"**/*_test.go"}
	pythonTests = []string{"**/test_*.py", "**/*_test.py", "**/tests/**", "**/test/**", "**/conftest.py"}
	scriptTests = []string{"**/*.{test,spec}.*", "**/__tests__/**", "**/tests/**", "**/test/**", "**/e2e/**"}
)

func (c *convention) appliesTo(s *survey) *rule.AppliesTo {
	a := &rule.AppliesTo{Paths: c.paths, ExcludePaths: slices.Clone(c.exclude)}
	if a.Paths == nil {
		a.Paths = globs[c.language()]
	}
	if c.question == "go.print" {
		for dir := range s.mains {
			a.ExcludePaths = append(a.ExcludePaths, dir)
		}
		slices.Sort(a.ExcludePaths)
		if len(a.ExcludePaths) > rule.MaxListItems {
			a.ExcludePaths = a.ExcludePaths[:rule.MaxListItems]
		}
	}
	return a
}

func (c *convention) check(where *rule.AppliesTo, statement string) *rule.Check {
	if c.regex == "" || len(where.ExcludePaths) == rule.MaxListItems {
		return nil
	}
	decides := rule.DenyOnly
	if c.both {
		decides = rule.Both
	}
	return &rule.Check{Decides: decides, Message: statement, Pattern: &rule.Pattern{
		Regex: c.regex, Unless: c.unless, Paths: where.Paths, ExcludePaths: where.ExcludePaths, Lines: rule.LinesAdded,
	}}
}

// plain is the beginning of a line up to where a text or a comment may begin.
const plain = "^[^\"'`/#*]*"

// conventions are all that is looked for. Alternatives of one question stand together.
var conventions = slices.Concat(goConventions, pythonConventions, scriptConventions)

var goConventions = []convention{
	{question: "go.wrap", choice: "yes", words: "Errors that are passed on with fmt.Errorf must be wrapped with %w.", places: "calls of fmt.Errorf that are given an error", severity: rule.Medium, tags: []string{"errors"}, regex: `\bfmt\.Errorf\("[^"%]*%[vs]", err\)`},
	{question: "go.checked", choice: "yes", words: "The error of a call must be checked, not dropped.", places: "results of calls that are assigned to err, or to the blank identifier alone", severity: rule.High, tags: []string{"errors"}, exclude: goTests, regex: `^\s*_ = [\w.]+\([^"]*\)\s*$`},
	{question: "go.sentinel", choice: "yes", words: "Sentinel errors must be named with the prefix Err.", places: "package variables made with errors.New or fmt.Errorf", severity: rule.Low, tags: []string{"errors", "naming"}},
	{question: "go.errortext", choice: "yes", words: "Error messages must begin in lower case and have no full stop.", places: "literal messages of errors.New and fmt.Errorf", severity: rule.Low, tags: []string{"errors"}},
	{question: "go.errornew", choice: "yes", words: "Errors without formatting must be made with errors.New, not with fmt.Errorf.", places: "errors with a constant message", severity: rule.Low, tags: []string{"errors"}, regex: `\bfmt\.Errorf\("[^"%]*"\)`, both: true},
	{question: "go.errorsis", choice: "yes", words: "Errors must be compared with errors.Is, not with ==.", places: "comparisons of err with other errors", severity: rule.Medium, tags: []string{"errors"}, regex: plain + `\berr [!=]= (\w+\.)?(Err[A-Z]\w*|EOF)\b`},
	{question: "go.doc", choice: "yes", words: "Exported functions, methods and types must have a doc comment that begins with the name.", places: "exported declarations outside of tests", severity: rule.Low, tags: []string{"documentation"}, exclude: goTests},
	{question: "go.packagedoc", choice: "yes", words: "Packages must have a package comment.", places: "packages", severity: rule.Low, tags: []string{"documentation"}},
	{question: "go.logger", choice: "log/slog", words: "Code must log with log/slog.", places: "imports of logging packages", severity: rule.Low, tags: []string{"logging"}, regex: `^\s*(import\s+)?"log"\s*$`},
	{question: "go.logger", choice: "log", words: "Code must log with the standard package log.", places: "imports of logging packages", severity: rule.Low, tags: []string{"logging"}},
	{question: "go.logger", choice: "zap", words: "Code must log with zap.", places: "imports of logging packages", severity: rule.Low, tags: []string{"logging"}, regex: `^\s*(import\s+)?"log(/slog)?"\s*$`},
	{question: "go.logger", choice: "zerolog", words: "Code must log with zerolog.", places: "imports of logging packages", severity: rule.Low, tags: []string{"logging"}, regex: `^\s*(import\s+)?"log(/slog)?"\s*$`},
	{question: "go.logger", choice: "logrus", words: "Code must log with logrus.", places: "imports of logging packages", severity: rule.Low, tags: []string{"logging"}, regex: `^\s*(import\s+)?"log(/slog)?"\s*$`},
	{question: "go.print", choice: "yes", words: "Packages other than main must not print to the standard output.", places: "files outside of main packages and tests", severity: rule.Medium, tags: []string{"logging"}, exclude: goTests, regex: `^\s*fmt\.Print(f|ln)?\(`},
	{question: "go.imports", choice: "yes", words: "Imports of the standard library must stand in a group of their own before the others.", places: "files that import both", severity: rule.Low, tags: []string{"imports"}},
	{question: "go.receiver", choice: "yes", words: "All receivers of a type must have the same name.", places: "types with several methods", severity: rule.Low, tags: []string{"naming"}},
	{question: "go.context", choice: "yes", words: "A context must be the first parameter of a function.", places: "functions that take a context", severity: rule.Low, tags: []string{"design"}},
	{question: "go.testpackage", choice: "outside", words: "Tests must be in a package of their own with the suffix _test.", places: "test files", severity: rule.Low, tags: []string{"testing"}, paths: goTests},
	{question: "go.testpackage", choice: "inside", words: "Tests must be in the package that they test.", places: "test files", severity: rule.Low, tags: []string{"testing"}, paths: goTests, regex: `^package \w+_test\b`},
	{question: "go.parallel", choice: "yes", words: "Tests must call t.Parallel.", places: "test functions", severity: rule.Low, tags: []string{"testing"}, paths: goTests},
	{question: "go.helper", choice: "yes", words: "Helpers of tests must call t.Helper.", places: "functions in tests that take a *testing.T and can fail it", severity: rule.Low, tags: []string{"testing"}, paths: goTests},
	{question: "go.any", choice: "yes", words: "The empty interface must be written any.", places: "empty interfaces", severity: rule.Low, tags: []string{"formatting"}, regex: plain + `\binterface\{\}`},
	{question: "go.mixedcaps", choice: "yes", words: "Names of functions and types must be in mixed caps, without underscores.", places: "functions and types outside of tests", severity: rule.Low, tags: []string{"naming"}, exclude: goTests, regex: `^func (\([^)]*\) )?[A-Za-z0-9]+_\w+\(`},
	{question: "go.initialism", choice: "yes", words: "Initialisms in names, such as ID and URL, must be in capitals.", places: "declared names with an initialism", severity: rule.Low, tags: []string{"naming"}},
	{question: "go.filename", choice: "snake", words: "File names of Go code must be in snake_case.", places: "file names of several words", severity: rule.Low, tags: []string{"naming"}},
	{question: "go.json", choice: "snake", words: "Names of fields in JSON must be in snake_case.", places: "json tags of several words", severity: rule.Medium, tags: []string{"naming", "api"}, regex: "`[^`]*json:\"[a-z0-9]+[A-Z]", both: true},
	{question: "go.json", choice: "camel", words: "Names of fields in JSON must be in camelCase.", places: "json tags of several words", severity: rule.Medium, tags: []string{"naming", "api"}, regex: "`[^`]*json:\"[A-Za-z0-9]+_", both: true},
	{question: "go.licence", choice: "yes", words: "Go files must begin with a licence header such as: %s", places: "files that are not generated", severity: rule.Low, tags: []string{"licence"}},
	{question: "go.generated", choice: "yes", words: "Files that are marked as generated must not be edited by hand; change what they are made from.", places: "files with the mark of a generator, which are committed here", severity: rule.Medium, tags: []string{"generated"}},
}

var pythonConventions = []convention{
	{question: "python.function", choice: "yes", words: "Function names must be in snake_case.", places: "functions and methods", severity: rule.Low, tags: []string{"naming"}, regex: `^\s*(async\s+)?def\s+[a-z]+[A-Z]\w*\s*\(`, both: true},
	{question: "python.class", choice: "yes", words: "Class names must be in CapWords.", places: "classes", severity: rule.Low, tags: []string{"naming"}, regex: `^\s*class\s+[a-z]\w*\s*[:(]`},
	{question: "python.filename", choice: "snake", words: "File names of Python code must be in snake_case.", places: "file names of several words", severity: rule.Low, tags: []string{"naming"}},
	{question: "python.moduledoc", choice: "yes", words: "Modules must have a docstring.", places: "modules outside of tests", severity: rule.Low, tags: []string{"documentation"}, exclude: pythonTests},
	{question: "python.classdoc", choice: "yes", words: "Public classes must have a docstring.", places: "public classes outside of tests", severity: rule.Low, tags: []string{"documentation"}, exclude: pythonTests},
	{question: "python.functiondoc", choice: "yes", words: "Public functions and methods must have a docstring.", places: "public functions outside of tests", severity: rule.Low, tags: []string{"documentation"}, exclude: pythonTests},
	{question: "python.returns", choice: "yes", words: "Functions must declare the type of their result.", places: "functions outside of tests", severity: rule.Low, tags: []string{"types"}, exclude: pythonTests},
	{question: "python.bare", choice: "yes", words: "Code must not catch exceptions with a bare except.", places: "except clauses", severity: rule.High, tags: []string{"errors"}, regex: `^\s*except\s*:\s*(#.*)?$`, both: true},
	{question: "python.broad", choice: "yes", words: "Except clauses must name specific exceptions, not Exception.", places: "except clauses", severity: rule.Medium, tags: []string{"errors"}, regex: `^\s*except\s+(Base)?Exception\b`},
	{question: "python.from", choice: "yes", words: "An exception raised in an except clause must name its cause with from.", places: "exceptions raised in except clauses", severity: rule.Medium, tags: []string{"errors"}},
	{question: "python.print", choice: "yes", words: "Modules must not call print.", places: "modules outside of tests and scripts", severity: rule.Medium, tags: []string{"logging"}, exclude: pythonTests, regex: `^\s*print\(`},
	{question: "python.logger", choice: "name", words: "Loggers must be made with logging.getLogger(__name__).", places: "calls of logging.getLogger", severity: rule.Low, tags: []string{"logging"}, regex: `\bgetLogger\(["']`},
	{question: "python.relative", choice: "absolute", words: "Modules must be imported by absolute paths, never by relative ones.", places: "imports of the project's own modules", severity: rule.Low, tags: []string{"imports"}, regex: `^\s*from\s+\.+[\w.]*\s+import\b`, both: true},
	{question: "python.relative", choice: "relative", words: "Modules of the same package must be imported by relative paths.", places: "imports of the project's own modules", severity: rule.Low, tags: []string{"imports"}},
	{question: "python.star", choice: "yes", words: "Code must not import all names of a module with *.", places: "from imports", severity: rule.Medium, tags: []string{"imports"}, regex: `^\s*from\s+[\w.]+\s+import\s+\*`, both: true},
	{question: "python.order", choice: "yes", words: "Imports of the standard library must stand before the others.", places: "files that import both", severity: rule.Low, tags: []string{"imports"}},
	{question: "python.future", choice: "yes", words: "Modules must import annotations from __future__.", places: "modules with imports", severity: rule.Low, tags: []string{"imports", "types"}},
	{question: "python.quotes", choice: "double", words: "Strings must be in double quotes.", places: "strings", severity: rule.Low, tags: []string{"formatting"}},
	{question: "python.quotes", choice: "single", words: "Strings must be in single quotes.", places: "strings", severity: rule.Low, tags: []string{"formatting"}},
	{question: "python.format", choice: "f", words: "Values must be put into strings with f-strings.", places: "formatted strings", severity: rule.Low, tags: []string{"formatting"}},
	{question: "python.format", choice: "percent", words: "Values must be put into strings with the % operator.", places: "formatted strings", severity: rule.Low, tags: []string{"formatting"}},
	{question: "python.path", choice: "pathlib", words: "Paths must be handled with pathlib, not with os.path.", places: "uses of pathlib.Path and os.path", severity: rule.Low, tags: []string{"design"}, regex: plain + `\bos\.path\.\w+\(`},
	{question: "python.testname", choice: "before", words: "Test files must be named with the prefix test_.", places: "test files", severity: rule.Low, tags: []string{"testing", "naming"}, paths: pythonTests},
	{question: "python.testname", choice: "after", words: "Test files must be named with the suffix _test.", places: "test files", severity: rule.Low, tags: []string{"testing", "naming"}, paths: pythonTests},
	{question: "python.testplace", choice: "apart", words: "Tests must be in a folder for tests, apart from the code.", places: "test files", severity: rule.Low, tags: []string{"testing"}, paths: pythonTests},
	{question: "python.testplace", choice: "beside", words: "Tests must be beside the code that they test.", places: "test files", severity: rule.Low, tags: []string{"testing"}, paths: pythonTests},
	{question: "python.assert", choice: "assert", words: "Tests must use plain assert statements.", places: "assertions in tests", severity: rule.Low, tags: []string{"testing"}, paths: pythonTests, regex: `^\s*self\.assert[A-Z]\w*\(`},
	{question: "python.assert", choice: "unittest", words: "Tests must use the assertions of unittest.", places: "assertions in tests", severity: rule.Low, tags: []string{"testing"}, paths: pythonTests},
	{question: "python.licence", choice: "yes", words: "Python files must begin with a licence header such as: %s", places: "files that are not generated", severity: rule.Low, tags: []string{"licence"}},
	{question: "python.generated", choice: "yes", words: "Files that are marked as generated must not be edited by hand; change what they are made from.", places: "files with the mark of a generator, which are committed here", severity: rule.Medium, tags: []string{"generated"}},
}

var scriptConventions = []convention{
	{question: "script.function", choice: "camel", words: "Names of functions must be in camelCase, and those of components in PascalCase.", places: "function declarations", severity: rule.Low, tags: []string{"naming"}, regex: `^\s*(export\s+)?(default\s+)?(async\s+)?function\s+[a-z]+_\w+\s*\(`},
	{question: "script.type", choice: "pascal", words: "Names of classes, interfaces, types and enums must be in PascalCase.", places: "declarations of types", severity: rule.Low, tags: []string{"naming"}, regex: `^\s*(export\s+)?(class|interface|enum)\s+[a-z]\w*\b\s*[<{]`},
	{question: "script.filename", choice: "kebab", words: "File names must be in kebab-case.", places: "file names of several words", severity: rule.Low, tags: []string{"naming"}},
	{question: "script.filename", choice: "camel", words: "File names must be in camelCase.", places: "file names of several words", severity: rule.Low, tags: []string{"naming"}},
	{question: "script.filename", choice: "snake", words: "File names must be in snake_case.", places: "file names of several words", severity: rule.Low, tags: []string{"naming"}},
	{question: "script.filename", choice: "pascal", words: "File names must be in PascalCase.", places: "file names of several words", severity: rule.Low, tags: []string{"naming"}},
	{question: "script.componentname", choice: "pascal", words: "Files of components must be named in PascalCase.", places: "names of files with JSX", severity: rule.Low, tags: []string{"naming"}, paths: []string{"**/*.{tsx,jsx}"}},
	{question: "script.componentname", choice: "kebab", words: "Files of components must be named in kebab-case.", places: "names of files with JSX", severity: rule.Low, tags: []string{"naming"}, paths: []string{"**/*.{tsx,jsx}"}},
	{question: "script.quotes", choice: "double", words: "Strings must be in double quotes.", places: "strings", severity: rule.Low, tags: []string{"formatting"}, regex: `^\s*import\s[^"]*'[^'"]*';?\s*$`},
	{question: "script.quotes", choice: "single", words: "Strings must be in single quotes.", places: "strings", severity: rule.Low, tags: []string{"formatting"}, regex: `^\s*import\s[^']*"[^'"]*";?\s*$`},
	{question: "script.semicolons", choice: "yes", words: "Statements must end with a semicolon.", places: "imports and returns", severity: rule.Low, tags: []string{"formatting"}, regex: `^import\s.*\bfrom\s+["'][^"']+["']\s*$`},
	{question: "script.semicolons", choice: "no", words: "Statements must not end with a semicolon.", places: "imports and returns", severity: rule.Low, tags: []string{"formatting"}, regex: `^import\s.*\bfrom\s+["'][^"']+["'];\s*$`},
	{question: "script.exports", choice: "named", words: "Modules must export by name, not as default.", places: "exports", severity: rule.Low, tags: []string{"imports"}, regex: `^\s*export\s+default\b`, both: true},
	{question: "script.modules", choice: "import", words: "Modules must be imported with import, not with require.", places: "imports", severity: rule.Low, tags: []string{"imports"}, regex: `^\s*(const|let|var)\s.*=\s*require\(`},
	{question: "script.modules", choice: "require", words: "Modules must be imported with require.", places: "imports", severity: rule.Low, tags: []string{"imports"}},
	{question: "script.node", choice: "yes", words: "Modules of Node.js must be imported with the prefix node:.", places: "imports of modules of Node.js", severity: rule.Low, tags: []string{"imports"}, regex: `^\s*import\s.*\bfrom\s+['"](fs|path|os|http|https|crypto|util|child_process|url|stream|events|assert|buffer|zlib)(/promises)?['"]`},
	{question: "script.alias", choice: "alias", words: "The project's own modules must be imported through the path alias, not by relative paths.", places: "imports of the project's own modules", severity: rule.Low, tags: []string{"imports"}},
	{question: "script.alias", choice: "relative", words: "The project's own modules must be imported by relative paths.", places: "imports of the project's own modules", severity: rule.Low, tags: []string{"imports"}},
	{question: "script.extension", choice: "yes", words: "Relative imports must name the file extension.", places: "relative imports", severity: rule.Low, tags: []string{"imports"}},
	{question: "script.extension", choice: "no", words: "Relative imports must not name the file extension.", places: "relative imports", severity: rule.Low, tags: []string{"imports"}},
	{question: "script.console", choice: "yes", words: "Modules must not write to the console.", places: "files outside of tests", severity: rule.Medium, tags: []string{"logging"}, exclude: scriptTests, regex: `^\s*console\.(log|debug|info|warn|error)\(`},
	{question: "script.catch", choice: "yes", words: "Catch clauses must not be empty.", places: "catch clauses", severity: rule.High, tags: []string{"errors"}, regex: plain + `\bcatch\s*(\([^)]*\))?\s*\{\s*\}`},
	{question: "script.throw", choice: "yes", words: "Code must throw Error objects only.", places: "throw statements", severity: rule.Medium, tags: []string{"errors"}, regex: `^\s*throw\s+["'` + "`" + `{]`},
	{question: "script.equality", choice: "yes", words: "Code must compare with === and !==, except with null.", places: "comparisons", severity: rule.Medium, tags: []string{"correctness"}, regex: plain + `[\w)\]]\s+[!=]=\s+[\w(]`, unless: `[!=]=\s+null\b`},
	{question: "script.var", choice: "yes", words: "Variables must be declared with let or const, never with var.", places: "declarations of variables", severity: rule.Medium, tags: []string{"correctness"}, regex: `^\s*(export\s+)?var\s+[A-Za-z_$\[{]`, both: true},
	{question: "script.any", choice: "yes", words: "TypeScript code must not use the type any.", places: "TypeScript files outside of tests", severity: rule.Medium, tags: []string{"types"}, paths: []string{"**/*.{ts,tsx,mts,cts}"}, exclude: scriptTests, regex: plain + `[\w)\]?]\s*:\s*any\s*([;,)=\[{]|$)`},
	{question: "script.doc", choice: "yes", words: "Exported functions and classes must have a JSDoc comment.", places: "exported functions and classes outside of tests", severity: rule.Low, tags: []string{"documentation"}, exclude: scriptTests},
	{question: "script.async", choice: "await", words: "Promises must be awaited, not chained with then.", places: "uses of await and then", severity: rule.Low, tags: []string{"design"}},
	{question: "script.objects", choice: "interface", words: "Object types must be defined as interfaces.", places: "definitions of object types", severity: rule.Low, tags: []string{"types"}, paths: []string{"**/*.{ts,tsx,mts,cts}"}},
	{question: "script.objects", choice: "type", words: "Object types must be defined as type aliases.", places: "definitions of object types", severity: rule.Low, tags: []string{"types"}, paths: []string{"**/*.{ts,tsx,mts,cts}"}},
	{question: "script.testname", choice: "test", words: "Test files must be named with the suffix .test.", places: "test files", severity: rule.Low, tags: []string{"testing", "naming"}},
	{question: "script.testname", choice: "spec", words: "Test files must be named with the suffix .spec.", places: "test files", severity: rule.Low, tags: []string{"testing", "naming"}},
	{question: "script.testplace", choice: "beside", words: "Tests must be beside the code that they test.", places: "test files", severity: rule.Low, tags: []string{"testing"}},
	{question: "script.testplace", choice: "apart", words: "Tests must be in a folder for tests, apart from the code.", places: "test files", severity: rule.Low, tags: []string{"testing"}},
	{question: "script.licence", choice: "yes", words: "Source files must begin with a licence header such as: %s", places: "files that are not generated", severity: rule.Low, tags: []string{"licence"}},
	{question: "script.generated", choice: "yes", words: "Files that are marked as generated must not be edited by hand; change what they are made from.", places: "files with the mark of a generator, which are committed here", severity: rule.Medium, tags: []string{"generated"}},
}
