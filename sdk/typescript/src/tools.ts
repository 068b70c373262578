// Sets of tools, such as those of the AI SDK.

import type { Client } from "./client.js";
import type { CheckOptions } from "./guard.js";
import { checked } from "./guard.js";
import { isObject } from "./call.js";

/**
 * Copies a set of tools so that each evaluates its name and input before it runs. Only ALLOW lets it run; otherwise it rejects with Refused,
 * whose message frameworks pass on to the model. Tools without execute are not run by this program, and stay as they are.
 */
export function guardTools<T extends Record<string, object>>(client: Client, tools: T, options: CheckOptions = {}): T {
  const out: Record<string, object> = {};
  for (const [name, tool] of Object.entries(tools)) {
    const execute: unknown = (tool as { execute?: unknown }).execute;
    out[name] = typeof execute === "function" ? { ...tool, execute: guarded(client, name, execute as Execute, tool, options) } : tool;
  }
  return out as T;
}

type Execute = (input: unknown, ...more: unknown[]) => unknown;

function guarded(client: Client, name: string, execute: Execute, tool: object, options: CheckOptions): Execute {
  function allowed(input: unknown, more: unknown[]): Promise<() => void> {
    const signal = isObject(more[0]) && more[0]["abortSignal"] instanceof AbortSignal ? more[0]["abortSignal"] : options.signal;
    return checked(client, name, () => (isObject(input) ? input : { input }), { ...options, signal });
  }
  if (execute.constructor.name === "AsyncGeneratorFunction") {
    return async function* (input, ...more) {
      const same = await allowed(input, more);
      same();
      yield* execute.call(tool, input, ...more) as AsyncGenerator<unknown>;
    };
  }
  return async (input, ...more) => {
    const same = await allowed(input, more);
    same();
    return await execute.call(tool, input, ...more);
  };
}
