// The client of a Tenet server.
import { checkMedia, decode, pauseAfter, problem, read, segment, send, Time } from "./call.js";
import { DeadlineError } from "./errors.js";
import { guard } from "./guard.js";
import { Operations } from "./operations.js";
import { Events } from "./stream.js";
const evaluatePath = "/api/v1/evaluate";
const submissionsPath = "/api/v1/submissions";
export class Client {
    /** Every operation of the API. */
    api;
    #settings;
    constructor(options = {}) {
        const url = (options.url ?? environment("TENET_URL") ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
        if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
            throw new TypeError(`"${url}" is not the address of a server; use one such as http://127.0.0.1:8080`);
        }
        this.#settings = {
            url,
            key: options.key ?? environment("TENET_KEY") ?? "",
            project: options.project ?? "",
            timeoutMs: options.timeoutMs ?? 60_000,
            fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
        };
        this.api = new Operations(this);
    }
    /** A client with other settings. */
    withOptions(options) {
        return new Client({ ...this.#settings, ...options });
    }
    /** Milliseconds that a call may take. */
    get timeoutMs() {
        return this.#settings.timeoutMs;
    }
    /** Evaluates a diff, files or facts and records the evaluation. Only overall_verdict === "ALLOW" is a permission. */
    evaluate(request, options = {}) {
        return this.call({ ...evaluation(evaluatePath, bodyOf(request)), headers: { "Idempotency-Key": options.idempotencyKey ?? name() } }, options, true);
    }
    /** Evaluates an action in plain words. */
    quick(action, request = {}, options = {}) {
        const headers = { "Idempotency-Key": options.idempotencyKey ?? name() };
        return this.call({ ...evaluation("/api/v1/evaluate/quick", { ...request, action }), headers }, options, true);
    }
    /** Evaluates a subject of any kind. */
    submit(request, options = {}) {
        return this.call({ ...evaluation(submissionsPath, request), headers: submissionName(request, options) }, options, true);
    }
    /** Has a subject evaluated in the background; ask for it with wait. */
    submitLater(request, options = {}) {
        return this.call({ ...evaluation(submissionsPath, request), headers: { ...submissionName(request, options), Prefer: "respond-async" } }, options);
    }
    /** Waits until a submission is evaluated or has failed. */
    async wait(submissionId, options = {}) {
        const deadline = Date.now() + (options.timeoutMs ?? this.#settings.timeoutMs);
        for (let pause = 100;; pause = Math.min(pause * 1.5, 2000)) {
            const state = await this.api.getSubmission(submissionId, {}, { signal: options.signal });
            if (state.status === "completed" || state.status === "failed")
                return state;
            if (Date.now() + pause > deadline)
                throw new DeadlineError(`the submission ${submissionId} is still ${state.status}`);
            await new Promise((resolve) => setTimeout(resolve, pause));
            options.signal?.throwIfAborted();
        }
    }
    /** Evaluates and gives each verdict once it is final, then the evaluation. A verdict alone is not a permission. */
    async *stream(request, options = {}) {
        const call = { ...evaluation(evaluatePath, bodyOf(request)), headers: { Accept: "text/event-stream" } };
        const time = new Time(options.timeoutMs ?? this.#settings.timeoutMs, options.signal);
        let began = false;
        try {
            const response = await this.#attempts(call, time);
            began = true;
            yield* new Events(call, response).read();
        }
        catch (e) {
            throw time.error(call, this.#settings, e, began);
        }
        finally {
            time.end();
        }
    }
    /**
     * Wraps a function: each call is evaluated with its name and arguments before it runs. Only ALLOW lets it run. Otherwise, and whenever the
     * evaluation fails, the call rejects with an error of the class Refused.
     */
    guard(options, run) {
        return guard(this, options, run);
    }
    /** Carries out any operation, also one that this version does not know. */
    async call(call, options = {}, isEvaluation = false) {
        const time = new Time(options.timeoutMs ?? this.#settings.timeoutMs, options.signal);
        let began = false;
        try {
            const response = await this.#attempts(call, time);
            began = true;
            const body = await read(call, response);
            if (call.answer === "none")
                return undefined;
            if (call.answer === "bytes")
                return body;
            checkMedia(call, response.headers);
            return decode(call, body, isEvaluation);
        }
        catch (e) {
            throw time.error(call, this.#settings, e, began);
        }
        finally {
            time.end();
        }
    }
    /** Sends a request until it succeeds or is not to be sent again. */
    async #attempts(call, time) {
        for (let attempt = 1;; attempt++) {
            const response = await send(this.#settings, call, time);
            if (response.ok)
                return response;
            const redirected = response.type === "opaqueredirect";
            const body = redirected ? new Uint8Array() : await read(call, response);
            const pause = pauseAfter(call, response, attempt, time.deadline);
            if (pause === undefined)
                throw problem(response.status, response.headers, body, redirected);
            await time.pause(pause);
        }
    }
}
/** The path of an approval. */
export function approvalPath(id) {
    return `/api/v1/approvals/${segment(id)}`;
}
function evaluation(path, body) {
    return { method: "POST", path, answer: "json", body, query: { project_id: undefined }, again: true };
}
function bodyOf(request) {
    const { files, ...rest } = request;
    if (files === undefined || files === null || Array.isArray(files))
        return { ...rest, ...(files ? { files } : {}) };
    return { ...rest, files: Object.entries(files).map(([path, content]) => ({ path, content })) };
}
function submissionName(request, options) {
    return { "Idempotency-Key": options.idempotencyKey ?? (request.submission_id ? undefined : name()) };
}
/** A name for a request, by which the server recognizes it when it is sent again. */
function name() {
    const random = globalThis.crypto;
    if (random?.randomUUID)
        return random.randomUUID();
    return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
}
function environment(variable) {
    const process = globalThis.process;
    return process?.env?.[variable] || undefined;
}
