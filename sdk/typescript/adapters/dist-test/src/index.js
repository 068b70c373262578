/** Client of Tenet: asks before an action whether the rules of an organisation allow it. */
export { Client } from "./client.js";
export * from "./errors.js";
export { check } from "./guard.js";
export { Operations } from "./operations.js";
export { guardTools } from "./tools.js";
