// Requests, answers, and the decision to ask again.

import { AnswerError, DeadlineError, ProblemError, TenetError, UnreachableError } from "./errors.js";
import { flaw, isEvaluation } from "./flaw.js";

/** Options of one call. */
export interface CallOptions {
  /** Ends the call; it then fails with the reason of the signal. */
  signal?: AbortSignal;
  /** Milliseconds for the whole call, repetitions included. */
  timeoutMs?: number;
}

/** One operation. */
export interface Call {
  method: string;
  path: string;
  answer: "json" | "bytes" | "none";
  body?: unknown;
  query?: Record<string, unknown>;
  headers?: Record<string, string | undefined>;
  form?: Record<string, string | Blob | undefined>;
  /** It may be sent again although the server may have carried it out. */
  again?: boolean;
}

/** Carries out operations. */
export interface Caller {
  call<T>(call: Call, options: CallOptions): Promise<T>;
}

/** What all calls of a client have in common. */
export interface Settings {
  url: string;
  key: string;
  project: string;
  timeoutMs: number;
  agent: string;
  session: string;
  onBehalfOf: string;
  fetch: typeof globalThis.fetch;
}

const maxAnswer = 64 << 20; // bytes: a server must not be able to fill the memory of its callers
const maxExport = 512 << 20;
const maxProblem = 1 << 20;
const maxAttempts = 4;
const firstPause = 250; // milliseconds
const longestPause = 30_000;

const codes: Record<number, string> = {
  400: "invalid",
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  405: "invalid",
  409: "conflict",
  412: "precondition_failed",
  413: "too_large",
  415: "invalid",
  422: "invalid",
  429: "rate_limited",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

const phrases: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Escapes a parameter as one segment of a path. */
export function segment(value: string | number): string {
  return encodeURIComponent(String(value)).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The time for one call: a deadline, and the signal of the caller. */
export class Time {
  readonly deadline: number;
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #caller: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort(this.#caller?.reason);
  #late = false;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    if (!(timeoutMs > 0)) throw new TypeError("timeoutMs must be more than 0");
    this.deadline = Date.now() + timeoutMs;
    this.#caller = signal;
    this.#timer = setTimeout(
      () => {
        this.#late = true;
        this.#controller.abort();
      },
      Math.min(timeoutMs, 2 ** 31 - 1),
    );
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#abort);
  }

  /** The error of a connection that failed, before or after the answer began. */
  error(call: Call, settings: Settings, cause: unknown, began: boolean): unknown {
    if (cause instanceof TenetError) return cause;
    if (this.#late) return new DeadlineError(`${call.method} ${call.path}: no answer from ${settings.url} in time`, { cause });
    if (this.#caller?.aborted) return this.#caller.reason;
    if (began) return new AnswerError(`${call.method} ${call.path}: the server's answer broke off`, "answer", { cause });
    return new UnreachableError(`no answer from ${settings.url}: ${detail(cause)}; is \`tenet serve\` running there?`, { cause });
  }

  /** Waits, unless the time ends before. */
  async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(this.signal.reason);
      };
      const timer = setTimeout(() => {
        this.signal.removeEventListener("abort", stop);
        resolve();
      }, ms);
      this.signal.addEventListener("abort", stop, { once: true });
    });
  }
}

function detail(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? `${cause.message} (${cause.cause.message})` : cause.message;
}

/** Sends a request once. The body of the answer is still to be read. */
export async function send(settings: Settings, call: Call, time: Time): Promise<Response> {
  const url = new URL(settings.url + call.path);
  for (const [name, given] of Object.entries(call.query ?? {})) {
    const value = name === "project_id" && given === undefined && settings.project ? settings.project : given;
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, one instanceof Date ? one.toISOString() : String(one));
  }
  const headers = new Headers({ Accept: "application/json, application/problem+json, */*;q=0.1" });
  if (settings.key) headers.set("Authorization", `Bearer ${settings.key}`);
  for (const [name, value] of Object.entries(call.headers ?? {})) if (value !== undefined) headers.set(name, value);
  let body: string | FormData | undefined;
  if (call.form) {
    body = new FormData();
    for (const [name, value] of Object.entries(call.form)) if (value !== undefined) body.append(name, value);
  } else if (call.body !== undefined) {
    body = JSON.stringify(call.body);
    headers.set("Content-Type", "application/json");
  }
  return settings.fetch(url, { method: call.method, headers, body, redirect: "manual", signal: time.signal });
}

/** Reads the body of an answer up to a limit. */
export async function read(call: Call, response: Response): Promise<Uint8Array> {
  const limit = !response.ok ? maxProblem : call.answer === "bytes" ? maxExport : maxAnswer;
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(response)) {
    size += piece.length;
    if (size > limit) throw new AnswerError(`${call.method} ${call.path}: the server's answer has more than ${limit >> 20} MiB`, "too_large");
    pieces.push(piece);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** The pieces of a body. Whoever stops early closes the connection. */
export async function* piecesOf(response: Response): AsyncGenerator<Uint8Array, void, void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The error of an answer that is not a success. It has a message for any body. */
export function problem(status: number, headers: Headers, body: Uint8Array, redirected: boolean): ProblemError {
  let code: string = codes[status] ?? "internal";
  let requestId = headers.get("X-Request-Id") ?? "";
  const location = headers.get("Location");
  if (redirected || (status >= 300 && status < 400 && location)) {
    return new ProblemError(status, "invalid", `the server redirects to ${location ?? "another address"}; use that address`, requestId, {});
  }
  let message = phrases[status] ? `the server answered ${phrases[status]}` : `the server answered with the status ${status}`;
  const fields: Record<string, string> = {};
  const given = parse(body);
  if (isObject(given)) {
    const b = isObject(given["error"]) ? { code: given["error"]["code"], detail: given["error"]["message"] } : given;
    const said = (b as Record<string, unknown>)["detail"] || (b as Record<string, unknown>)["title"];
    if (typeof said === "string") {
      message = said;
      if (typeof b["code"] === "string" && b["code"]) code = b["code"];
      const id = (b as Record<string, unknown>)["request_id"];
      if (typeof id === "string" && id) requestId = id;
      const errors = (b as Record<string, unknown>)["errors"];
      for (const f of Array.isArray(errors) ? errors : []) {
        if (isObject(f)) fields[String(f["field"] ?? String(f["location"] ?? "").replace(/^body\./, ""))] = String(f["message"] ?? "");
      }
    }
  }
  return new ProblemError(status, code, message, requestId, fields);
}

/** Milliseconds to wait before a request is sent again; undefined if it is not. 429 refuses before any work is done. */
export function pauseAfter(call: Call, response: Response, attempt: number, deadline: number): number | undefined {
  const again = call.again || call.headers?.["Idempotency-Key"] !== undefined;
  if (attempt >= maxAttempts || !(response.status === 429 || (response.status === 503 && again))) return undefined;
  let ms = retryAfter(response.headers.get("Retry-After") ?? "");
  if (ms === undefined) {
    const longest = firstPause * 2 ** (attempt - 1);
    ms = longest / 2 + Math.random() * (longest / 2);
  }
  return ms > longestPause || Date.now() + ms >= deadline ? undefined : ms;
}

function retryAfter(header: string): number | undefined {
  if (/^\d+$/.test(header)) return Math.min(Number(header), 3600) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(at - Date.now(), 0);
}

/** Decodes the JSON of an answer, and refuses an evaluation that contradicts itself. */
export function decode(call: Call, body: Uint8Array, evaluation: boolean): unknown {
  const value = parse(body);
  if (value === undefined) throw new AnswerError(`${call.method} ${call.path}: the server's answer is not understood`);
  if (evaluation || isEvaluation(value)) {
    const wrong = flaw(value);
    if (wrong) throw new AnswerError(wrong);
  }
  return value;
}

/** Refuses an answer of a media type that is no JSON, such as the sign-in page of a network. */
export function checkMedia(call: Call, headers: Headers): void {
  const media = mediaOf(headers);
  if (media !== "" && media !== "text/plain" && media !== "application/json" && !media.endsWith("+json")) {
    throw new AnswerError(`${call.method} ${call.path}: the server's answer is "${media}" in place of JSON; is it a Tenet server?`);
  }
}

export function mediaOf(headers: Headers): string {
  return (headers.get("Content-Type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

export function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

export function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}
