// Serves one GGUF model as OpenAI's chat completions do, on the loopback address, one request after the other. A JSON schema is enforced
// by a grammar. The text that a request shares with the one before is not read again, as servers of small models do.
// usage: node server.mjs MODEL.gguf PORT
import {createServer} from "node:http";
import {getLlama, LlamaChatSession} from "node-llama-cpp";

const [file, port] = process.argv.slice(2);
const llama = await getLlama({build: "never", gpu: false, maxThreads: Number(process.env.THREADS || 2)});
const model = await llama.loadModel({modelPath: file});
const context = await model.createContext({contextSize: 8192, sequences: 1});
const sequence = context.getSequence();
const grammars = new Map();

async function grammarOf(format) {
	const schema = format?.json_schema?.schema;
	if (!schema) return undefined;
	const key = JSON.stringify(schema);
	// The library knows oneOf, and takes anyOf for nothing.
	if (!grammars.has(key)) grammars.set(key, await llama.createGrammarForJsonSchema(JSON.parse(key.replaceAll(`"anyOf":`, `"oneOf":`))));
	return grammars.get(key);
}

async function complete(body) {
	const system = body.messages.filter((m) => m.role === "system").map((m) => m.content).join("\n");
	const user = body.messages.filter((m) => m.role === "user").map((m) => m.content).join("\n");
	const before = sequence.tokenMeter.getState();
	const session = new LlamaChatSession({contextSequence: sequence, systemPrompt: system, autoDisposeSequence: false});
	try {
		const answer = await session.promptWithMeta(user, {
			grammar: await grammarOf(body.response_format), temperature: 0, maxTokens: body.max_tokens || 1024, trimWhitespaceSuffix: true,
		});
		const used = sequence.tokenMeter.diff(before);
		return {
			choices: [{finish_reason: answer.stopReason === "maxTokens" ? "length" : "stop", message: {role: "assistant", content: answer.responseText}}],
			usage: {prompt_tokens: used.usedInputTokens, completion_tokens: used.usedOutputTokens},
		};
	} finally {
		session.dispose({disposeSequence: false});
	}
}

let last = Promise.resolve();
createServer((request, response) => {
	const reply = (status, value) => {
		response.writeHead(status, {"content-type": "application/json"});
		response.end(JSON.stringify(value));
	};
	if (request.method === "GET") return reply(200, {data: [{id: "local"}]});
	let text = "";
	request.on("data", (part) => (text += part));
	request.on("end", () => {
		last = last.then(async () => {
			if (response.destroyed) return; // the asker has gone
			reply(200, await complete(JSON.parse(text)));
		}).catch((error) => reply(500, {error: {message: String(error)}}));
	});
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));
