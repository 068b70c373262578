"""FastAPI and Starlette: a refused call is answered with 403, as a problem (RFC 9457).

    app = FastAPI(exception_handlers=refusals)
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse

from .. import errors

__all__ = ["refusals"]

STATUS = {"denied": 403, "unconfirmed": 403, "unevaluated": 503}


async def _refused(_: Request, e: Exception) -> JSONResponse:
    if not isinstance(e, errors.Refused):
        raise e
    status = STATUS.get(e.code, 503)
    body = {
        "type": f"urn:tenet:refusal:{e.code}",
        "title": {"denied": "The rules deny this", "unconfirmed": "A person has to confirm this"}.get(e.code, "This could not be evaluated"),
        "status": status,
        "code": e.code,
    }
    if e.evaluation is not None:  # why it could not be evaluated is for the log, not for the caller
        body["detail"], body["evaluation_id"] = str(e), e.evaluation.evaluation_id
    return JSONResponse(body, status, media_type="application/problem+json")


refusals = {errors.Refused: _refused}
"""Exception handlers for an application."""
