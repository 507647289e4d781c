"""Request body in, response body out: the OpenAI chat-completions protocol as a pure function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.models.apprentice import MODEL_NAME
from harness.models.apprentice.agent import next_move
from harness.models.apprentice.view import Move, read_view

OPTIMIZER_MARK = "You improve agent skills."


def tokens(text: str) -> int:
    """A stable estimate; a scripted model has no tokenizer."""
    return max(1, len(text) // 4)


def message_of(move: Move, salt: str) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{hashlib.sha256(f'{salt}{number}'.encode()).hexdigest()[:16]}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for number, call in enumerate(move.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": move.text}
    return {**message, "tool_calls": calls} if calls else message


def respond(body: Mapping[str, Any]) -> dict[str, Any]:
    """The chat completion for a request body."""
    view = read_view(body)
    if OPTIMIZER_MARK in view.system:
        from harness.models.apprentice.optimizer import propose

        move = propose(view)
    else:
        move = next_move(view)
    prompt = json.dumps(body.get("messages") or [])
    salt = f"{view.seed}{len(view.steps)}{hashlib.sha256(prompt.encode()).hexdigest()}"
    message = message_of(move, salt)
    used, made = tokens(prompt), tokens(json.dumps(message))
    return {
        "id": f"chatcmpl-{hashlib.sha256(salt.encode()).hexdigest()[:20]}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL_NAME,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if move.calls else "stop"}
        ],
        "usage": {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made},
    }
