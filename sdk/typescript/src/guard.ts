// Functions that run only if the rules allow it.

import { approvalPath } from "./client.js";
import type { Client } from "./client.js";
import { isObject } from "./call.js";
import { AnswerError, Denied, NotConfirmed, NotEvaluated, Refused } from "./errors.js";
import type { SubmissionAnswer, SubmissionRequest } from "./models.js";

/** How calls are evaluated. */
export interface CheckOptions {
  /** Name of the server or program that the tool belongs to. */
  server?: string;
  scope?: string;
  environment?: "production" | "staging" | "development";
  /** Seconds to wait for an approval of a call that needs confirmation; absent refuses it at once. */
  wait?: number;
  /** Why the caller asks, for the people who decide. */
  reason?: string;
  signal?: AbortSignal;
}

/** How the calls of a function are evaluated. */
export interface GuardOptions<A extends unknown[]> extends CheckOptions {
  /** Name of the tool; that of the function, if absent. */
  tool?: string;
  /** Names of the arguments, in order. Not needed for a function that takes one object. */
  names?: { [K in keyof A]: string };
  /** Makes the arguments to evaluate from those of the call, where they are not JSON. */
  arguments?: (...args: A) => Record<string, unknown>;
}

const longestPoll = 30; // seconds that one request waits for a decision
const maxDepth = 64;

/** Wraps a function. */
export function guard<A extends unknown[], R>(client: Client, options: GuardOptions<A>, run: (...args: A) => R): (...args: A) => Promise<Awaited<R>> {
  const tool = options.tool ?? run.name.replace(/^(?:bound )+/, "");
  if (!tool) throw new TypeError("the function has no name; give guard one with tool");
  if (new Set(options.names).size !== (options.names?.length ?? 0)) throw new TypeError(`two arguments of ${tool} have the same name`);
  return async function (this: unknown, ...args: A): Promise<Awaited<R>> {
    const same = await checked(client, tool, () => argumentsOf(tool, options, args), options);
    same();
    return await run.apply(this, args);
  };
}

/**
 * Evaluates a call whose arguments somebody else may hold, too. What it returns is called right before the function, with nothing awaited in
 * between, and throws if the arguments are not those that were evaluated.
 */
export async function checked(client: Client, tool: string, read: () => Record<string, unknown>, options: CheckOptions): Promise<() => void> {
  const before = JSON.stringify(plain(tool, read(), 0));
  await check(client, tool, JSON.parse(before) as Record<string, unknown>, options);
  return () => {
    if (JSON.stringify(plain(tool, read(), 0)) !== before) {
      throw new NotEvaluated("unevaluated", `${tool} was not run: its arguments changed while they were evaluated`);
    }
  };
}

/** Evaluates a call of a tool and returns only if it may run; rejects with Refused otherwise. */
export async function check(client: Client, tool: string, args: Record<string, unknown>, options: CheckOptions = {}): Promise<SubmissionAnswer> {
  try {
    const request = requestOf(tool, plain(tool, args, 0) as Record<string, unknown>, options);
    const answer = await client.submit(request, { signal: options.signal });
    if (answer.overall_verdict === "ALLOW") return answer;
    if (answer.overall_verdict !== "NEEDS_CONFIRMATION" || options.wait === undefined) throw refusal(tool, answer);
    const approval = await approved(client, tool, answer, options.wait, options);
    const second = await client.submit(request, { signal: options.signal });
    if (second.overall_verdict === "ALLOW") return second;
    throw refusal(tool, second, `although ${approval} is approved`);
  } catch (e) {
    if (e instanceof Refused) throw e;
    const why = e instanceof Error ? e.message : String(e);
    throw new NotEvaluated("unevaluated", `${tool} was not run, because it could not be evaluated: ${why}`, undefined, { cause: e });
  }
}

/** Asks for an approval and waits until it is given. Returns its id. */
async function approved(client: Client, tool: string, answer: SubmissionAnswer, wait: number, options: CheckOptions): Promise<string> {
  const deadline = Date.now() + wait * 1000;
  const query = { project_id: undefined };
  const expires = Math.min(Math.max(Math.floor(wait), 60), 3600);
  const body = { evaluation_id: answer.evaluation_id, expires_in: `${expires}s`, reason: options.reason };
  const more = { signal: options.signal };
  let a = approvalOf(await client.call({ method: "POST", path: "/api/v1/approvals", answer: "json", body, query }, more));
  for (;;) {
    if (a.state === "approved") return a.id;
    if (a.state !== "pending") throw refusal(tool, answer, `the approval ${a.id} is ${a.state}`);
    const left = (deadline - Date.now()) / 1000;
    if (left <= 0) throw refusal(tool, answer, `nobody has decided on the approval ${a.id} in time: ${a.url}`);
    const seconds = Math.max(Math.min(left, longestPoll, (client.timeoutMs / 1000) * 0.8), 0.1);
    const poll = { ...query, wait: `${seconds.toFixed(1)}s` };
    a = approvalOf(await client.call({ method: "GET", path: approvalPath(a.id), answer: "json", query: poll, again: true }, more));
  }
}

function approvalOf(value: unknown): { id: string; state: string; url: string } {
  if (!isObject(value) || typeof value["id"] !== "string" || typeof value["state"] !== "string") {
    throw new AnswerError("the server's answer is no approval");
  }
  return { id: value["id"], state: value["state"], url: typeof value["url"] === "string" ? value["url"] : "" };
}

function requestOf(tool: string, args: Record<string, unknown>, options: CheckOptions): SubmissionRequest {
  const request: SubmissionRequest = { subject: { kind: "tool_call", tool, arguments: args } };
  if (options.server) request.subject = { kind: "tool_call", tool, arguments: args, server: options.server };
  if (options.scope) request.scope = options.scope;
  if (options.environment) request.environment = options.environment;
  return request;
}

/** The error for a verdict that is not ALLOW. */
function refusal(tool: string, e: SubmissionAnswer, why = ""): Refused {
  const denied = e.overall_verdict === "DENY";
  const parts = [`${tool} was not run: ${denied ? "the rules deny it" : "it needs the confirmation of a person"}${why ? ` (${why})` : ""}`];
  const listed = (denied ? e.violations : e.warnings).slice(0, 3);
  for (const v of listed) {
    parts.push(`${v.rule_slug || v.rule_id}: ${v.issue_description || v.reasoning || v.rule_statement}`);
    if (v.fix_suggestion) parts.push(v.fix_suggestion);
  }
  if (listed.length === 0) parts.push(...(e.notices ?? []).slice(0, 3)); // such as a call that no rule covers
  parts.push(`evaluation ${e.evaluation_id}`);
  return denied ? new Denied("denied", parts.join("; "), e) : new NotConfirmed("unconfirmed", parts.join("; "), e);
}

function argumentsOf<A extends unknown[]>(tool: string, options: GuardOptions<A>, args: A): Record<string, unknown> {
  if (options.arguments) {
    try {
      return options.arguments(...args);
    } catch (e) {
      if (e instanceof Refused) throw e;
      throw new NotEvaluated("unevaluated", `${tool} was not run: its arguments could not be read`, undefined, { cause: e });
    }
  }
  const names = options.names as readonly string[] | undefined;
  if (names) {
    if (args.length > names.length) throw new NotEvaluated("unevaluated", `${tool} was not run: it has ${args.length} arguments and ${names.length} names`);
    return Object.fromEntries(args.map((value, i) => [names[i]!, value]));
  }
  if (args.length === 0) return {};
  if (args.length === 1 && isPlain(args[0])) return args[0];
  throw new NotEvaluated("unevaluated", `${tool} was not run: its arguments have no names; give guard names, or arguments, or call it with one object`);
}

function isPlain(v: unknown): v is Record<string, unknown> {
  if (!isObject(v)) return false;
  const prototype: unknown = Object.getPrototypeOf(v);
  return prototype === Object.prototype || prototype === null;
}

/** Copies a value that is JSON. What JSON would drop or change cannot be evaluated, and is refused. */
function plain(tool: string, value: unknown, depth: number): unknown {
  if (depth > maxDepth) throw notJSON(tool, "an object that is too deep");
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw notJSON(tool, String(value));
  }
  if (Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype) {
    const items = fields(tool, value);
    if (items.size !== value.length) throw notJSON(tool, "an array with gaps or names");
    return Array.from({ length: value.length }, (_, i) => plain(tool, items.get(String(i)), depth + 1));
  }
  if (isPlain(value)) {
    const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, item] of [...fields(tool, value)].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (item !== undefined) out[name] = plain(tool, item, depth + 1);
    }
    return out;
  }
  throw notJSON(tool, typeof value === "object" ? (value?.constructor?.name ?? "an object") : typeof value);
}

/** The values of an object or array by name. A function could read others from a getter, a hidden field or a symbol: they are refused. */
function fields(tool: string, value: object): Map<string, unknown> {
  const out = new Map<string, unknown>();
  for (const name of Reflect.ownKeys(value)) {
    if (name === "length" && Array.isArray(value)) continue;
    const field = Object.getOwnPropertyDescriptor(value, name);
    if (typeof name === "symbol") throw notJSON(tool, "a symbol");
    if (!field || !("value" in field)) throw notJSON(tool, `a getter: ${name}`);
    if (!field.enumerable) throw notJSON(tool, `a hidden field: ${name}`);
    out.set(name, field.value);
  }
  return out;
}

function notJSON(tool: string, what: string): NotEvaluated {
  return new NotEvaluated("unevaluated", `${tool} was not run: its arguments are not JSON (${what}); give guard arguments, which makes them so`);
}
