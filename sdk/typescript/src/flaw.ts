// What makes an evaluation one that can be believed. Half an answer, or one that contradicts itself, must not be taken for a pass.

const verdicts: readonly unknown[] = ["ALLOW", "DENY", "NEEDS_CONFIRMATION"];

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

/** Reports whether a value looks like an evaluation. */
export function isEvaluation(v: unknown): boolean {
  return isObject(v) && "overall_verdict" in v && "rule_verdicts" in v && "coverage" in v;
}

/** What is wrong with an evaluation; empty if nothing is. */
export function flaw(e: unknown): string {
  if (!isObject(e) || !verdicts.includes(e["overall_verdict"])) return "the server's answer has no verdict; is it a Tenet server?";
  if (typeof e["evaluation_id"] !== "string" || e["evaluation_id"] === "") return "the server's answer has no evaluation_id; is it a Tenet server?";
  const rules = e["rule_verdicts"];
  const coverage = e["coverage"];
  if (!Array.isArray(rules) || !rules.every(isObject) || rules.length !== e["rules_evaluated"]) {
    return "the server's answer does not hold a verdict for each rule that it counts";
  }
  if (!isObject(coverage) || typeof coverage["rules_not_asked"] !== "number" || !Array.isArray(e["violations"]) || !Array.isArray(e["warnings"])) {
    return "the server's answer is not complete";
  }
  const overall = overallOf(e, rules, coverage);
  if (overall !== e["overall_verdict"] && (overall !== "ALLOW" || e["overall_verdict"] !== "NEEDS_CONFIRMATION")) {
    return "the overall verdict of the server's answer does not follow from its verdicts";
  }
  return "";
}

/** The verdict that follows from all that an evaluation holds. An unknown word counts as NEEDS_CONFIRMATION. */
function overallOf(e: Record<string, unknown>, rules: Record<string, unknown>[], coverage: Record<string, unknown>): string {
  const counted = rules.filter((v) => v["enforcement"] !== "shadow" && (v["waiver"] === undefined || v["waiver"] === null));
  const word = coverage["uncovered"] ?? "";
  const stale = e["bundle_stale"] ?? "";
  const suspended = e["suspended"] !== undefined && e["suspended"] !== null;
  if (suspended || stale === "closed" || word === "deny" || counted.some((v) => v["verdict"] === "DENY")) return "DENY";
  const narrowed = e["narrowed"];
  const below = narrowed !== undefined && narrowed !== null && (!Array.isArray(narrowed) || narrowed.some((n) => !isObject(n) || Boolean(n["floor"])));
  const uncovered = word !== "" && word !== "allow" && coverage["uncovered_approved"] !== true;
  if (counted.some((v) => v["verdict"] !== "ALLOW") || uncovered || below || coverage["rules_not_asked"] !== 0 || (stale !== "" && stale !== "open")) {
    return "NEEDS_CONFIRMATION";
  }
  return "ALLOW";
}
