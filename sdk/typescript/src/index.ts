/** Client of Tenet: asks before an action whether the rules of an organisation allow it. */
export { Client } from "./client.js";
export type { ClientOptions, EvaluateInput, EvaluateOptions } from "./client.js";
export type { Call, CallOptions, Caller } from "./call.js";
export * from "./errors.js";
export { check } from "./guard.js";
export type { CheckOptions, GuardOptions } from "./guard.js";
export type * from "./models.js";
export { Operations } from "./operations.js";
export { guardTools } from "./tools.js";
export type { StreamEvent } from "./stream.js";
