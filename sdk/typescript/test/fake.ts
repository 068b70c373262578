// A server that answers as a vector says.

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

export type Fields = Record<string, unknown>;

export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  json?: unknown;
  evaluation?: Fields;
  rules?: Fields[];
  events?: (Answer & { event?: string; comment?: string; rule?: Fields })[];
  fill?: number;
  delay_ms?: number;
  retry_after_date?: number;
  cut?: number;
  drop?: boolean;
  drip_ms?: number;
  drip_body_ms?: number;
}

export interface Received {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingMessage["headers"];
  body: unknown;
}

export const vectors = process.env["TENET_VECTORS"] ?? join(process.cwd(), "..", "vectors");
const base = JSON.parse(readFileSync(join(vectors, "evaluation.json"), "utf8")) as Fields & { coverage: Fields; rule_verdicts: Fields[] };

function evaluation(changes: Fields, rules: Fields[] | undefined): Fields {
  const out: Fields = { ...base, ...changes, coverage: { ...base.coverage, ...(changes["coverage"] as Fields | undefined) } };
  if (rules) out["rule_verdicts"] = rules.map((r) => ({ ...base.rule_verdicts[0], ...r }));
  return out;
}

/** The body of an answer and its media type. */
function content(a: Answer): [string, string] {
  if (a.evaluation) return [JSON.stringify(evaluation(a.evaluation, a.rules)), "application/json"];
  if (a.json !== undefined) return [JSON.stringify(a.json), "application/json"];
  if (a.events) {
    const texts = a.events.map((e) => {
      if (e.comment) return `: ${e.comment}\n\n`;
      const value = e.rule ? { ...base.rule_verdicts[0], ...e.rule } : e.evaluation ? evaluation(e.evaluation, e.rules) : e.json;
      return `event: ${e.event}\ndata: ${JSON.stringify(value)}\n\n`;
    });
    return [texts.join(""), "text/event-stream"];
  }
  return [a.body ?? "", ""];
}

/** Writes a byte at a time, with a pause before each, until the client leaves. */
async function drip(to: Writable, data: Buffer, pauseMs: number): Promise<void> {
  for (let i = 0; i < data.length && !to.destroyed; i++) {
    await sleep(pauseMs);
    to.write(data.subarray(i, i + 1));
  }
}

/** Starts a server that gives each request the next answer; the last one is repeated. */
export async function fake(answers: Answer[]): Promise<{ url: string; received: Received[]; close: () => Promise<void> }> {
  const received: Received[] = [];
  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const url = new URL(req.url ?? "/", "http://x");
    received.push({
      method: req.method ?? "",
      path: (req.url ?? "").split("?")[0] ?? "",
      query: Object.fromEntries(url.searchParams),
      headers: req.headers,
      body: text ? (JSON.parse(text) as unknown) : null,
    });
    const a = answers[Math.min(received.length, answers.length) - 1]!;
    if (a.drop) {
      req.socket.destroy();
      return;
    }
    if (a.delay_ms) await sleep(a.delay_ms);
    const [body, media] = content(a);
    const headers: Record<string, string> = { ...(media ? { "Content-Type": media } : {}), ...a.headers, Connection: "close" };
    if (a.retry_after_date !== undefined) headers["Retry-After"] = new Date(Date.now() + a.retry_after_date * 1000).toUTCString();
    const data = Buffer.from(body);
    headers["Content-Length"] = String(a.cut ? 100_000 : (a.fill ?? 0) + data.length);
    if (a.drip_ms) {
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      await drip(req.socket, Buffer.from(`HTTP/1.1 ${a.status ?? 200} -\r\n${head.join("")}\r\n${body}`), a.drip_ms);
      req.socket.end();
      return;
    }
    res.writeHead(a.status ?? 200, headers);
    if (a.drip_body_ms) {
      res.flushHeaders();
      await drip(res, data, a.drip_body_ms);
      res.end();
      return;
    }
    const spaces = Buffer.alloc(1 << 16, " ");
    for (let left = a.fill ?? 0; left > 0 && !res.destroyed; left -= spaces.length) {
      if (!res.write(spaces.subarray(0, Math.min(left, spaces.length)))) await new Promise((r) => res.once("drain", r));
    }
    if (a.cut) {
      res.write(data.subarray(0, a.cut), () => req.socket.end());
      return;
    }
    res.end(data);
  }
  const server = createServer((req, res) => {
    answer(req, res).catch(() => req.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
