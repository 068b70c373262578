// The client of a Tenet server.

import type { Call, Caller, CallOptions, Settings } from "./call.js";
import { checkMedia, decode, pauseAfter, problem, read, segment, send, Time } from "./call.js";
import { AnswerError, DeadlineError } from "./errors.js";
import type { GuardOptions } from "./guard.js";
import { guard } from "./guard.js";
import type { EvaluateRequest, Evaluation, InputFile, QuickRequest, SubmissionAnswer, SubmissionRequest, SubmissionState } from "./models.js";
import { Operations } from "./operations.js";
import type { StreamEvent } from "./stream.js";
import { Events } from "./stream.js";

/** Settings of a client. All have defaults. */
export interface ClientOptions {
  /** Address of the server; TENET_URL, or http://127.0.0.1:8080. */
  url?: string;
  /** API key; TENET_KEY, or none. */
  key?: string;
  /** Project that the calls concern; the server's choice if absent. */
  project?: string;
  /** Milliseconds for a whole call, repetitions included; 60,000. */
  timeoutMs?: number;
  /** Agent that acts, as evaluations name it; absent means the one of the key. */
  agent?: string;
  /** Session of the agent, by its own id. */
  session?: string;
  /** Person for whom the agent acts; absent means the owner of the key. */
  onBehalfOf?: string;
  /** In place of the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** A request for an evaluation. Files may be given as contents by path. */
export type EvaluateInput = Omit<EvaluateRequest, "files"> & { files?: InputFile[] | Record<string, string> | null };

/** Options of a call that evaluates. */
export interface EvaluateOptions extends CallOptions {
  /** Name of the request: the server gives the same answer when it comes again. Chosen at random if absent. */
  idempotencyKey?: string;
}

const evaluatePath = "/api/v1/evaluate";
const submissionsPath = "/api/v1/submissions";

export class Client implements Caller {
  /** Every operation of the API. */
  readonly api: Operations;
  readonly #settings: Settings;

  constructor(options: ClientOptions = {}) {
    const url = (options.url ?? environment("TENET_URL") ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
    if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
      throw new TypeError(`"${url}" is not the address of a server; use one such as http://127.0.0.1:8080`);
    }
    this.#settings = {
      url,
      key: options.key ?? environment("TENET_KEY") ?? "",
      project: options.project ?? "",
      timeoutMs: options.timeoutMs ?? 60_000,
      agent: options.agent ?? "",
      session: options.session ?? "",
      onBehalfOf: options.onBehalfOf ?? "",
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    };
    this.api = new Operations(this);
  }

  /** A client with other settings. */
  withOptions(options: ClientOptions): Client {
    return new Client({ ...this.#settings, ...options });
  }

  /** Milliseconds that a call may take. */
  get timeoutMs(): number {
    return this.#settings.timeoutMs;
  }

  /** Evaluates a diff, files or facts and records the evaluation. Only overall_verdict === "ALLOW" is a permission. */
  evaluate(request: EvaluateInput, options: EvaluateOptions = {}): Promise<Evaluation> {
    return this.call({ ...this.#evaluation(evaluatePath, bodyOf(request)), headers: { "Idempotency-Key": options.idempotencyKey ?? name() } }, options, true);
  }

  /** Evaluates an action in plain words. */
  quick(action: string, request: Omit<QuickRequest, "action"> = {}, options: EvaluateOptions = {}): Promise<Evaluation> {
    const headers = { "Idempotency-Key": options.idempotencyKey ?? name() };
    return this.call({ ...this.#evaluation("/api/v1/evaluate/quick", { ...request, action }), headers }, options, true);
  }

  /** Evaluates a subject of any kind. */
  async submit(request: SubmissionRequest, options: EvaluateOptions = {}): Promise<SubmissionAnswer> {
    const { kind } = request.subject;
    const call = { ...this.#evaluation(submissionsPath, request), headers: submissionName(request, options) };
    const answer = await this.call<SubmissionAnswer>(call, options, true);
    if (answer.subject_kind !== kind || (request.submission_id && answer.submission_id !== request.submission_id)) {
      throw new AnswerError("the server's answer is about another submission than the one sent"); // a permission for something else is none
    }
    return answer;
  }

  /** Has a subject evaluated in the background; ask for it with wait. */
  submitLater(request: SubmissionRequest, options: EvaluateOptions = {}): Promise<SubmissionState> {
    return this.call({ ...this.#evaluation(submissionsPath, request), headers: { ...submissionName(request, options), Prefer: "respond-async" } }, options);
  }

  /** Waits until a submission is evaluated or has failed. */
  async wait(submissionId: string, options: CallOptions = {}): Promise<SubmissionState> {
    const deadline = Date.now() + (options.timeoutMs ?? this.#settings.timeoutMs);
    for (let pause = 100; ; pause = Math.min(pause * 1.5, 2000)) {
      const state = await this.api.getSubmission(submissionId, {}, { signal: options.signal });
      if (state.status === "completed" || state.status === "failed") return state;
      if (Date.now() + pause > deadline) throw new DeadlineError(`the submission ${submissionId} is still ${state.status}`);
      await new Promise((resolve) => setTimeout(resolve, pause));
      options.signal?.throwIfAborted();
    }
  }

  /** Evaluates and gives each verdict once it is final, then the evaluation. A verdict alone is not a permission. */
  async *stream(request: EvaluateInput, options: CallOptions = {}): AsyncGenerator<StreamEvent, void, void> {
    const call: Call = { ...this.#evaluation(evaluatePath, bodyOf(request)), headers: { Accept: "text/event-stream", "Idempotency-Key": name() } };
    const time = new Time(options.timeoutMs ?? this.#settings.timeoutMs, options.signal);
    let began = false;
    try {
      const response = await this.#attempts(call, time);
      began = true;
      yield* new Events(call, response).read();
    } catch (e) {
      throw time.error(call, this.#settings, e, began);
    } finally {
      time.end();
    }
  }

  /**
   * Wraps a function: each call is evaluated with its name and arguments before it runs. Only ALLOW lets it run. Otherwise, and whenever the
   * evaluation fails, the call rejects with an error of the class Refused.
   */
  guard<A extends unknown[], R>(options: GuardOptions<A>, run: (...args: A) => R): (...args: A) => Promise<Awaited<R>> {
    return guard(this, options, run);
  }

  /** Carries out any operation, also one that this version does not know. */
  async call<T>(call: Call, options: CallOptions = {}, isEvaluation = false): Promise<T> {
    const time = new Time(options.timeoutMs ?? this.#settings.timeoutMs, options.signal);
    let began = false;
    try {
      const response = await this.#attempts(call, time);
      began = true;
      const body = await read(call, response);
      if (call.answer === "none") return undefined as T;
      if (call.answer === "bytes") return body as T;
      checkMedia(call, response.headers);
      return decode(call, body, isEvaluation) as T;
    } catch (e) {
      throw time.error(call, this.#settings, e, began);
    } finally {
      time.end();
    }
  }

  /** A call that evaluates, with who acts. */
  #evaluation(path: string, request: object): Call {
    const { agent, session, onBehalfOf } = this.#settings;
    const who = { ...(agent && { agent }), ...(session && { session }), ...(onBehalfOf && { on_behalf_of: onBehalfOf }) };
    return { method: "POST", path, answer: "json", body: { ...who, ...request }, query: { project_id: undefined }, again: true };
  }

  /** Sends a request until it succeeds or is not to be sent again. */
  async #attempts(call: Call, time: Time): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const response = await send(this.#settings, call, time);
      if (response.ok) return response;
      const redirected = response.type === "opaqueredirect";
      const body = redirected ? new Uint8Array() : await read(call, response);
      const pause = pauseAfter(call, response, attempt, time.deadline);
      if (pause === undefined) throw problem(response.status, response.headers, body, redirected);
      await time.pause(pause);
    }
  }
}

/** The path of an approval. */
export function approvalPath(id: string): string {
  return `/api/v1/approvals/${segment(id)}`;
}

function bodyOf(request: EvaluateInput): EvaluateRequest {
  const { files, ...rest } = request;
  if (files === undefined || files === null || Array.isArray(files)) return { ...rest, ...(files ? { files } : {}) };
  return { ...rest, files: Object.entries(files).map(([path, content]) => ({ path, content })) };
}

function submissionName(request: SubmissionRequest, options: EvaluateOptions): Record<string, string | undefined> {
  return { "Idempotency-Key": options.idempotencyKey ?? (request.submission_id ? undefined : name()) };
}

/** A name for a request, by which the server recognizes it when it is sent again. */
function name(): string {
  const random = (globalThis as { crypto?: Crypto }).crypto;
  if (random?.randomUUID) return random.randomUUID();
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
}

function environment(variable: string): string | undefined {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
  return process?.env?.[variable] || undefined;
}
