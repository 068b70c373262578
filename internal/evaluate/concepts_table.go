package evaluate

import (
	"cmp"
	"slices"
	"strings"
)

// Concepts of layout and of kinds of numbers. Those of the table follow.
const (
	blankLine = 1 + iota
	overlongLine
	tabs
	trailingSpace
	chainedLine
	leadingOperator
	trailingOperator
	trailingComma
	openedLine
	anyNumber
	allAddresses
	ownAddress
	hexadecimal
	octal
)

// maxConcepts is more than the concepts of the table.
const maxConcepts = 256

// conceptTable maps what code has to the words of rules about it.
var conceptTable = readConcepts()

type conceptsTable struct {
	texts []string       // by number; the first is none
	files map[string]int // by the name or ending of a file
	names map[string]int // by keywords and common names, in lower case
	signs [0x80][]sign   // by their first byte, the longest first
}

// sign is an operator, a bracket or the like.
type sign struct {
	text    string
	concept int
}

func readConcepts() *conceptsTable {
	t := &conceptsTable{
		texts: []string{
			blankLine: "blank empty line", overlongLine: "long line length", tabs: "tab indentation", trailingSpace: "trailing whitespace space",
			chainedLine: "method call chain line break", leadingOperator: "operator line break leading", trailingOperator: "line continuation line break trailing operator",
			trailingComma: "trailing comma line break", openedLine: "line break multiline", anyNumber: "numeric number literal",
			allAddresses: "bind all interfaces address", ownAddress: "localhost loopback address", hexadecimal: "hexadecimal number", octal: "octal number file permission mode",
		},
		files: map[string]int{}, names: map[string]int{},
	}
	t.read(conceptFiles, func(text string, concept int) { t.files[text] = concept })
	t.read(conceptNames, func(text string, concept int) { t.names[text] = concept })
	t.read(conceptSigns, func(text string, concept int) { t.signs[text[0]] = append(t.signs[text[0]], sign{text, concept}) })
	for _, signs := range t.signs {
		slices.SortStableFunc(signs, func(a, b sign) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return t
}

// read calls add for each word or sign of some lines, with the number of the concept behind the bar. In signs, \p is a bar.
func (t *conceptsTable) read(lines string, add func(text string, concept int)) {
	for line := range strings.Lines(lines) {
		texts, concept, ok := strings.Cut(line, " | ")
		if !ok {
			continue
		}
		for text := range strings.FieldsSeq(texts) {
			add(strings.ReplaceAll(text, `\p`, "|"), len(t.texts))
		}
		t.texts = append(t.texts, strings.TrimSpace(concept))
	}
}

// conceptFiles are the concepts of files: their languages and formats.
const conceptFiles = `
py pyi | python
go | go golang
js jsx mjs cjs | javascript
ts tsx mts cts | typescript
rb rake gemspec | ruby
rs | rust
java | java
kt kts | kotlin
scala | scala
php | php
c h | c language
cc cpp cxx hpp hh | c++ language
cs | c# csharp
swift | swift
sh bash zsh | shell bash script
sql | sql query
tf hcl | terraform
yaml yml | yaml configuration
json | json configuration
html htm | html markup
css scss less | css style
md rst adoc | markdown documentation
dockerfile | dockerfile docker container image
makefile mk | makefile build target
`

// conceptNames are the concepts of keywords and common names.
const conceptNames = `
if unless | conditional condition branch if statement
else elif elsif elseif | else branch conditional
switch case match select when | switch case branch match
default | default
for foreach while until loop do | loop iteration iterate
range | loop range iteration
enumerate | index enumerate iteration
break continue | loop control flow break continue
goto | goto jump label
return returns | return value
yield | generator yield
def fn func fun function proc sub | function method definition declaration
lambda | lambda anonymous function
args argv arg param params kwargs arguments | argument parameter
class | class type definition
struct record | struct type field
interface trait protocol | interface abstract type
enum | enum enumeration type
extends super inherits | inheritance superclass parent base class
abstract virtual override | abstract method overridden
self this cls | instance object method receiver
init initialize constructor new | constructor initializer initialization instance object
del delete destroy drop remove rm unlink | deletion delete remove
import require include use using from package module mod | import module dependency package
export exports | export module
try | exception error handling try block
except catch rescue | exception handler catch error handling
finally ensure | finally cleanup exception
raise throw throws panic abort | raise throw exception error panic
error err errors exception fail | error exception failure
exit quit | exit termination process
defer | defer cleanup
with | context manager resource
async await promise future | asynchronous async await promise
thread threading goroutine spawn | thread concurrency goroutine
chan channel | channel concurrency
mutex lock rwlock synchronized semaphore atomic | lock mutex synchronization concurrency
global | global variable
var let val | variable declaration
const final readonly static | constant variable declaration
mut | mutable mutation
unsafe | unsafe memory
assert | assertion test check
test tests spec describe it expect | test testing assertion
mock stub fake | test mock
none null nil undefined | none null nil value missing
true false bool boolean | boolean literal value
not | negation boolean condition
and or | logical boolean operator condition
is | identity comparison
in | membership containment
typeof instanceof isinstance type | type check
int integer float double long short uint decimal number num | numeric integer number type conversion
str string char text | string text character
bytes byte buffer buf | bytes buffer memory
list array arr vec slice vector tuple | list array collection element
dict map hash object hashmap | dictionary map hash key object
set | set collection
len length size count | length size count
append push extend concat add insert | append element collection concatenation
pop shift splice | element removal collection
sort sorted order | sort order
filter reduce collect each | collection iteration comprehension
key keys value values item items | key value
index idx | index
join split format sprintf fstring printf | string formatting concatenation
print println puts echo console fmt | print output console debug
log logger logging | log logging message
debug | debug mode
open close read write fopen file files fs filename | file open close read write resource
path dir directory folder mkdir tmp temp tmpdir tempfile | file path directory temporary
chmod chown umask permission permissions mode acl | file permission mode access
exec execute system popen spawnprocess subprocess cmd command shell bash sh | command execution shell process injection
eval compile | dynamic code evaluation eval execution
sql query select insert update where execute_query cursor | sql query database injection
db database sqlite postgres mysql mongo redis | database connection
password passwd pwd secret token apikey credential credentials | password secret credential hardcoded
auth login session user username account | authentication user session login
role roles admin root sudo privilege | authorization privilege role administrator
cookie cookies | cookie session
csrf xsrf | cross-site request forgery token
cors origin | cross-origin resource sharing
html innerhtml template render escape dom | html template escape cross-site scripting
url uri href link host hostname domain | url address link host
http fetch requests axios get post put response request req resp res client | http request response network
https tls ssl cert certificate verify x509 | tls certificate verification encryption
port listen bind socket addr address ip server serve | network socket port bind listen interface address
timeout deadline ttl sleep wait retry delay | timeout wait delay retry
date time datetime timestamp now day timezone tz utc | date time timezone
random rand seed nonce uuid | random number generator
md5 sha1 md4 digest hashlib checksum | weak hash algorithm cryptographic digest
sha256 sha512 bcrypt scrypt argon2 | hash algorithm cryptographic
des rc4 blowfish ecb cipher aes crypto encrypt decrypt rsa hmac iv | encryption cryptography cipher key algorithm
pickle marshal unmarshal yaml deserialize serialize unserialize loads dumps json parse xml etree | parse serialization deserialization data
zip tar archive gzip extract extractall decompress | archive extraction decompression
regex regexp re pattern sub gsub findall | regular expression pattern
malloc calloc realloc free alloc ptr pointer sizeof memcpy memset | memory allocation pointer buffer
strcpy strcat sprintf gets scanf strncpy strlen | string buffer overflow copy bounds
env environ environment getenv | environment variable
config cfg conf settings options opts option | configuration setting option
cache cached memo memoize lru | cache
clone copy deepcopy dup | copy clone
property getter setter attribute attr getattr setattr field fields prop props | attribute property accessor field
decorator annotation | decorator annotation
public private protected internal visibility | visibility access modifier member
input stdin prompt argvinput | user input untrusted data
doc docstring comment todo fixme | documentation comment
version deprecated | version deprecated
state component usestate useeffect hook hooks effect | component state hook
event handler callback listener onclick | event handler callback
prototype | prototype object
abs min max sum pow sqrt round | arithmetic numeric calculation
ctx context | context cancellation
`

// conceptSigns are the concepts of operators, brackets and quotes.
const conceptSigns = `
=== !== | strict equality comparison operator
== != <> | equality comparison operator
<= >= < > <=> | comparison operator
&& \p\p | logical boolean operator condition
! | negation boolean
? ?: | ternary conditional expression
?. ?? | optional null chaining
= := | assignment variable
+= -= *= /= %= ++ -- | increment augmented assignment operator
=> -> | arrow function
+ - / ** | arithmetic operator
* | multiplication pointer unpacking operator
% | formatting modulo operator
& ^ ~ << >> \p | bitwise operator reference
[ | list array index subscript
{ | dictionary object block braces
( | call parentheses
{} | empty object block braces
[] | empty list array
() | empty arguments call parentheses
"" '' | empty string literal
). | method call chain
;; | unnecessary semicolon empty statement
/** | documentation comment
// | comment
,} ,] ,) | trailing comma
... | spread rest variadic
.. | range
@ | decorator annotation
$ ${ #{ | string interpolation template
; | semicolon statement
: :: | colon annotation key
" ' | string literal quotes
""" ''' | docstring multiline string
` + "`" + ` | template string literal backtick
# | comment
/* | comment
\ | backslash escape
`
