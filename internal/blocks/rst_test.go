package blocks

import (
	"strings"
	"testing"
)

const sphinx = `:orphan:

.. _top:

=====
Rules
=====

Staff
-----

Everybody must *sign* in, see ` + "`the desk <http://x.test>`_ and :ref:`keys <keys>`" + `
every day.

- ask first

  * wait
    here
- leave

  A paragraph of the item.

#. one
#. two::

     run it

.. note:: Doors must be
   locked.

   Keys too.

.. warning::
   :class: big

   Never open them.

.. code-block:: sh

   must not be read

.. a comment that
   goes on

Visitors
--------

Term
  Its definition.

For example::

    not text

Then text.

+------+-------+
| a    | b     |
+======+=======+
| door | shut  |
+------+-------+

===== =====
x     y
===== =====
keys  kept
===== =====

>>> must()
1

Last.
`

// Titles, lists, notes, definitions and tables are read with their lines; code, comments, targets and fields are not.
func TestRST(t *testing.T) {
	t.Parallel()
	got := RST(sphinx, 1)
	check(t, "page", got,
		"6 heading Rules", "9 heading Staff", "12 text Everybody must *sign* in, see `the desk <http://x.test>`_ and :ref:`keys <keys>`\nevery day.",
		"15 item ask first", "17 item<3 wait\nhere", "19 item leave", "21 text<5 A paragraph of the item.",
		"23 item one", "24 item two:", "28 text Doors must be\nlocked.", "31 text Keys too.", "36 text Never open them.",
		"45 heading Visitors", "48 text Term", "49 text Its definition.", "51 text For example:", "55 text Then text.",
		"60 row door | shut", "66 row keys  kept", "72 text Last.")
	for _, b := range got {
		if want := map[int]string{12: "Rules/Staff", 48: "Rules/Visitors"}[b.Line]; want != "" && strings.Join(b.Section, "/") != want {
			t.Errorf("line %d is in %q, want %s", b.Line, b.Section, want)
		}
		if (b.Text == "two:" || b.Text == "For example:") && !b.BeforeCode {
			t.Errorf("%q is not before code", b.Text)
		}
	}
}

const chapter = `= Rules
:toc:

== Doors

Doors must be
locked.

* ask
** wait
* leave

. one
. two

NOTE: Keys are rare.

[source,sh]
----
must not be read
----

====
An example that must be read.
====

// a comment

|===
|Name |Duty

|doors |must be shut
|===

  literal must not

Last.
`

// Titles of two lines are titles, and not the beginning of a block of code.
func TestAdocTitlesOfTwoLines(t *testing.T) {
	check(t, "adoc", Adoc("Gate Rules\n==========\n\nRules\n-----\nKeys must be kept.\n\n----\ncode\n----\n\nText\n\nDogs\n~~~~\nNo dogs.\n", 1),
		"1 heading Gate Rules", "4 heading Rules", "6 text Keys must be kept.", "12 text Text", "14 heading Dogs", "16 text No dogs.")
}

// What describes a block is no title, however long the fence below it is.
func TestAdocBlocksWithAttributesAndTitles(t *testing.T) {
	t.Parallel()
	check(t, "attributes", Adoc("[NOTE]\n====\nDoors must be shut.\n====\n\nLast.\n", 1), "3 text Doors must be shut.", "6 text Last.")
	check(t, "title", Adoc(".Build\n----\nmake it\n----\n\nLast.\n", 1), "6 text Last.")
	check(t, "title as long as its fence", Adoc(".Logs\n-----\nmake it\n-----\n\nLast.\n", 1), "6 text Last.")
	check(t, "attributes as long as their fence", Adoc("[TIP]\n=====\nAsk.\n=====\n\nLast.\n", 1), "3 text Ask.", "6 text Last.")
	check(t, "text", Adoc("Run it\n----\nmake it\n----\n\nLast.\n", 1), "1 text Run it", "6 text Last.")
	check(t, "one sign more or less", Adoc("Logs\n-----\nKeep them.\n\nKeys\n~~~\nKeep them.\n\n[Draft] Doors\n-------------\nShut them.\n", 1),
		"1 heading Logs", "3 text Keep them.", "5 heading Keys", "7 text Keep them.", "9 heading [Draft] Doors", "11 text Shut them.")
}

// The fence of an example is no line below a title, and one that closes it is over: what follows may have such a title.
func TestAdocExamplesWithinExamples(t *testing.T) {
	t.Parallel()
	check(t, "text before a closing fence", Adoc("====\nDoors.\n\n=====\nLocks.\n=====\n\nKeys\n====\n\nLast.\n", 1), "2 text Doors.", "5 text Locks.", "8 text Keys", "11 text Last.")
	check(t, "a title afterwards", Adoc("====\nDoors.\n\n=====\nLocks.\n=====\n====\n\nKeys\n====\nKeep them.\n", 1),
		"2 text Doors.", "5 text Locks.", "9 heading Keys", "11 text Keep them.")
	check(t, "one that only the outer fence closes", Adoc("====\nDoors.\n\n=====\nLocks.\n\n====\n\nGates\n=====\nShut them.\n\nKeys\n====\nKeep them.\n", 1),
		"2 text Doors.", "5 text Locks.", "9 heading Gates", "11 text Shut them.", "13 heading Keys", "15 text Keep them.")
}

func TestAdoc(t *testing.T) {
	t.Parallel()
	check(t, "chapter", Adoc(chapter, 1),
		"1 heading Rules", "4 heading Doors", "6 text Doors must be\nlocked.", "9 item ask", "10 item<3 wait", "11 item leave", "13 item one", "14 item two",
		"16 text Keys are rare.", "24 text An example that must be read.", "32 row doors |must be shut", "37 text Last.")
}

// Plain shows links and roles as people see them.
func TestPlainOfRST(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"see `the desk <http://x.test>`_ now": "see the desk now", "`name`__.": "name.", ":func:`~a.b` runs": "a.b runs", "a:b `c`": "a:b `c`", "`code` x": "`code` x",
		"10:30:`x`": "10:30:`x`",
	} {
		if got := Plain(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// Blocks of any text are in its lines, in order.
func FuzzRST(f *testing.F) {
	for _, s := range []string{sphinx, chapter, "==\na\n==\n", "- a::\n\n  b\n", "+-\n|a|\n+-", "= =\n= =\n", ".. note::\n", "::", "\ta\n        b", "|===\n", "----"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, list := range [][]Block{RST(s, 1), Adoc(s, 1)} {
			last := 0
			for _, b := range list {
				if b.Line < last || b.Line > strings.Count(s, "\n")+1 || b.Lead >= len(list) {
					t.Fatalf("block %+v after line %d", b, last)
				}
				last = b.Line
			}
		}
	})
}
