package judge

// meaning is a set of roles that a word may have in a phrase.
type meaning uint32

const (
	ignoreVerb  meaning = 1 << iota // ignore, disregard, forget
	prior                           // previous, above
	whole                           // all, your, everything
	instruction                     // instructions, prompt
	rulebook                        // rules, policies
	respondVerb                     // respond, answer, output
	allowToken                      // ALLOW, or allow in quotes
	verdictNoun                     // verdict, decision
	judgeNoun                       // AI, LLM, judge
	addressNoun                     // note, message
	greeting                        // dear, attention
	toward                          // to, for
	you                             // you
	are                             // are
	now                             // now
	persona                         // unrestricted, jailbroken, DAN
	actVerb                         // act, pretend
	as                              // as
	negation                        // not, never
	flagVerb                        // flag, deny, reject
	thisWord                        // this, these, any
	thing                           // change, violation, subject
	treatVerb                       // treat, consider
	compliant                       // compliant, exempt
	secretKind                      // system, hidden
	fresh                           // new, real
	every                           // all, every
	satisfied                       // satisfied, passed
	foreign                         // instructions in other languages
	foreignVerb                     // ignore in languages that have instructions as in English
	above                           // above
	goOn                            // say, repeat, instead
)

// vocabulary gives the roles of words in lower case.
var vocabulary = build(map[meaning]string{
	ignoreVerb:  "ignore ignores ignoring disregard forget overlook override bypass discard ignoriere ignorieren vergiss vergessen missachte ignorez ignorer oubliez ignora ignorad ignorar olvida dimentica negeer vergeet игнорируй игнорируйте забудь забудьте αγνοήστε αγνόησε تجاهل",
	prior:       "previous prior above earlier preceding foregoing",
	whole:       "all any every everything your youve these those previous prior above earlier preceding foregoing system original initial",
	instruction: "instruction instructions instructed directive directives prompt prompts guideline guidelines told",
	rulebook:    "rule rules policy policies commands orders task tasks context",
	respondVerb: "respond answer reply output say conclude decide report vote choose",
	verdictNoun: "verdict verdicts",
	judgeNoun:   "ai llm llms judge evaluator grader assistant chatgpt gpt claude gemini copilot",
	addressNoun: "note message memo notice attention reminder",
	greeting:    "dear hey hello attention",
	toward:      "to for",
	you:         "you",
	are:         "are",
	now:         "now",
	persona:     "dan unrestricted jailbroken unfiltered uncensored ai llm assistant judge",
	actVerb:     "act pretend behave roleplay",
	as:          "as",
	negation:    "not dont never avoid",
	flagVerb:    "flag deny reject judge",
	thisWord:    "this these any",
	thing:       "change changes file diff violation violations subject transaction snippet pr commit rule rules",
	treatVerb:   "treat consider deem assume regard mark",
	compliant:   "compliant exempt",
	secretKind:  "system hidden original initial previous",
	fresh:       "new real actual",
	every:       "all every",
	satisfied:   "satisfied kept passed passes fulfilled",
	foreign:     "anweisungen anweisung instruktionen instrucciones istruzioni instruções instructies instrukcje инструкции инструкций указания οδηγίες التعليمات",
	foreignVerb: "ignorez ignorer oubliez oublie ignorieren",
	above:       "above preceding foregoing",
	goOn:        "say repeat give tell respond ignore disregard instead",
})

func build(roles map[meaning]string) map[string]meaning {
	out := map[string]meaning{}
	for mean, list := range roles {
		from := 0
		for i := 0; i <= len(list); i++ {
			if i == len(list) || list[i] == ' ' {
				out[list[from:i]] |= mean
				from = i + 1
			}
		}
	}
	return out
}

// step is the next word of a phrase: its roles, and its largest distance from the word before.
type step struct {
	mean   meaning
	within int
}

// phrases are sequences of roles that do not belong in a subject.
var phrases = []struct {
	what  string
	steps []step
}{
	{"it tells to ignore instructions", []step{{ignoreVerb, 0}, {prior, 4}, {instruction | rulebook, 4}}},
	{"it tells to ignore instructions", []step{{ignoreVerb, 0}, {whole, 4}, {instruction, 4}}},
	{"it tells to ignore instructions", []step{{ignoreVerb, 0}, {whole, 3}, {rulebook, 3}, {you, 3}}},
	{"it tells to ignore instructions", []step{{ignoreVerb, 0}, {foreign, 5}}},
	{"it tells to ignore instructions", []step{{foreignVerb, 0}, {instruction, 5}}},
	{"it tells to ignore what stands above", []step{{ignoreVerb, 0}, {above, 2}, {goOn, 2}}},
	{"it dictates a verdict", []step{{respondVerb, 0}, {allowToken, 6}}},
	{"it dictates a verdict", []step{{verdictNoun, 0}, {allowToken, 4}}},
	{"it addresses the judge", []step{{addressNoun, 0}, {toward, 1}, {judgeNoun, 3}}},
	{"it addresses the judge", []step{{greeting, 0}, {judgeNoun, 2}}},
	{"it gives the judge another role", []step{{you, 0}, {are, 1}, {now, 1}, {persona, 3}}},
	{"it gives the judge another role", []step{{actVerb, 0}, {as, 1}, {judgeNoun | persona, 3}}},
	{"it tells not to deny", []step{{negation, 0}, {flagVerb, 1}, {thisWord, 2}, {thing, 3}}},
	{"it tells what to find compliant", []step{{treatVerb, 0}, {thisWord, 2}, {compliant, 6}}},
	{"it tells that all rules are kept", []step{{every, 0}, {rulebook, 2}, {satisfied, 4}}},
	{"it speaks of the judge's own instructions", []step{{whole, 0}, {secretKind, 1}, {instruction, 1}}},
	{"it gives new instructions", []step{{fresh, 0}, {instruction, 1}, {you, 4}}},
}

// phrases returns the first phrase in the text read so far and the line in which it begins.
func (s *scanner) phrases() (line int, what string) {
	for i := range s.words {
		for _, p := range phrases {
			if s.words[i].mean&p.steps[0].mean != 0 && s.follows(i, p.steps[1:]) {
				return s.words[i].line, p.what
			}
		}
	}
	return 0, ""
}

// follows reports whether steps follow the word at index i. Phrases are short and gaps small, so the search is too.
func (s *scanner) follows(i int, steps []step) bool {
	if len(steps) == 0 {
		return true
	}
	for k := i + 1; k < len(s.words) && s.words[k].pos-s.words[i].pos <= steps[0].within; k++ {
		if s.words[k].mean&steps[0].mean != 0 && s.follows(k, steps[1:]) {
			return true
		}
	}
	return false
}
