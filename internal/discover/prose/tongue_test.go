package prose_test

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/discover/prose"
	"tenet/internal/rule"
)

// German, French and Spanish texts are read by the modal verbs, the prohibitions and the orders of each.
func TestTongues(t *testing.T) {
	const no = rule.Modality("")
	for tongue, sentences := range map[string]map[string]rule.Modality{
		"Diese Regeln sind für alle da, die in der Halle und auf dem Hof sind.": {
			"Besucher müssen sich am Tor anmelden.":                              rule.Must,
			"Besucher dürfen die Halle nicht allein betreten.":                   rule.MustNot,
			"Nur Meister dürfen die Presse öffnen.":                              rule.Must,
			"Rauchen ist in der Halle verboten.":                                 rule.MustNot,
			"Das Betreten der Gleise ist nicht gestattet.":                       rule.MustNot,
			"Fundsachen sind unverzüglich abzugeben.":                            rule.Must,
			"Die Türen sind nicht zu öffnen.":                                    rule.MustNot,
			"Helme sollten auch auf dem Hof getragen werden.":                    rule.Should,
			"Alle Besuche werden in das Buch eingetragen.":                       rule.Must,
			"- Verwende für jede Tür einen eigenen Schlüssel":                    rule.Must,
			"- Schlüssel nicht weitergeben":                                      rule.MustNot,
			"- Abends alle Tore abschließen":                                     rule.Must,
			"- Keine Fotos von Maschinen":                                        rule.MustNot,
			"Prüfen Sie vor dem Start die Bremsen.":                              rule.Must,
			"Wenn es regnet, schließe das Dach.":                                 rule.Must,
			"Wenn ein Helm fehlt, der passt, melde es am Tor.":                   rule.Must,
			"Denke vor dem Start an die Bremsen.":                                rule.Must,
			"Kümmere Dich um die Besucher der Halle.":                            rule.Must,
			"Wenn ein Helm fehlt, der passt, gibt es am Tor einen.":              no,
			"- Für neue Besucher erfasse einen Ausweis":                          rule.Must,
			"- Alte Ausweise löschen: im Buch und auf der Karte":                 rule.Must,
			"Wer die Halle betreten muss, ist Besucher.":                         no,
			"Ein Helm muss nicht getragen werden.":                               no,
			"Die Halle ist groß und die Presse ist alt.":                         no,
			"Falls Besucher warten müssen, gibt es Kaffee.":                      no,
			"Ohne die Türen zu öffnen, ist der Raum dunkel.":                     no,
			"Ausnahmen sind nicht erforderlich.":                                 no,
			"Die Gleise, die Besucher sehen dürfen, sind auf der Karte und rot.": no,
		},
		"Ces règles sont pour tous ceux qui sont dans les locaux et sur le quai.": {
			"Les visiteurs doivent signer le registre.":                   rule.Must,
			"Les visiteurs ne doivent pas ouvrir les portes.":             rule.MustNot,
			"Le public ne peut pas entrer dans la salle.":                 rule.MustNot,
			"Il est interdit de fumer sur le quai.":                       rule.MustNot,
			"L'accès aux voies n'est pas autorisé.":                       rule.MustNot,
			"Le port du casque est obligatoire.":                          rule.Must,
			"Les agents sont tenus de signaler les pannes.":               rule.Must,
			"Les agents devraient relire le plan.":                        rule.Should,
			"Tous les colis sont pesés à la réception.":                   rule.Must,
			"- Verrouiller les portes le soir":                            rule.Must,
			"- Ne jamais prêter les clés":                                 rule.MustNot,
			"- Toujours fermer les portes du quai":                        rule.Must,
			"- Toujours plus de visiteurs dans la salle":                  no,
			"- Éviter les trajets inutiles":                               rule.Should,
			"Utilisez une clé par porte.":                                 rule.Must,
			"Les agents ne communiquent aucune liste.":                    rule.MustNot,
			"Chaque agent signe le registre le soir.":                     rule.Must,
			"Seuls les agents peuvent ouvrir les portes.":                 rule.Must,
			"Les portes sont vérifiées chaque semaine.":                   rule.Must,
			"L'usage de la porte bleue est à proscrire.":                  rule.MustNot,
			"- Pas de garantie au-delà de la loi":                         no,
			"Chaque pays a ses propres portes et ses clés.":               no,
			"Les heures requises sont dans le registre.":                  no,
			"Les personnes qui doivent attendre sont dans la salle.":      no,
			"Le casque n'est pas obligatoire dans la cour.":               no,
			"La salle est grande et les portes sont rouges.":              no,
			"- Dossier des visiteurs":                                     no,
			"Si les agents doivent attendre, le café est dans la cuisine": no,
		},
		"Estas reglas son para todos los que están en el taller y en el patio.": {
			"Los visitantes deben firmar el registro.":              rule.Must,
			"Los visitantes no deben abrir las puertas.":            rule.MustNot,
			"El público no podrá entrar en la sala.":                rule.MustNot,
			"Queda prohibido fumar en el taller.":                   rule.MustNot,
			"No se permite el uso de cámaras.":                      rule.MustNot,
			"El uso del casco es obligatorio.":                      rule.Must,
			"Hay que cerrar las puertas por la noche.":              rule.Must,
			"Las llaves se revisarán en la reunión.":                rule.Must,
			"Se recomienda leer el plano.":                          rule.Should,
			"- Guardar las llaves en el armario":                    rule.Must,
			"- No prestar las llaves":                               rule.MustNot,
			"Mantenga las puertas cerradas.":                        rule.Must,
			"Cada visitante firma el registro de la puerta.":        rule.Must,
			"Las personas que deben esperar están en la sala.":      no,
			"El casco no es obligatorio en el patio.":               no,
			"La sala es grande y las puertas son rojas.":            no,
			"Si los visitantes deben esperar, el café es gratuito.": no,
		},
	} {
		for text, want := range sentences {
			found := find(tongue+"\n\n"+text, prose.Policy)
			switch {
			case want == no && len(found) > 0:
				t.Errorf("%q: found %s (%s)", text, found[0].Modality, found[0].Method)
			case want != no && (len(found) != 1 || found[0].Modality != want || found[0].Line != 3):
				t.Errorf("%q: found %+v, want one norm, %s", text, found, want)
			}
		}
	}
}

// A text of another language keeps what leads to its items.
func TestTongueLeads(t *testing.T) {
	for text, want := range map[string][]string{
		"# Interdits\n\nDans la cour et sur le quai, les règles sont les mêmes.\n\n- Courir\n- Laisser des sacs sur le quai": {
			"5 MUST_NOT Interdits: Courir", "6 MUST_NOT Interdits: Laisser des sacs sur le quai",
		},
		"Die Regel ist für alle. Ein Werkzeug soll\n\n- leicht sein\n- nicht rosten": {
			"3 SHOULD Ein Werkzeug soll leicht sein", "4 SHOULD Ein Werkzeug soll nicht rosten",
		},
	} {
		var got []string
		for _, n := range find(text, prose.Policy) {
			got = append(got, fmt.Sprint(n.Line, " ", n.Modality, " ", n.Statement))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

// German policies say what can only be done or cannot, and what the people of an organisation do at set times or do not.
func TestGermanStatements(t *testing.T) {
	compare(t, prose.Policy, map[string][]string{
		"Das Stimmrecht kann nur von den Mitgliedern und von dem Vorstand ausgeübt werden.":        {"1 MUST Das Stimmrecht kann nur von den Mitgliedern und von dem Vorstand ausgeübt werden."},
		"Die Schlüssel und die Karten können nicht an Gäste übertragen werden.":                    {"1 MUST_NOT Die Schlüssel und die Karten können nicht an Gäste übertragen werden."},
		"Der Vorstand prüft die Kasse und die Bücher mindestens jährlich.":                         {"1 MUST Der Vorstand prüft die Kasse und die Bücher mindestens jährlich."},
		"Die Mitglieder erhalten keine Gelder des Vereins und der Stiftung.":                       {"1 MUST_NOT Die Mitglieder erhalten keine Gelder des Vereins und der Stiftung."},
		"Der Verein und die Stiftung haben das Haus im Jahr gebaut. Das kann auch von Dauer sein.": nil,
	})
}

// A text in another language regulates, whatever its name, if a tenth of its sentences bind.
func TestForeignTextsThatRegulate(t *testing.T) {
	const text = "# Atelier\n\nLes clés doivent être rendues. Les outils doivent être rangés. Il est interdit de fumer dans la cour. Les visiteurs doivent signer le registre.\n\nIl est recommandé de porter des gants.\n"
	compare(t, prose.Document, map[string][]string{
		text: {
			"3 MUST Les clés doivent être rendues.", "3 MUST Les outils doivent être rangés.", "3 MUST_NOT Il est interdit de fumer dans la cour.", "3 MUST Les visiteurs doivent signer le registre.",
			"5 SHOULD Il est recommandé de porter des gants.",
		},
		"# Atelier\n\nLa cour est grande et les murs sont hauts. Les outils sont dans la remise pour les visiteurs.\n\nIl est recommandé de porter des gants.\n": nil,
	})
	compare(t, prose.Policy, map[string][]string{
		"Sollte die Kasse leer sein, bleibt der Laden zu. Der Vorstand und die Gäste sind dann in der Halle.\n\n- Förderung von Projekten, die zur Senkung der Kosten beitragen\n- Vertretung des Vereins nach außen": nil,
	})
}
