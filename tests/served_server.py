"""A server on this machine that answers with a tiny causal model in the three dialects, and the
faults that servers have."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
import transformers

Json = dict[str, Any]
MODEL = "tiny"
ALL = ("vllm", "sglang", "echo")


@dataclass
class Answerer:
    """The numbers: a network in the folder, and what the tokens are called."""

    folder: Path
    model: Any = None
    tokenizer: Any = None

    def __post_init__(self) -> None:
        self.model = transformers.AutoModelForCausalLM.from_pretrained(self.folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder)
        self._lock = threading.Lock()
        self._logits: dict[tuple[int, ...], torch.Tensor] = {}  # every self-test asks the same

    def log_probs(self, ids: list[int], temperature: float = 1.0) -> torch.Tensor:
        """Log P(token | tokens up to each) [n, vocabulary]."""
        with self._lock, torch.inference_mode():
            if (key := tuple(ids)) not in self._logits:
                self._logits[key] = self.model(torch.tensor([ids])).logits[0]
        return (self._logits[key] / temperature).log_softmax(-1)


@dataclass
class Entry:
    """What the server says about a token of the prompt."""

    token: int
    log_prob: float | None
    text: str


def _same(value: Any) -> Any:
    return value


def _sent(body: bytes, n: int) -> bytes:
    return body


def _not_sent(handler: BaseHTTPRequestHandler, n: int) -> bool:
    return False


@dataclass
class Fault:
    """How a server goes wrong: in what it reads, in its entries, in the finished answer, or in
    how it sends it (`send` returns whether it did); n says how often the same was asked."""

    read: Callable[[list[int]], list[int]] = _same
    entries: Callable[[list[Entry]], list[Entry]] = _same
    answer: Callable[[Json], Json] = _same
    send: Callable[[BaseHTTPRequestHandler, int], bool] = _not_sent
    temperature: float | None = None  # instead of the one that is asked for
    drawn_temperature: float | None = None  # of generated tokens alone
    body: Callable[[bytes, int], bytes] = _sent

    @property
    def wrong(self) -> bool:
        """Whether it is in what the server says, and not in how it sends that."""
        sound = Fault()
        return (self.send, self.body) == (sound.send, sound.body)


@dataclass
class TestServer:
    """A running server: its address, the requests that it got, and the fault that it has."""

    __test__ = False
    answerer: Answerer
    dialects: tuple[str, ...] = ALL
    fault: Fault = field(default_factory=Fault)
    most_log_probs: bool = True  # vLLM's --max-logprobs -1
    key: str = ""
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)  # each request -> how often it came
    lock: Any = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def name(self) -> str:
        return f"openai:{self.url}#{MODEL}?tokenizer={self.answerer.folder}"

    # -- answers ----------------------------------------------------------------------------

    def read(self, ids: list[int], body: Json) -> tuple[list[Entry], torch.Tensor, Entry]:
        """The entries of a prompt, the log-probabilities behind it, and the token drawn."""
        sampling = body.get("sampling_params", body)
        temperature = self.fault.temperature or sampling.get("temperature", 0.5)
        ids = self.fault.read(ids)
        log_probs = self.answerer.log_probs(ids, temperature)
        values = [None, *log_probs[range(len(ids) - 1), ids[1:]].tolist()]
        texts = [self.answerer.tokenizer.decode([token]) for token in ids]
        entries = [Entry(*row) for row in zip(ids, values, texts, strict=True)]
        after = log_probs[-1]
        if self.fault.drawn_temperature:
            after = self.answerer.log_probs(ids, self.fault.drawn_temperature)[-1]
        drawn = int(after[: len(self.answerer.tokenizer)].argmax())
        text = self.answerer.tokenizer.decode([drawn])
        return self.fault.entries(entries), after, Entry(drawn, after[drawn].item(), text)

    def completions(self, body: Json) -> tuple[int, Json]:
        if body["model"] != MODEL:
            return 404, {"error": {"message": f"The model `{body['model']}` does not exist."}}
        if body.get("logprobs") == -1 and not self.most_log_probs:
            return 400, {"error": {"message": "logprobs of 340, which is greater than 20"}}
        entries, after, drawn = self.read(list(body["prompt"]), body)
        choice: Json = {"index": 0, "text": drawn.text, "prompt_logprobs": None}
        shown = [drawn]
        if body.get("echo") and "echo" in self.dialects:
            shown = [*entries, drawn]
        as_ids = body.get("return_tokens_as_token_ids") and "vllm" in self.dialects
        if body.get("logprobs") is not None:
            top = {f"token_id:{i}": value for i, value in enumerate(after.tolist())}
            choice["logprobs"] = {
                "tokens": [f"token_id:{e.token}" if as_ids else e.text for e in shown],
                "token_logprobs": [e.log_prob for e in shown],
                "top_logprobs": [top] if body["logprobs"] == -1 and as_ids else None,
            }
        if body.get("prompt_logprobs") is not None and "vllm" in self.dialects:
            choice["prompt_logprobs"] = [
                None if e.log_prob is None
                # (and the best token beside it, as vLLM has it)
                else {"0": {"logprob": -0.1, "rank": 1, "decoded_token": "x"}}
                | {str(e.token): {"logprob": e.log_prob, "rank": 3, "decoded_token": e.text}}
                for e in entries
            ]  # fmt: skip
        usage = {"prompt_tokens": len(self.fault.read(list(body["prompt"]))), "total_tokens": 9}
        return 200, {"object": "text_completion", "choices": [choice], "usage": usage}

    def generate(self, body: Json) -> tuple[int, Json]:
        entries, after, drawn = self.read(list(body["input_ids"]), body)
        kept = entries[body["logprob_start_len"] :]
        n, last = len(self.answerer.tokenizer), len(after) - 1
        # (SGLang shows the last token of the vocabulary as the first one)
        first = self.answerer.tokenizer.decode([0])
        rows = [
            [e.log_prob, 0, first] if e.token == last else [e.log_prob, e.token, e.text]
            for e in kept
        ]
        if rows:
            rows[0][0] = None
        meta: Json = {
            "prompt_tokens": len(self.fault.read(list(body["input_ids"]))),
            "input_token_logprobs": rows,
            "output_token_logprobs": [[drawn.log_prob, drawn.token, drawn.text]],
        }
        if wanted := body.get("token_ids_logprob"):
            if max(wanted) >= len(after):
                return 400, {"error": {"message": f"valid range is [0, {n})"}}
            meta["output_token_ids_logprobs"] = [[[after[i].item(), i, None] for i in wanted]]
        return 200, {"text": drawn.text, "meta_info": meta}

    def answer(self, path: str, body: Json) -> tuple[int, Json]:
        if path == "/v1/models":
            return 200, {"data": [{"id": MODEL, "max_model_len": 128}]}
        if path == "/v1/completions":
            return self.completions(body)
        if path == "/generate" and "sglang" in self.dialects:
            return self.generate(body)
        return 404, {"detail": "Not Found"}


@contextmanager
def running(server: TestServer) -> Iterator[TestServer]:
    """The server, answering while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            body = json.loads(text or "{}")
            with server.lock:
                server.asked[self.path + text] += 1
                n = server.asked[self.path + text]
            self.close_connection = False
            if server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
                said = f"Incorrect key: {self.headers.get('Authorization')}"
                return self.reply(401, {"error": {"message": said}}, n)
            if server.fault.send(self, n):
                self.close_connection = True
                return None
            status, answer = server.answer(self.path, body)
            return self.reply(status, server.fault.answer(answer) if status == 200 else answer, n)

        def reply(self, status: int, answer: Json, n: int) -> None:
            whole = json.dumps(answer).encode()
            data = server.fault.body(whole, n)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    http = Quiet(("127.0.0.1", 0), Handler)
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def states(status: int, every: int = 0, headers: Json | None = None) -> Fault:
    """Answers with an HTTP status and nothing else, but to each `every`-th asking of the same."""

    def send(handler: BaseHTTPRequestHandler, n: int) -> bool:
        if every and n % every == 0:
            return False
        handler.send_response(status)
        for key, value in (headers or {}).items():
            handler.send_header(key, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    return Fault(send=send)


def trickles(handler: BaseHTTPRequestHandler, n: int) -> bool:
    """A byte now and then, without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    with suppress(OSError):
        for _ in range(1000):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)
    return True
