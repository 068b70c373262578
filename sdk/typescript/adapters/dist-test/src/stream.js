// Server-sent events of an evaluation.
import { decode, isObject, mediaOf, parse, piecesOf, problem } from "./call.js";
import { AnswerError } from "./errors.js";
const maxStream = 64 << 20;
/** Reads the events of an answer. A stream that ends without an evaluation is an error. */
export class Events {
    #call;
    #response;
    constructor(call, response) {
        const media = mediaOf(response.headers);
        if (media !== "text/event-stream") {
            throw new AnswerError(`${call.method} ${call.path}: the server's answer is "${media}" in place of events; is it a Tenet server?`);
        }
        this.#call = call;
        this.#response = response;
    }
    async *read() {
        const decoder = new TextDecoder();
        let rest = "";
        let size = 0;
        for await (const piece of piecesOf(this.#response)) {
            size += piece.length;
            if (size > maxStream)
                throw this.#error("has more than 64 MiB", "too_large");
            const events = (rest + decoder.decode(piece, { stream: true })).replaceAll("\r\n", "\n").split("\n\n");
            rest = events.pop() ?? "";
            for (const text of events) {
                const event = this.#event(text);
                if (!event)
                    continue;
                yield event;
                if (event.kind === "done")
                    return;
            }
        }
        throw this.#error("ended before the evaluation");
    }
    #event(text) {
        let kind = "";
        const data = [];
        for (const line of text.split("\n")) {
            if (line.startsWith("event:"))
                kind = line.slice(6).trim();
            else if (line.startsWith("data:"))
                data.push(line.slice(5).replace(/^ /, ""));
        }
        const body = new TextEncoder().encode(data.join("\n"));
        switch (kind) {
            case "verdict":
                return { kind, verdict: decode(this.#call, body, false) };
            case "done":
                return { kind, evaluation: decode(this.#call, body, true) };
            case "error": {
                const given = parse(body);
                throw problem(isObject(given) ? Number(given["status"]) || 500 : 500, this.#response.headers, body, false);
            }
            default:
                return undefined;
        }
    }
    #error(why, code = "answer") {
        return new AnswerError(`${this.#call.method} ${this.#call.path}: the server's stream ${why}`, code);
    }
}
