// Tools of the AI SDK, with a fake model, against a real server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { Client, guardTools } from "../src/index.js";
const program = process.env["TENET_PROGRAM"] ?? "";
const data = mkdtempSync(join(tmpdir(), "tenet-sdk-"));
let server;
let client;
before(async () => {
    server = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--data", data, "--log-format", "json"], { stdio: ["ignore", "ignore", "pipe"] });
    const url = await new Promise((resolve, reject) => {
        server.once("exit", (code) => reject(new Error(`${program} serve has ended with ${code}`)));
        createInterface({ input: server.stderr }).on("line", (line) => {
            if (line.includes('"serving"'))
                resolve(JSON.parse(line).url);
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
const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
};
/** Lets a model call transfer once, and returns what it was told. */
async function run(c, amount, amounts, streaming = false) {
    let calls = 0;
    const model = new MockLanguageModelV3({
        doGenerate: () => {
            calls++;
            return Promise.resolve(calls === 1
                ? {
                    content: [{ type: "tool-call", toolCallId: "c-1", toolName: "transfer", input: JSON.stringify({ account: "NL01", amount }) }],
                    finishReason: { unified: "tool-calls", raw: undefined },
                    usage,
                    warnings: [],
                }
                : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] });
        },
    });
    const inputSchema = z.object({ account: z.string(), amount: z.number() });
    const plain = tool({
        inputSchema,
        execute: async ({ account, amount }) => {
            amounts.push(amount);
            return Promise.resolve(`${amount} to ${account}`);
        },
    });
    const stepwise = tool({
        inputSchema,
        async *execute({ account, amount }) {
            amounts.push(amount);
            yield "on its way";
            await Promise.resolve();
            yield `${amount} to ${account}`;
        },
    });
    const tools = guardTools(c, { transfer: streaming ? stepwise : plain });
    await generateText({ model, prompt: "Pay", tools, stopWhen: stepCountIs(3) });
    return JSON.stringify(model.doGenerateCalls.at(-1)?.prompt.at(-1));
}
test("an allowed call runs", async () => {
    const amounts = [];
    assert.match(await run(client, 5, amounts), /5 to NL01/);
    assert.match(await run(client, 6, amounts, true), /6 to NL01/);
    assert.deepEqual(amounts, [5, 6]);
});
test("a denied call does not run, and the model is told why", async () => {
    const amounts = [];
    assert.match(await run(client, 5000, amounts), /SDK-1: too large for a program/);
    assert.match(await run(client, 5000, amounts, true), /SDK-1: too large for a program/);
    assert.deepEqual(amounts, []);
});
test("without a server nothing runs", async () => {
    const amounts = [];
    assert.match(await run(new Client({ url: "http://127.0.0.1:1", timeoutMs: 20_000 }), 5, amounts), /could not be evaluated/);
    assert.deepEqual(amounts, []);
});
