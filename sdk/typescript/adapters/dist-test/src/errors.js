// Errors. Each has a code; none of them is ever a permission.
/** Any error of this package. */
export class TenetError extends Error {
    code;
    constructor(code, message, options) {
        super(message, options);
        this.name = new.target.name;
        this.code = code;
    }
}
/** The server has not answered in time. */
export class DeadlineError extends TenetError {
    constructor(message, options) {
        super("timeout", message, options);
    }
}
/** No server answers at the address. */
export class UnreachableError extends TenetError {
    constructor(message, options) {
        super("unavailable", message, options);
    }
}
/** An answer that is not understood, is incomplete, or contradicts itself. */
export class AnswerError extends TenetError {
    constructor(message, code = "answer", options) {
        super(code, message, options);
    }
}
/** An answer of the server that is not a success (RFC 9457). */
export class ProblemError extends TenetError {
    /** Status of HTTP; 0 for a redirect that a browser hides. */
    status;
    /** Under this id the server has logged the request; may be empty. */
    requestId;
    /** What is wrong with each field of the request. */
    fields;
    constructor(status, code, message, requestId, fields) {
        super(code, Object.entries(fields).reduce((text, [name, why]) => `${text}; ${name}: ${why}`, message));
        this.status = status;
        this.requestId = requestId;
        this.fields = fields;
    }
}
/** A guarded function was not run: denied by a rule, without the confirmation that it needs, or not evaluated. */
export class Refused extends TenetError {
    /** The evaluation that refused; undefined if there is none. */
    evaluation;
    constructor(code, message, evaluation, options) {
        super(code, message, options);
        this.evaluation = evaluation;
    }
}
/** A rule denies the call. */
export class Denied extends Refused {
}
/** The call needs the confirmation of a person, and has none. */
export class NotConfirmed extends Refused {
}
/** The call could not be evaluated. Its cause is the reason. */
export class NotEvaluated extends Refused {
}
