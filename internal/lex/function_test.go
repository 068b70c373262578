package lex_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/lex"
)

// Each line of a case begins with the number of the function that it is in, from the list, or - for none.
func TestFunctions(t *testing.T) {
	for _, test := range []struct {
		name, file, heading string
		want                []string
		src                 string
	}{
		{"Go, a whole file", "a.go", "", []string{"func F() {", "func (s *S[T]) Stop(a int) (err error) {", "func Multi("}, `
- package a
-
- var x = map[string]int{"}": 1, '{': 2}
-
0 func F() {
0 	if x := "{"; true {
0 		go func() { leak() }()
0 	}
0 }
-
- // comment about nothing {
- type S[T any] struct {
- 	f func()
- }
-
1 func (s *S[T]) Stop(a int) (err error) {
1 	s.f = func() {
1 		raw := ` + "`}\n}`" + `
1 	}
1 	return nil
1 }
-
2 func Multi(
2 	a int,
2 ) {
2 	return
2 }
- const key = 1
`},
		{"Go, behind the function of the heading", "a.go", "func Before() {", []string{"func Before() {", "func New() {"}, `
0 	return nil
0 }
-
- const key = "secret"
1 func New() {
1 	a()
1 }
`},
		{"Go, in the function of the heading", "a.go", "func Before() {", []string{"func Before() {"}, `
0 	for {
0 		a()
0 	}
0 label:
0 	b()
0 	}
0 	c()
`},
		{"Go, a heading that is no function", "a.go", "type T struct {", nil, `
- 	key string
- }
`},
		{"Go, a hunk between functions", "a.go", "func Before() {", []string{}, `
- var key = 1
- var other = 2
`},
		{"Python", "a.py", "def before(x):", []string{"def before(x):", "def after(a, b=(1,", "async def inner(c):", "def method(self):"}, `
0     return f(
0 x)
0
- KEY = 1
- @decorated
1 def after(a, b=(1,
1     2)):
1     """Text
1 def not_one():
1     """
1     if a:
2         async def inner(c):
2             pass
1     # a comment
1     return 1
- # another comment
- class C:
-     key = 1
3     def method(self):
3         pass
-     other = 2
`},
		{"Python, a sibling of the heading", "a.py", "def before(self):", []string{"def before(self):", "def sibling(self):"}, `
0         return 1
1     def sibling(self):
1         pass
-     key = 1
`},
		{"JavaScript", "a.js", "function before(a) {", []string{"function before(a) {", "const arrow = async (a, b) => {", "export default function named() {", "method(a) {", "async other() {", "handler: function (e) {"}, `
0   return /}{/.test(a)
0 }
- const key = 1
1 const arrow = async (a, b) => {
1   if (a) { return ` + "`${b ? '{' : \"}\"}`" + ` }
1   list.forEach(x => {
1     call(x)
1   })
1 }
-
2 export default function named() {
2 }
- class C extends D {
-   key = 1
3   method(a) {
3     while (a) { a-- }
3   }
4   async other() {
4   }
- }
- module.exports = {
5   handler: function (e) {
5     e()
5   },
-   key: 1
- }
- describe('x', () => {
-   const key = 1
- })
`},
		{"TypeScript", "a.ts", "", []string{"export function f<T extends { a: string }>(x: T): Promise<T> {", "private async m(x: { y: number }): Promise<void> {", "const g = (a: string): string => {"}, `
- interface I { a(): void }
0 export function f<T extends { a: string }>(x: T): Promise<T> {
0   return x
0 }
- export class K {
-   constructor_key = 1
1   private async m(x: { y: number }): Promise<void> {
1     if (x) {
1       y()
1     }
1   }
- }
2 const g = (a: string): string => {
2   return a
2 }
`},
		{"Java", "A.java", "public class A {", []string{"public void run(int a) throws IOException {", "A(String s) {", "public int compare(A a, A b) {"}, `
-     private static final String KEY = "x";
-     @Override
0     public void run(int a) throws IOException {
0         for (int i = 0; i < a; i++) {
0             call("}");
0         }
0         list.sort(new Comparator<A>() {
2             public int compare(A a, A b) {
2                 return 1;
2             }
0         });
0     }
-
1     A(String s) {
1     }
- }
`},
		{"Java, a method as the heading", "A.java", "public void run() {", []string{"public void run() {"}, `
0         a();
0         if (b) {
0             c();
0         }
0     }
-
-     String key = "x";
`},
		{"Rust", "a.rs", "fn before<'a>(x: &'a str) {", []string{"fn before<'a>(x: &'a str) {", "pub async fn new<'a, T: Into<String>>(x: &'a T, c: char) -> Self", "fn it() {"}, `
0     x
0 }
- const KEY: &str = "}";
- impl<'a> S<'a> {
1     pub async fn new<'a, T: Into<String>>(x: &'a T, c: char) -> Self
1     where T: Clone {
1         match c { '{' => 1, '\'' => 2, _ => 3 }
1     }
-     const OTHER: u8 = 1;
- }
- mod tests {
-     #[test]
2     fn it() {
2         let f = |x| { x };
2     }
- }
`},
		{"C", "a.c", "static int before(int a)", []string{"static int before(int a)", "int after(const char *s,", "main(int argc, char **argv)"}, `
0 {
0 	if (a) {
0 #ifdef X
0 		call('{');
0 #endif
0 	}
0 out:
0 	return 1;
0 }
-
- static const char *key = "x";
- #define M(x) do { x } while (0)
- struct s { int a; };
1 int after(const char *s,
1           int b)
1 {
1 	for (;;) { MACRO(s) { a(); } }
1 }
- int
2 main(int argc, char **argv)
2 {
2 }
`},
		{"C++", "a.cpp", "", []string{"std::string S::name(int a) const noexcept {", "S() : a(1), b(2) {", "void run() override {"}, `
- namespace x {
0 std::string S::name(int a) const noexcept {
0   auto f = [&](int b) { return b; };
0 }
- class S {
-  public:
1   S() : a(1), b(2) {
1   }
2   void run() override {
2   }
-   int a = 1;
- };
- }
`},
		{"Ruby", "a.rb", "def before", []string{"def before", "def after(a)", "def self.inner"}, `
0     call do |x|
0       x
0     end
0   end
`},
		{"Ruby, a whole file", "a.rb", "", []string{"def after(a)", "def self.inner"}, `
- KEY = 1
0 def after(a)
0   if a
0     b
0   end
0 end
-
- class C
-   KEY = 2
1   def self.inner
1     c
1   end
-   OTHER = 3
- end
`},
		{"Kotlin", "a.kt", "", []string{"suspend fun <T> f(a: T): Int {"}, `
- val key = 1
- class A {
0   suspend fun <T> f(a: T): Int {
0     a.let { it }
0   }
-   val b = 2
- }
`},
		{"PHP", "a.php", "", []string{"public function f(array $a): string {"}, `
- class A {
0   public function f(array $a): string {
0     if ($a) { return "{$a[0]}"; }
0   }
-   private $key = 1;
- }
`},
		{"an unknown language", "a.tf", "resource \"x\" \"y\" {", nil, `
-   key = 1
- }
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var src, marks []string
			for line := range strings.SplitSeq(strings.Trim(test.src, "\n"), "\n") {
				mark, text, _ := strings.Cut(line, " ")
				if mark == "}`" { // the second line of a raw string
					mark, text = "1", line
				}
				src, marks = append(src, text), append(marks, mark)
			}
			got := lex.Functions(test.file, test.heading, strings.Join(src, "\n"))
			if len(got) != len(src) {
				t.Fatalf("got %d names for %d lines", len(got), len(src))
			}
			for i, mark := range marks {
				want := ""
				if mark != "-" {
					want = test.want[mark[0]-'0']
				}
				if got[i] != want {
					t.Errorf("line %d %q is in %q, want %q", i+1, src[i], got[i], want)
				}
			}
		})
	}
}

// Time is linear in the length of hostile text.
func TestFunctionsOfHostileText(t *testing.T) {
	for _, text := range []string{"({}", "{", "}", "def f(", "f<", "`${", "x = ('", "\n'''", "a(\n", "class {", "#\n "} {
		src := strings.Repeat(text, 1<<15/len(text))
		for _, path := range []string{"a.go", "a.py", "a.ts", "a.java", "a.rs", "a.c", "a.rb"} {
			began := time.Now()
			lex.Functions(path, "func f() {", src)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s of %q took %v", path, text, took)
			}
		}
	}
}

func FuzzFunctions(f *testing.F) {
	f.Add("a.go", "func F() {", "}\nfunc G() {\n\ta()\n}\n")
	f.Add("a.py", "def f():", "  x = '''\ndef g(:\n\n#\n(")
	f.Add("a.rs", "fn f(self)", "'a '{' }}}}\n'")
	f.Add("a.rb", "", "end\ndef\n end")
	f.Add("a.tsx", "f() {", "`${`{` }`}\n=> {")
	f.Fuzz(func(t *testing.T, file, heading, src string) {
		for _, path := range []string{file, "a.go", "a.py", "a.ts", "a.java", "a.rs", "a.c", "a.rb"} {
			if got := lex.Functions(path, heading, src); len(got) != 1+strings.Count(strings.TrimSuffix(src, "\n"), "\n") {
				t.Fatalf("%s: %d names", path, len(got))
			}
		}
	})
}
