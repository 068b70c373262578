// The client against a real server with the starter rules: the program that TENET_PROGRAM names, or that of the checkout.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { check, Client, DeadlineError, Denied, guardTools, NotConfirmed, NotEvaluated, ProblemError, UnreachableError } from "../src/index.js";

const program = process.env["TENET_PROGRAM"] ?? join(process.cwd(), "..", "..", "bin", "tenet");
const settings = 'import os\n\nAWS_KEY = "AKIAIOSFODNN7EXAMPLE"\n';
const data = mkdtempSync(join(tmpdir(), "tenet-sdk-"));
let server: ChildProcess;
let client: Client;

before(async () => {
  server = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--data", data, "--log-format", "json"], { stdio: ["ignore", "ignore", "pipe"] });
  const url = await new Promise<string>((resolve, reject) => {
    server.once("exit", (code) => reject(new Error(`${program} serve has ended with ${code}`)));
    createInterface({ input: server.stderr! }).on("line", (line) => {
      if (!line.startsWith("{")) return;
      const entry = JSON.parse(line) as { msg: string; url: string };
      if (entry.msg === "serving") resolve(entry.url);
    });
  });
  client = new Client({ url, key: "" });
  await client.api.createRule({
    slug: "SDK-1",
    statement: "Transfers above 1,000 are not made by programs.",
    severity: "CRITICAL",
    status: "EFFECTIVE",
    applies_to: { kinds: ["tool_call"] },
    check: { when: "facts.tool == 'transfer'", cel: "facts.arguments.amount <= 1000", message: "too large for a program" },
  });
});

after(async () => {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
  rmSync(data, { recursive: true, force: true });
});

test("a file that breaks a rule", async () => {
  const e = await client.evaluate({ files: { "settings.py": settings } });
  assert.equal(e.overall_verdict, "DENY");
  assert.ok(e.violations.some((v) => v.locations[0]?.file_path === "settings.py" && v.locations[0].start_line === 3));
  const record = await client.api.getEvaluation(e.evaluation_id);
  assert.equal(record.evaluation?.overall_verdict, "DENY");
});

test("a stream ends with the evaluation", async () => {
  const kinds: string[] = [];
  for await (const event of client.stream({ files: { "settings.py": settings } })) {
    kinds.push(event.kind);
    if (event.kind === "done") assert.equal(event.evaluation.overall_verdict, "DENY");
  }
  assert.ok(kinds.length > 1);
  assert.equal(kinds.at(-1), "done");
});

test("submissions have a name", async () => {
  const request = {
    subject: { kind: "transaction", transaction_type: "payment", amount: 42000, currency: "EUR", facts: { requester: "a", approver: "a" } },
    submission_id: `PMT-${randomUUID()}`,
  } as const;
  const first = await client.submit(request);
  assert.equal(first.overall_verdict, "DENY");
  assert.equal((await client.submit(request)).evaluation_id, first.evaluation_id);
  await assert.rejects(client.submit({ ...request, subject: { kind: "transaction", amount: 1 } }), (e) => e instanceof ProblemError && e.status === 409);
});

test("work in the background", async () => {
  const state = await client.submitLater({ subject: { kind: "communication", channel: "email", content: "Hello" } });
  assert.equal((await client.wait(state.submission_id)).status, "completed");
});

test("rules and lists", async () => {
  const page = await client.api.listRules({ severity: "CRITICAL", pageSize: 5 });
  assert.equal(page.items.length, 5);
  const rule = await client.api.getRule("SDK-1");
  const changed = await client.api.reviseRule(rule.id, { rationale: "Programs make mistakes at speed." }, { ifMatch: `"${rule.version}"` });
  assert.equal(changed.version, rule.version + 1);
  await assert.rejects(client.api.reviseRule(rule.id, { rationale: "late" }, { ifMatch: '"1"' }), { code: "precondition_failed" });
  const since = new Date(Date.now() - 3_600_000);
  assert.ok((await client.api.listEvaluations({ since })).items.length > 0);
});

test("problems name their fields", async () => {
  await assert.rejects(client.evaluate({ facts: {}, max_rules: 0 }), (e) => {
    assert.ok(e instanceof ProblemError);
    assert.equal(e.code, "invalid");
    assert.deepEqual(Object.keys(e.fields), ["max_rules"]);
    assert.ok(e.requestId);
    return true;
  });
  await assert.rejects(client.api.getRule("NO-1"), { code: "not_found" });
});

test("a guarded function", async () => {
  const runs: number[] = [];
  const transfer = client.guard({ server: "bank", names: ["account", "amount"] }, function transfer(account: string, amount: number): string {
    runs.push(amount);
    return `${amount} to ${account}`;
  });
  await assert.rejects(transfer("NL01", 5000), (e) => {
    assert.ok(e instanceof Denied);
    assert.match(e.message, /too large for a program/);
    assert.equal(e.evaluation?.overall_verdict, "DENY");
    return true;
  });
  assert.deepEqual(runs, []);
  assert.equal(await transfer("NL01", 500), "500 to NL01");
  await assert.rejects(check(client, "transfer", { amount: 2000 }), Denied);
  function transferNow(amount: number): void {
    assert.fail(`must not run with ${amount}`);
  }
  Object.defineProperty(transferNow, "name", { value: "transfer" });
  await assert.rejects(client.guard({ names: ["amount"] }, transferNow.bind(null))(5000), Denied); // by the name of what is bound
});

test("a refusal says that no rule covers a call", async () => {
  const closeAccount = client.guard({ server: "bank" }, function closeAccount(_: { account: string }) {
    assert.fail("must not run");
  });
  await assert.rejects(closeAccount({ account: "NL01" }), (e) => {
    assert.ok(e instanceof NotConfirmed);
    assert.match(e.message, /No rule covers this/);
    return true;
  });
});

test("arguments that cannot be shown are not run", async () => {
  const send = client.guard({ tool: "send" }, (_: { to: unknown }) => assert.fail("must not run"));
  const cycle: { to: unknown } = { to: null };
  cycle.to = cycle;
  for (const to of [Number.NaN, 10n, new Date(), new Map(), () => 1, Symbol("x"), cycle, [undefined]]) {
    await assert.rejects(send({ to }), NotEvaluated);
  }
  // What a function can read although no rule would see it.
  let reads = 0;
  const getter = { get amount() { return reads++ < 3 ? 1 : 5000; } };
  const hidden = Object.defineProperty({ amount: 1 }, "really", { value: 5000 });
  const named = Object.assign([1], { amount: 5000 });
  class Other extends Array<number> {
    override *[Symbol.iterator](): ArrayIterator<number> {
      yield 1;
    }
  }
  for (const to of [getter, hidden, { amount: 1, [Symbol("really")]: 5000 }, named, Other.of(5000), Array<number>(1)]) {
    await assert.rejects(send({ to }), /are not JSON/);
    const { pay } = guardTools(client, { pay: { execute: (_: unknown): void => assert.fail("must not run") } });
    await assert.rejects(async () => pay.execute({ to }), /are not JSON/);
  }
  const positional = client.guard({ tool: "send" }, (_a: string, _b: string) => assert.fail("must not run"));
  await assert.rejects(positional("a", "b"), /names/);
  assert.throws(() => client.guard({ tool: "send", names: ["a", "a"] }, (_a: number, _b: number) => undefined), /same name/);
});

test("arguments that change meanwhile are not run", async () => {
  const call = { amount: 1 };
  const changing = new Client({
    url: "http://tenet.invalid",
    fetch: (async () => {
      call.amount = 5000;
      const e = await client.submit({ subject: { kind: "tool_call", tool: "transfer", arguments: { amount: 1 } } });
      assert.equal(e.overall_verdict, "ALLOW");
      return new Response(JSON.stringify(e), { headers: { "Content-Type": "application/json" } });
    }) as typeof fetch,
  });
  const move = changing.guard({ tool: "transfer" }, (_: { amount: number }) => assert.fail("must not run"));
  await assert.rejects(move(call), /changed while they were evaluated/);
});

test("nothing changes arguments between the last look and the run", async () => {
  const allowed = await client.submit({ subject: { kind: "tool_call", tool: "transfer", arguments: { amount: 1 } } });
  const patient = new Client({
    url: "http://tenet.invalid",
    fetch: (async () => new Response(JSON.stringify(allowed), { headers: { "Content-Type": "application/json" } })) as typeof fetch,
  });
  const call = { amount: 1 };
  let over = false;
  const turning = (async () => {
    while (!over) {
      for (let i = 0; i < 100; i++) {
        await null;
        call.amount = call.amount === 1 ? 5000 : 1;
      }
      await new Promise(setImmediate);
    }
  })();
  let runs = 0;
  const run = (seen: { amount: number }): void => {
    runs++;
    assert.equal(seen.amount, 1);
  };
  const move = patient.guard({ tool: "transfer" }, run);
  const { transfer } = guardTools(patient, { transfer: { execute: run } });
  try {
    for (let i = 0; i < 200; i++) {
      for (const act of [move, transfer.execute]) {
        call.amount = 1;
        try {
          await act(call);
        } catch (e) {
          assert.ok(e instanceof NotEvaluated || e instanceof Denied, String(e));
        }
      }
    }
  } finally {
    over = true;
    await turning;
  }
  assert.ok(runs > 0);
});

test("addresses, times and signals", async () => {
  for (const url of ["localhost:8080", "ftp://x", "http://"]) assert.throws(() => new Client({ url }), TypeError);
  await assert.rejects(client.evaluate({ facts: {} }, { timeoutMs: 0 }), TypeError);
  await assert.rejects(new Client({ url: "http://127.0.0.1:1" }).evaluate({ facts: {} }), UnreachableError);
  await assert.rejects(client.evaluate({ facts: {} }, { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
  const never = new Client({ url: "http://tenet.invalid", timeoutMs: 50, fetch: (_, init) => new Promise((_r, fail) => init?.signal?.addEventListener("abort", () => fail(init.signal?.reason))) });
  await assert.rejects(never.evaluate({ facts: {} }), DeadlineError);
});
