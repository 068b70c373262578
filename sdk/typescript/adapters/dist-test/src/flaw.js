// What makes an evaluation one that can be believed. Half an answer, or one that contradicts itself, must not be taken for a pass.
const verdicts = ["ALLOW", "DENY", "NEEDS_CONFIRMATION"];
function isObject(v) {
    return typeof v === "object" && v !== null && !Array.isArray(v);
}
/** Reports whether a value looks like an evaluation. */
export function isEvaluation(v) {
    return isObject(v) && "overall_verdict" in v && "rule_verdicts" in v && "coverage" in v;
}
/** What is wrong with an evaluation; empty if nothing is. */
export function flaw(e) {
    if (!isObject(e) || !verdicts.includes(e["overall_verdict"]))
        return "the server's answer has no verdict; is it a Tenet server?";
    if (typeof e["evaluation_id"] !== "string" || e["evaluation_id"] === "")
        return "the server's answer has no evaluation_id; is it a Tenet server?";
    const rules = e["rule_verdicts"];
    const coverage = e["coverage"];
    if (!Array.isArray(rules) || !rules.every(isObject) || rules.length !== e["rules_evaluated"]) {
        return "the server's answer does not hold a verdict for each rule that it counts";
    }
    if (!isObject(coverage) || typeof coverage["rules_not_asked"] !== "number" || !Array.isArray(e["violations"]) || !Array.isArray(e["warnings"])) {
        return "the server's answer is not complete";
    }
    const overall = overallOf(rules, coverage, e["narrowed"]);
    if (overall !== e["overall_verdict"] && (overall !== "ALLOW" || e["overall_verdict"] !== "NEEDS_CONFIRMATION")) {
        return "the overall verdict of the server's answer does not follow from its verdicts";
    }
    return "";
}
/** The verdict that follows from all that an evaluation holds. An unknown word counts as NEEDS_CONFIRMATION. */
function overallOf(rules, coverage, narrowed) {
    const counted = rules.filter((v) => v["enforcement"] !== "shadow" && (v["waiver"] === undefined || v["waiver"] === null));
    const word = coverage["uncovered"] ?? "";
    if (word === "deny" || counted.some((v) => v["verdict"] === "DENY"))
        return "DENY";
    const below = narrowed !== undefined && narrowed !== null && (!Array.isArray(narrowed) || narrowed.some((n) => !isObject(n) || Boolean(n["floor"])));
    if (counted.some((v) => v["verdict"] !== "ALLOW") || (word !== "" && word !== "allow") || below || coverage["rules_not_asked"] !== 0) {
        return "NEEDS_CONFIRMATION";
    }
    return "ALLOW";
}
