// Runs the vectors that say how every client behaves.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";

import type { EvaluateInput, SubmissionRequest } from "../src/index.js";
import { Client, ProblemError, Refused, TenetError } from "../src/index.js";
import type { Answer, Fields } from "./fake.js";
import { fake, vectors } from "./fake.js";

interface Vector {
  name: string;
  not?: string[];
  client?: { key?: string; project?: string; timeout_ms?: number; agent?: string; session?: string; on_behalf_of?: string };
  call: string;
  idempotency_key?: string;
  input: Fields;
  answers: Answer[];
  expect: {
    requests?: number;
    within_ms?: number;
    same?: string[];
    different?: string[];
    sent?: { method?: string; path?: string; query?: Fields; headers?: Record<string, string | null>; body?: unknown }[];
    verdict?: string;
    slug?: string;
    events?: string[];
    error?: string;
    refusal?: string;
    ran?: boolean;
    message?: string;
    status?: number;
    request_id?: string;
    fields?: Record<string, string>;
  };
}

interface Outcome {
  verdict: string;
  slug: string;
  ran: boolean;
  events: string[];
  error?: TenetError;
}

async function run(url: string, v: Vector): Promise<Outcome> {
  const out: Outcome = { verdict: "", slug: "", ran: false, events: [] };
  const { key = "", project, agent, session, on_behalf_of: onBehalfOf, timeout_ms: timeoutMs = 20_000 } = v.client ?? {};
  const client = new Client({ url, key, project, agent, session, onBehalfOf, timeoutMs });
  const input = v.input;
  const named = v.idempotency_key ? { idempotencyKey: v.idempotency_key } : {};
  try {
    switch (v.call) {
      case "evaluate":
        out.verdict = (await client.evaluate(input as EvaluateInput, named)).overall_verdict;
        break;
      case "quick":
        out.verdict = (await client.quick(input["action"] as string, {}, named)).overall_verdict;
        break;
      case "submit":
        out.verdict = (await client.submit(input as unknown as SubmissionRequest, named)).overall_verdict;
        break;
      case "rule":
        out.slug = (await client.api.getRule(input["id"] as string)).slug ?? "";
        break;
      case "stream":
        for await (const e of client.stream(input as EvaluateInput)) {
          if (e.kind === "done") out.verdict = e.evaluation.overall_verdict;
          out.events.push(e.kind === "done" ? "done" : `${e.verdict.rule_slug} ${e.verdict.verdict}`);
        }
        break;
      case "guard": {
        const { arguments: args, amount, ...options } = input;
        const transfer = client.guard(options as { wait?: number }, function transfer(_: Fields): void {
          out.ran = true;
        });
        await transfer(amount === undefined ? (args as Fields) : { ...(args as Fields), amount: special(amount as string) });
        break;
      }
      default:
        assert.fail(v.call);
    }
  } catch (e) {
    if (!(e instanceof TenetError)) throw e;
    out.error = e;
  }
  return out;
}

/** The value of JavaScript that a vector names. */
function special(word: string): unknown {
  let nested: unknown[] = [];
  for (let i = 0; i < 70; i++) nested = [nested];
  class Transfer {
    amount = 200;
  }
  const values: Fields = {
    date: new Date(Date.UTC(2026, 0, 2)),
    bytes: new Uint8Array([50, 48, 48]),
    set: new Set([200]),
    "not a number": NaN,
    infinity: Infinity,
    object: new Transfer(),
    nested,
  };
  assert.ok(word in values, word);
  return values[word];
}

const files = readdirSync(vectors).filter((f) => f.endsWith(".yaml"));
const all = files.flatMap((f) => (parse(readFileSync(join(vectors, f), "utf8")) as Vector[]).map((v) => ({ file: f, v })));

test("all vectors are there", () => {
  assert.ok(all.length > 70);
});

for (const { file, v } of all) {
  if (v.not?.includes("typescript")) continue;
  test(`${file}: ${v.name}`, async () => {
    const server = await fake(v.answers);
    try {
      const started = performance.now();
      const out = await run(server.url, v);
      const want = v.expect;
      assert.ok(performance.now() - started < (want.within_ms ?? 60_000));
      assert.equal(out.error?.code ?? "", want.error ?? want.refusal ?? "", out.error?.message);
      assert.equal(out.verdict, want.verdict ?? "");
      assert.equal(out.slug, want.slug ?? "");
      assert.equal(out.ran, want.ran ?? false);
      if (want.events) assert.deepEqual(out.events, want.events);
      assert.equal(out.error instanceof Refused, want.refusal !== undefined);
      assert.ok((out.error?.message ?? "").includes(want.message ?? ""), out.error?.message);
      const problem = out.error instanceof ProblemError ? out.error : undefined;
      if (want.status) assert.equal(problem?.status, want.status);
      if (want.request_id) assert.equal(problem?.requestId, want.request_id);
      if (want.fields) assert.deepEqual(problem?.fields, want.fields);
      if (want.requests) assert.equal(server.received.length, want.requests);
      (want.sent ?? []).forEach((sent, i) => {
        const got = server.received[i];
        assert.ok(got, `request ${i + 1} was not sent`);
        if (sent.method) assert.equal(got.method, sent.method);
        if (sent.path) assert.equal(got.path, sent.path);
        if (sent.query) assert.deepEqual(got.query, sent.query);
        for (const [name, value] of Object.entries(sent.headers ?? {})) assert.equal(got.headers[name.toLowerCase()] ?? null, value);
        if (sent.body) assert.deepEqual(got.body, sent.body);
      });
      const evaluations = server.received.filter((r) => ["/api/v1/evaluate", "/api/v1/evaluate/quick", "/api/v1/submissions"].includes(r.path));
      for (const name of [...(want.same ?? []), ...(want.different ?? [])]) {
        const values = evaluations.map((r) => r.headers[name.toLowerCase()]);
        assert.ok(values.every(Boolean));
        assert.equal(new Set(values).size, want.same?.includes(name) ? 1 : evaluations.length);
      }
    } finally {
      await server.close();
    }
  });
}
