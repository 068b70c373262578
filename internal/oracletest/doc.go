// Package oracletest compares verdicts on diffs with what git apply and patch make of the diffs: a diff that brings what a rule forbids must
// not be ALLOW for the rule. It also holds laws about how verdicts change with the subject and with the rules.
package oracletest
