package prose

// Word lists. They are our own, after the wording of standards (RFC 2119; ISO/IEC Directives, Part 2, clause 7) and of the
// instructions and policies that people write.

// verbs begin an order, as in "Use parameterised queries".
var verbs = words(`
abstract accept account acknowledge act adapt add address adhere adjust adopt advise aggregate align allocate allow alphabetize analyse analyze annotate announce
answer anonymise anonymize append apply approve archive arrange ask assert assess assign assume attach attribute audit authenticate author authorise authorize
automate avoid await back backup balance base batch be begin bind block break bring build bump bundle cache calculate call cap capitalise capitalize capture carry
catch centralise centralize chain challenge change check choose cite clarify classify clean cleanup clear close co-locate collaborate collapse collect colocate combine
come comment commit communicate compare compensate compile complete comply compose compress compute conduct configure confirm conform connect consider consolidate construct consult
contact contain continue contribute control convert coordinate copy correct count cover craft create credit customise customize debug declare decode decompose
decouple decrease deduplicate default defer define delegate delete deliver demonstrate deny deploy deprecate derive describe design destroy destructure detect determine develop
diagnose differentiate direct disable disallow discard disclose discuss dispatch display dispose distinguish distribute divide do document download draft drop duplicate
earn edit elaborate eliminate embed embrace emit emphasise emphasize employ enable encapsulate encode encourage encrypt end enforce engage ensure enter enumerate
escalate escape establish estimate evaluate examine exclude execute exercise exit expand expect explain explore export expose express extend extract factor fail favor
favour fetch file fill filter finalise finalize find finish fit fix flag flatten focus follow force forbid format forward free freeze fully gate gather generate
get give go grant ground group guarantee guard guide halt handle hardcode hash have help hide highlight hoist honor honour identify ignore illustrate implement import
improve include incorporate increase increment indent indicate infer inform inherit initialise initialize inject inline insert inspect install instrument integrate
interrupt introduce invalidate invest investigate invoke isolate issue iterate join judge justify keep know label launch lay lazy-load lead learn leave let leverage limit link
lint list listen load localise localize locate lock log look lowercase maintain make manage map mark mask match maximise maximize measure memoise memoize mention merge
migrate mimic minimise minimize mirror mock model modify modularise modularize monitor mount move name narrow negotiate nest never normalise normalize note notify
number obey obtain offer offload omit open operate optimise optimize orchestrate order organise organize outline output override overwrite own package pad paginate
parallelise parallelize parameterise parameterize parse partition pass paste patch pause pay perform persist phrase pick pin pipe place plan point polish populate
position post practice practise precompute prefer prefix preload prepare present preserve press prevent print prioritise prioritize proceed process produce profile
prohibit promote prompt proofread propagate propose protect prove provide provision prune publish pull push put query question queue quote raise rank re-export re-run
re-start re-use reach read rebase rebuild recheck recommend record redact redirect reduce refactor refer reference refine reflect refresh refuse regenerate register
reject relate release rely remember remind remove rename render reorder repeat rephrase replace replicate reply report represent reproduce request require reread rerun
research reserve reset resolve respect respond restart restore restrict retain rethrow retrieve retry return reuse revert review revise revoke rewrite roll rotate round
route run sanitise sanitize satisfy save say scan schedule scope screen search seek segregate select send separate serialise serialize serve set share ship shorten show
shut sign simplify simulate skip sort specify spell split squash stage standardise standardize start state stay stick stop store stream strengthen strip strive structure
study style submit subscribe suggest summarise summarize supply support surface suppress swap switch sync synchronise synchronize tag tailor take target teach tell
terminate test think throttle throw tie tokenise tokenize trace track train transfer transform translate treat trigger trim troubleshoot trust try tune turn type
understand undo unify unit-test update upgrade upload use utilise utilize validate vary vectorise vectorize verify version view visualise visualize wait walk warn watch
weigh whitelist withdraw work wrap write yield double-check cross-check hard-code reassess revisit rate-limit scaffold self-identify early-return restate recall
`)

// nouns are those of the verbs that begin a noun phrase as often as an order: "Test generation", "Support for ...".
var nouns = words(`
abstract account address audit backup balance base batch block break build bundle cache call cap chain challenge change check clean cleanup comment
commit contact control copy count cover credit debug default design display document download draft drop duplicate end escape exercise exit export express factor file
filter fit fix flag focus force format forward free function gate ground group guarantee guard guide halt handle hash help import increase increment index inline input
insert issue join judge label launch lead limit link lint list load lock log look map mark mask match measure mention merge mirror mock model monitor mount move name nest
note number offer open order output override own package pad parse partition pass paste patch pause phrase pick pin pipe place plan point polish position post
practice prefix present press print process produce profile prompt provision pull push query question queue quote rank read reach rebase record redirect reference refactor refresh
register release render reply report request research reserve reset respect restart restore retry return reuse review roll rotate round route run sanitize scan schedule scope
screen search set share ship sign sort split stage state stop store stream strip structure study style subject supply support surface switch sync tag target
test throttle tie trace track train transfer transform trigger trim trust tune turn type unit update upgrade upload version view wait walk watch work wrap yield direct
close live abstract narrow lowercase back lay patch value free own open
`)

// things are nouns whose plural behind them makes a name rather than an order: "Test cases".
var things = words(`
test design build release version index file process model query control display schedule style type function structure batch block cache call comment commit copy
debug default document draft factor flag form gate import export input output label lead list log monitor name package page patch plan policy post practice print
profile project prompt queue register render reserve route schema scope screen search share sign source stage stream study subject support surface switch tag target
guide thread track transfer trigger unit update upgrade user view watch work code data feature integration
`)

// opens are words that follow an order and not a noun: what stands before them is a verb.
var opens = words(`
the a an all any each every your our their its his her my this that these those only both either no not it them us me yourself new existing at in on to with from into for against
when if before after as by up out off over through one two three multiple proper correct appropriate specific clear consistent separate explicit valid complete both
within without between via per always directly carefully early properly consistently explicitly immediately regularly first step concise short small simple
recent current latest other large long old missing unused invalid generated changed public private internal external sensitive complex like as user
meaningful descriptive good real relevant related unit integration where whenever until unless while during along thoroughly what why how whether
`)

// objects begin what an order is about, or a clause of its own.
var objects = words("the a an all any each every your our their its this that these those it them which who what if when where how whether because")

// adverbs stand before an order without changing it.
var adverbs = words(`
always please also then first second third next finally lastly additionally furthermore moreover instead however otherwise thus so and but or generally ideally
simply carefully explicitly clearly properly directly strictly immediately still similarly likewise therefore hence again now basically early actively proactively
consistently thoroughly regularly periodically manually automatically preferably usually normally typically gracefully deliberately kindly just at least fully
in addition particular as needed necessary appropriate applicable where possible by default whenever yes ok important warning caution note critical tip
rule hint remember gradually quickly fully safely securely correctly exactly continuously briefly too
`)

// openers begin a clause that says when an order holds.
var openers = words(`
when whenever if for before after in during while once to unless where wherever on at with per as until because since given by instead from within under without
rather upon except although though throughout across regarding concerning besides depending according given based prior whether despite using only
`)

// subordinators begin a clause that says nothing by itself.
var subordinators = words("if unless whether because since although though while")

// nearby are those that do so only close to the verb.
var nearby = words("when whenever where wherever until as how what why once which who that")

// pointers are orders that only show the way, or are good manners.
var pointers = words("see note recall welcome thank thanks visit learn congratulations contact imagine suppose feel enjoy hello let's lets stay")

// asides are orders that a text for people is full of.
var asides = words("read check look refer view browse keep remember consider find click ask explore discuss download try join call email write help think know understand go come")

// advising verbs recommend.
var advising = words("prefer favor favour avoid consider try strive aim encourage recommend")

// people are subjects whose doing is regulated.
var people = words(`
you we users user employees employee staff agents agent members member contributors contributor developers developer customers customer contractors contractor everyone
nobody anyone assistants assistant engineers engineer personnel vendors suppliers partners managers administrators reviewers maintainers authors people persons students teams team
`)

// running are orders that a block of code carries out: "Run all tests:".
var running = words("run build install start test execute launch open try type enter inspect debug clone deploy call check")

// copulas are forms of to be, before a participle.
var copulas = words("is are be being been was were isn't aren't remain remains")

// negations deny what follows.
var negations = words("not no never n't don't doesn't didn't isn't aren't won't wouldn't without nor neither nobody none nothing cannot can't needn't")

// nothings are subjects that forbid: "No visitor may ...".
var nothings = words("no nobody none nothing neither")

// forbiddenWords are what a forbidden thing is.
var forbiddenWords = words("prohibited forbidden banned disallowed unacceptable off-limits illegal unlawful")

// allowedWords are what an allowed thing is.
var allowedWords = words("allowed permitted acceptable tolerated authorized authorised ok okay accepted")

// forbids are verbs that forbid.
var forbids = words("prohibit prohibits forbid forbids disallow disallows")

// recommendedWords are what a recommended, or discouraged, thing is.
var recommendedWords = words("recommended encouraged advised preferred discouraged expected suggested")

// recommends are verbs that recommend, after we or I.
var recommends = words("recommend recommends encourage encourages suggest suggests advise advises discourage discourages expect expects")

// unsaid are verbs after a modal that tell a fact: "should work", "may not be able".
var unsaid = words("able work see know look exist happen know appear contain seem get notice hear feel")

// approvals are what a text requires where it regulates.
var approvals = words("approval approvals review consent permission authorization authorisation scrutiny notice signature justification tests test documentation commitment")
