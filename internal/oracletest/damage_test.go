package oracletest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// headerLine matches the lines of a diff that name files.
var headerLine = regexp.MustCompile(`^(diff --git |--- |\+\+\+ |rename (?:from|to) |copy (?:from|to) |Index: )(.*)$`)

// extraLines are lines that some reader takes for a part of a diff.
var extraLines = []string{
	"", " ", "\t", "-- ", "--", "---", "# text", "commit 0123456789abcdef0123456789abcdef01234567", "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001",
	"--- a/src/a.py", "+++ b/src/a.py", "--- /dev/null", "+++ /dev/null", "@@ -1 +1 @@", "@@ -0,0 +1 @@", "Index: src/a.py", "Prereq: x", "Only in src: y", "Property changes on: src/a.py",
	"***************", "diff --git a/src/a.py b/src/a.py", "diff --cc src/a.py", "diff -u a/src/a.py b/src/a.py", `\ No newline at end of file`, "Binary files a/src/a.py and b/src/a.py differ",
	"rename from lib/a.py", "rename to src/a.py", "copy from lib/a.py", "copy to src/a.py", "old mode 100644", "new mode 100755", "new file mode 100644", "new file mode 120000",
	"deleted file mode 100644", "similarity index 100%", "similarity index 90%", "index e69de29..e69de29", "index 1111111..2222222 100644", "GIT binary patch\nliteral 0\nHcmV?d00001\n",
	"+" + bad + "20)", "-" + bad + "20)", " " + bad + "20)", "+x", " x", "=====", "Submodule src 1111111..2222222:", "* Unmerged path src/a.py",
}

// foreign are changes in formats that patch reads and git does not.
var foreign = []string{
	"*** a/src/n.py\t2020-01-01\n--- b/src/n.py\t2020-01-01\n***************\n*** 0 ****\n--- 1 ----\n+ " + bad + "21)\n",
	"--- a/src/n.py\n+++ b/src/n.py\n0a1\n> " + bad + "22)\n",
	"Index: src/n.py\n0a1\n> " + bad + "23)\n",
	"diff a/src/n.py b/src/n.py\n0a1\n> " + bad + "24)\n",
	"--- /dev/null\n+++ b/src/n.py\n@@ -0,0 +1 @\n+" + bad + "25)\n",
	"  --- /dev/null\n  +++ b/src/n.py\n  @@ -0,0 +1 @@\n  +" + bad + "26)\n",
	"\t--- /dev/null\n\t+++ b/src/n.py\n\t@@ -0,0 +1 @@\n\t+" + bad + "27)\n",
	"--- /dev/null\r\n+++ b/src/n.py\r\n@@ -0,0 +1 @@\r\n+" + bad + "28)\r\n",
	"+++ b/src/n.py\n@@ -0,0 +1 @@\n+" + bad + "29)\n",
	"Index: src/n.py\n--- /dev/null\n@@ -0,0 +1 @@\n+" + bad + "30)\n",
	"--- src/n.py\n+++ src/n.py\n@@ -0,0 +1 @@\n+" + bad + "31)\n",
	"X--- /dev/null\nX+++ b/src/n.py\nX@@ -0,0 +1 @@\nX+" + bad + "32)\n",
	"- --- /dev/null\n- +++ b/src/n.py\n- @@ -0,0 +1 @@\n- +" + bad + "33)\n",
	"diff --git a/src/n.py b/src/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/src/n.py\n@@ -0,0 +1 @@\n+" + bad + "34)\n",
	"diff --git src/n.py src/n.py\nnew file mode 100644\n--- /dev/null\n+++ src/n.py\n@@ -0,0 +1 @@\n+" + bad + "35)\n",
	"diff --git a/secret/n b/secret/n\nnew file mode 100644\nindex 0000000..e69de29\n",
	"diff --git a/x b/x\nrename from lib/a.py\nrename to src/n.py\n",
}

// damage changes the text of a diff so that readers may differ about it.
func (d drawer) damage(diff string) string {
	for range 1 + d.upTo("damages", 2) {
		lines := strings.SplitAfter(diff, "\n")
		at := d.upTo("line", len(lines)-1)
		switch pick(d, "damage", []string{"name", "name", "name", "name", "drop", "extra", "extra", "extra", "foreign", "count", "count", "swap", "repeat", "crlf", "indent", "marks", "cut", "blank"}) {
		case "name":
			if at = d.header(lines); at >= 0 {
				lines[at] = d.renamed(lines[at])
			}
		case "drop":
			if d.one("any", 2) {
				if h := d.header(lines); h >= 0 {
					at = h
				}
			}
			lines = slices.Delete(lines, at, at+1)
		case "extra":
			if d.one("header", 2) {
				if h := d.header(lines); h >= 0 {
					at = h
				}
			}
			lines = slices.Insert(lines, at, pick(d, "extra", extraLines)+"\n")
		case "foreign":
			if d.one("first", 2) {
				at = 0
			} else if d.one("last", 2) {
				at = len(lines)
			}
			lines = slices.Insert(lines, at, pick(d, "foreign", foreign))
		case "count":
			for i := range lines {
				if h := (at + i) % len(lines); strings.HasPrefix(lines[h], "@@ ") {
					lines[h] = d.recounted(lines[h])
					break
				}
			}
		case "swap":
			if at > 0 {
				lines[at-1], lines[at] = lines[at], lines[at-1]
			}
		case "repeat":
			to := min(len(lines), at+1+d.upTo("repeated", 6))
			lines = slices.Insert(lines, to, slices.Clone(lines[at:to])...)
		case "crlf":
			for i := range lines {
				lines[i] = strings.Replace(lines[i], "\n", "\r\n", 1)
			}
		case "indent":
			prefix := pick(d, "prefix", []string{" ", "\t", "> ", "- ", "X"})
			for i := at; i < len(lines); i++ {
				lines[i] = prefix + lines[i]
			}
		case "marks":
			for i := range lines {
				if strings.HasPrefix(lines[i], "@@ ") {
					lines[i] = strings.Replace(lines[i], " @@", pick(d, "marks", []string{" @", "@@", "  @@", " @@@", ""}), 1)
				}
			}
		case "cut":
			lines = lines[:at]
		case "blank":
			for i := range lines {
				lines[i] = strings.TrimRight(lines[i], " \t\n") + "\n"
			}
		}
		if diff = strings.Join(lines, ""); diff == "" {
			break
		}
	}
	return diff
}

// header draws the index of a line that names files, or -1.
func (d drawer) header(lines []string) int {
	var found []int
	for i, line := range lines {
		if headerLine.MatchString(strings.TrimSuffix(line, "\n")) {
			found = append(found, i)
		}
	}
	if found == nil {
		return -1
	}
	return pick(d, "header", found)
}

// renamed changes the names in a header line.
func (d drawer) renamed(line string) string {
	m := headerLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
	word, names := m[1], m[2]
	switch pick(d, "name", []string{"same", "swap", "none", "dot", "double", "quote", "octal", "stamp", "epoch", "blank", "cr", "back", "other", "upper", "deep", "root", "null"}) {
	case "same":
		names = strings.ReplaceAll(" "+names, " b/", " a/")[1:]
	case "swap":
		names = strings.NewReplacer("a/", "b/", "b/", "a/").Replace(names)
	case "none":
		names = strings.ReplaceAll(strings.ReplaceAll(" "+names, " b/", " "), " a/", " ")[1:]
	case "dot":
		names = strings.Replace(names, "/", "/./", 1)
	case "double":
		names = strings.Replace(names, "/", "//", 1)
	case "quote":
		names = `"` + names + `"`
	case "octal":
		names = `"` + strings.Replace(names, "s", `\163`, 1) + `"`
	case "stamp":
		names += "\t2020-01-01 00:00:00.000000000 +0000"
	case "epoch":
		names += "\t1970-01-01 00:00:00.000000000 +0000"
	case "blank":
		names += " "
	case "cr":
		names += "\r"
	case "back":
		names = strings.ReplaceAll(names, "/", `\`)
	case "other":
		names = pick(d, "prefix", []string{"a/", "b/", ""}) + pick(d, "path", paths)
	case "upper":
		names = strings.Replace(names, "src", "SRC", 1)
	case "deep":
		names = strings.Replace(names, "/", "/src/", 1)
	case "root":
		names = "/" + names
	case "null":
		names = "/dev/null"
	}
	return word + names + "\n"
}

var hunkCounts = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// recounted changes a number in a hunk header.
func (d drawer) recounted(line string) string {
	m := hunkCounts.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	n := [4]int{0, 1, 0, 1}
	for i := range n {
		if m[i+1] != "" {
			_, _ = fmt.Sscan(m[i+1], &n[i])
		}
	}
	n[d.upTo("number", 3)] += d.upTo("change", 4) - 2
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", n[0], n[1], n[2], n[3]) + line[len(m[0]):]
}
