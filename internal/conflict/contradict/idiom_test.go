package contradict_test

import (
	"testing"

	"tenet/internal/conflict/contradict"
	"tenet/internal/rule"
)

// Idioms mean what plainer words say.
func TestIdioms(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		found bool
	}{
		{"Laptops must be encrypted.", "Encryption of laptops is at the owner's discretion.", true},
		{"Training must be attended.", "Attending the training is up to the employee.", true},
		{"Training must be attended.", "The place of the training is up to the employee.", false},
		{"Enable the alarm at night.", "Leave the alarm off at night.", true},
		{"Enable the alarm at night.", "Leave the alarm on.", false},
		{"Interns must not access the archive.", "Interns get access to the archive.", true},
		{"The minimum age for drivers is 21.", "Drivers may be 18 years old.", true},
		{"The minimum age for drivers is 21.", "Drivers must be at least 18 years old.", true},
		{"The minimum age for drivers is 21.", "The minimum age for drivers is 21.", false},
		{"Meetings must take at most half an hour.", "Meetings must take a full hour.", true},
		{"A contract must have at least two signatures.", "A contract with one signature is sufficient.", false}, // not read, and not misread
		{"A password must have at least 12 characters.", "A password of ten characters is enough.", true},
		{"A password must have at least 12 characters.", "A password of 16 characters is enough.", false},
		{"Reports must be sent within one day.", "Reports must be sent within one week.", true},
		{"Reports must be sent within one day.", "Reports must be sent within 24 hours.", false},
		{"The shop closes at 18:00.", "The shop must stay open until 20:00.", true},
		{"The bar opens at 18:00.", "The bar closes at 02:00.", false}, // after midnight
		{"The bar may open at 18:00.", "The bar closes at 02:00.", false},
		{"The bar must be open from 18:00.", "The bar must stay open until 02:00.", false},
		{"The bar opens at 18:00.", "The bar opens at 17:00.", true},
		{"The bar closes at 02:00.", "The bar closes at 01:00.", true},
		{"The bar closes at 23:00.", "The bar must not be open after 22:00.", true},
		{"Answers must be sent within half a day.", "Answers must be sent within 12 hours.", false},
		{"Answers must be sent within half a day.", "Answers must be sent within two days.", true},
		{"Backups must be kept for at most half a year.", "Backups must be kept for at least nine months.", true},
		{"Backups must be kept for at most half a year.", "Backups must be kept for at most six months.", false},
		{"A message must have at most half a megabyte.", "A message must have at least two megabytes.", true},
		{"Meetings must take at least a full hour.", "Meetings must take 90 minutes.", false},
		{"Meetings must take at least one full hour.", "Meetings must take half an hour.", true},
		{"Publish the full minutes of the meeting.", "Publish the 20 minutes of the meeting.", false},
		{"Only managers may approve orders above 500 EUR within 3 days.", "Interns may, within 2 days, approve orders above 400 EUR.", true},
		{"Refunds must be paid within 10 days.", "Refunds must only be paid after 14 days.", true},
		{"Nobody enters the vault.", "Guards may enter the vault.", true},
		{"Invoices must be approved before payment.", "Invoices may be sent without approval.", false},
		{"The board meets at least four times a year.", "The board meets six times a year.", false},
		{"Services are written in Go.", "Services must be built in Java.", true},
		{"Document the services in English.", "Translate the services into German.", false},
	} {
		a, b := &rule.Rule{Modality: rule.Must, Statement: c.a}, &rule.Rule{Modality: rule.Must, Statement: c.b}
		if f, ok := contradict.Rules(a, b); ok != c.found {
			t.Errorf("%s / %s: %v, %s", c.a, c.b, ok, f.Reason)
		}
		if _, ok := contradict.Rules(b, a); ok != c.found {
			t.Errorf("%s / %s: %v the other way round", c.b, c.a, ok)
		}
	}
}
