// Errors. Each has a code; none of them is ever a permission.

import type { Evaluation, SubmissionAnswer } from "./models.js";

/** Code of an error: one of those of the server, or why there is no answer. */
export type Code =
  | "invalid"
  | "not_found"
  | "conflict"
  | "precondition_failed"
  | "unauthenticated"
  | "forbidden"
  | "unavailable"
  | "too_large"
  | "rate_limited"
  | "internal"
  | "timeout"
  | "answer"
  | "denied"
  | "unconfirmed"
  | "unevaluated"
  | (string & {});

/** Any error of this package. */
export class TenetError extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The server has not answered in time. */
export class DeadlineError extends TenetError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("timeout", message, options);
  }
}

/** No server answers at the address. */
export class UnreachableError extends TenetError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("unavailable", message, options);
  }
}

/** An answer that is not understood, is incomplete, or contradicts itself. */
export class AnswerError extends TenetError {
  constructor(message: string, code: "answer" | "too_large" = "answer", options?: { cause?: unknown }) {
    super(code, message, options);
  }
}

/** An answer of the server that is not a success (RFC 9457). */
export class ProblemError extends TenetError {
  /** Status of HTTP; 0 for a redirect that a browser hides. */
  readonly status: number;
  /** Under this id the server has logged the request; may be empty. */
  readonly requestId: string;
  /** What is wrong with each field of the request. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, code: Code, message: string, requestId: string, fields: Record<string, string>) {
    super(code, Object.entries(fields).reduce((text, [name, why]) => `${text}; ${name}: ${why}`, message));
    this.status = status;
    this.requestId = requestId;
    this.fields = fields;
  }
}

/** A guarded function was not run: denied by a rule, without the confirmation that it needs, or not evaluated. */
export class Refused extends TenetError {
  /** The evaluation that refused; undefined if there is none. */
  readonly evaluation: Evaluation | SubmissionAnswer | undefined;

  constructor(
    code: "denied" | "unconfirmed" | "unevaluated",
    message: string,
    evaluation?: Evaluation | SubmissionAnswer,
    options?: { cause?: unknown },
  ) {
    super(code, message, options);
    this.evaluation = evaluation;
  }
}

/** A rule denies the call. */
export class Denied extends Refused {}

/** The call needs the confirmation of a person, and has none. */
export class NotConfirmed extends Refused {}

/** The call could not be evaluated. Its cause is the reason. */
export class NotEvaluated extends Refused {}
