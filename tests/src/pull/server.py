#!/usr/bin/env python3
"""A server that speaks the part of the hub's API that `tandem pull` uses, with faults.

    server.py PORT_FILE LOG_FILE [CERTIFICATE KEY]

The port is written to PORT_FILE; each request is one line of LOG_FILE: method, path, Range, Authorization, each '-' when
absent. The first part of a request's path may name a fault (HF_ENDPOINT=http://127.0.0.1:PORT/cut); FAULTS says what
each does. GET /release lets go what 'hold' holds."""
import hashlib
import http.server
import json
import os
import random
import ssl
import sys
import threading
import urllib.parse

FAULTS = {
    "cut": "the first two answers with a file's bytes end in the middle",
    "cuts": "every answer ends after its headers",
    "hash": "a byte of every file is wrong",
    "401": "no access token is good enough", "403": "access is restricted", "404": "nothing is there",
    "500": "the first answer is 500",
    "denied": "the files, not the list, ask for a token",
    "416": "no part of a file can be had, only the whole",
    "norange": "parts are answered with the whole",
    "otherrange": "another part than was asked for",
    "429": "the first request of each kind is too many; Retry-After in seconds",
    "429date": "the same, with a date that has passed", "429long": "the same, for a day",
    "redirect": "files are at another host", "relative": "files are elsewhere on this host",
    "loop": "redirects without an end", "nowhere": "a redirect to no address", "toftp": "a redirect to another protocol",
    "hold": "files stop in the middle until /release",
    "long": "files are longer than was said", "etag": "files have changed since they were listed",
    "ownetag": "a mirror that has ETags of its own",
    "size": "files have another size since they were listed",
    "hugejson": "an answer without an end", "badjson": "an answer that is no JSON", "pages": "pages without an end",
    "page": "a web page in a file's place",
    "pageagain": "the first answer ends in the middle, then a web page comes",
    "pageredirect": "files are behind a redirect to a web page",
    "pagechunks": "a web page in chunks that doesn't say what it is", "textchunks": "the same, of plain text",
    "textopen": "the first answer is plain text, whose end is the connection's", "textsized": "plain text with its length",
    "pagepart": "a web page that claims to be the part that was asked for",
    "pagelist": "a web page in the place of the list of files",
    "needtoken": "requests without the token are refused",
}


def noise(seed, size):
    return random.Random(seed).randbytes(size)


def entry(path, data, large=None):
    """As the tree lists a file; small files are git blobs."""
    large = path.endswith((".gguf", ".safetensors")) if large is None else large
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    e = {"type": "file", "path": path, "size": len(data), "oid": blob}
    if large:
        e["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 135}
    return e


class Repository:
    def __init__(self, files, entries=(), revision=None, page=1000):
        self.files = files
        self.entries = [{"type": "directory", "path": "folder", "size": 0, "oid": "0" * 40}]
        self.entries += [entry(path, data) for path, data in files.items()] + list(entries)
        self.revision = revision or {}
        self.page = page
        self.commit = hashlib.sha1(repr(sorted(files)).encode()).hexdigest()


def folder(path):
    return {name: open(os.path.join(path, name), "rb").read() for name in sorted(os.listdir(path))
            if os.path.isfile(os.path.join(path, name))}


QWEN = {"gguf": {"architecture": "qwen35"}}
REPOSITORIES = {
    "a/small-GGUF": Repository({
        "small-Q4_K_M.gguf": noise(1, 3000001), "small-Q8_0.gguf": noise(2, 5000), "small-UD-Q4_K_XL.gguf": noise(3, 4000),
        "imatrix_small.gguf": noise(5, 100), "mtp-small-Q4_K_M.gguf": noise(6, 100),
        "README.md": b"# small\n"}, revision=QWEN),
    "a/seeing-GGUF": Repository({
        "Q8_0/seeing-Q8_0-00001-of-00002.gguf": noise(60, 300), "Q8_0/seeing-Q8_0-00002-of-00002.gguf": noise(61, 200),
        "seeing-Q4_K_M.gguf": noise(62, 4000), "mmproj-F16.gguf": noise(4, 100), "mmproj-BF16.gguf": noise(63, 1100)},
        revision=QWEN),
    "a/ud-GGUF": Repository({"ud-UD-Q4_K_XL.gguf": noise(7, 1000), "ud-Q8_0.gguf": noise(8, 2000)}, revision=QWEN),
    "a/odd-GGUF": Repository({"odd-Q3_K_M.gguf": noise(9, 1000), "odd-Q6_K.gguf": noise(10, 2000),
                              "odd-BF16.gguf": noise(11, 4000)}, revision=QWEN),
    "a/split-GGUF": Repository({
        **{f"Q4_K_M/split-Q4_K_M-0000{i}-of-00003.gguf": noise(20 + i, 1000 * i) for i in (1, 2, 3)},
        "split-Q8_0-00001-of-00002.gguf": noise(30, 10)}, revision=QWEN),
    "a/whole": Repository({**folder("tests/goldens/tiny-a"), "README.md": b"x", "onnx/model.safetensors": noise(31, 10),
                           "consolidated.safetensors": noise(32, 10), "empty.txt": b""},
                          revision={"config": {"model_type": "qwen3_5"}}),
    "a/parts": Repository({
        **{name: data for name, data in folder("tests/goldens/tiny-a").items() if name != "model.safetensors"},
        "model.safetensors.index.json": json.dumps({"weight_map": {
            "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors", "m": "mtp.safetensors"}}).encode(),
        "model-00001-of-00002.safetensors": noise(40, 10), "model-00002-of-00002.safetensors": noise(41, 10),
        "mtp.safetensors": noise(42, 10), "other.safetensors": noise(43, 10), "consolidated.safetensors": noise(44, 10),
        "original/model.safetensors": noise(45, 10), "pytorch_model.bin": noise(46, 10)}),
    "a/lost": Repository({"config.json": b"{}", "tokenizer.json": b"{}", "model-00001-of-00002.safetensors": b"x",
                          "model.safetensors.index.json": b'{"weight_map": {"a": "gone.safetensors"}}'}),
    "a/damaged": Repository({"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": b"x",
                             "model.safetensors.index.json": b'{"weight_map": {"a": "../../x"}}'}),
    "a/demo-GGUF": Repository({"demo-Q6_K.gguf": open("assets/tandem-demo-51m-q6_k.gguf", "rb").read()}, revision=QWEN),
    "a/many-GGUF": Repository({f"many-{i}.txt": b"x" for i in range(7)} | {"zz-Q4_K_M.gguf": noise(33, 50)}, page=3),
    "a/mamba-GGUF": Repository({"l-Q4_K_M.gguf": b"x"}, revision={"gguf": {"architecture": "mamba"}}),
    "a/empty": Repository({"README.md": b"x"}),
    "a/huge-GGUF": Repository({}, [{"type": "file", "path": "huge-Q4_K_M.gguf", "size": 10**15, "oid": "0" * 40,
                                    "lfs": {"oid": "0" * 64, "size": 10**15}}]),
    "a/evil-GGUF": Repository({"evil-Q4_K_M.gguf": noise(34, 60)}, [entry(path, b"x") for path in (
        "../../../evil-Q4_K_M.gguf", "/evil-Q4_K_M.gguf", "a/../evil-Q4_K_M.gguf", "a//evil-Q4_K_M.gguf",
        "./evil-Q4_K_M.gguf", "a\\evil-Q4_K_M.gguf", "evil\x1b[31m-Q4_K_M.gguf", "evil\u202e-Q4_K_M.gguf",
        "evil\0-Q4_K_M.gguf", "x" * 300 + "-Q4_K_M.gguf")]),
    "a/badsha-GGUF": Repository({"x-Q4_K_M.gguf": b"x"}, revision={"sha": "../../../../tmp"}),
    "a/baddigest-GGUF": Repository({}, [{"type": "file", "path": "x-Q4_K_M.gguf", "size": 5, "oid": "../x"}]),
    "a/badsize-GGUF": Repository({}, [{"type": "file", "path": "x-Q4_K_M.gguf", "size": -5, "oid": "0" * 40}]),
}
released = threading.Event()
seen, lock = {}, threading.Lock()
log = open(sys.argv[2], "a", buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def count(self, what):
        with lock:
            seen[what] = seen.get(what, 0) + 1
            return seen[what]

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock:
            log.write(" ".join((self.command, self.path, self.headers.get("Range", "-").replace(" ", "_"),
                                self.headers.get("Authorization", "-").replace(" ", "_"))) + "\n")
        url = urllib.parse.urlsplit(self.path)
        parts = url.path.strip("/").split("/")
        if parts == ["release"]:
            released.set()
            return self.answer(200)
        fault = parts.pop(0) if parts[0] in FAULTS else ""
        if fault in ("401", "403", "404"):
            return self.answer(int(fault), b"{}", X_Error_Message="no\x1b[31m")
        if fault == "needtoken" and self.headers.get("Authorization") != "Bearer hf_secret":
            return self.answer(401)
        if fault == "500" and self.count("500") == 1:
            return self.answer(500)
        kind = "tree" if "tree" in parts else parts[0] if parts[0] == "api" else "file"
        if fault.startswith("429") and self.count((fault, kind)) == 1:
            after = {"429": "1", "429date": "Wed, 21 Oct 2015 07:28:00 GMT", "429long": "86400"}[fault]
            return self.answer(429, Retry_After=after)
        if fault in ("loop", "nowhere", "toftp"):
            return self.answer(302, Location={"loop": self.path, "nowhere": "http://", "toftp": "ftp://x/y"}[fault])
        if parts[0] == "api":
            return self.api(fault, parts, urllib.parse.parse_qs(url.query))
        return self.file(fault, parts)

    def api(self, fault, parts, query):
        repository = REPOSITORIES.get("/".join(parts[2:4]))
        if not repository:
            return self.answer(404)
        if fault == "pagelist" and parts[4] == "tree":
            return self.page("page", {}, 0)
        if fault == "badjson":
            return self.answer(200, b'{"sha": nonsense')
        if fault == "hugejson":
            return self.answer(200, b'{"sha":"' + b"x" * (40 << 20) + b'"}')
        if parts[4] == "revision":
            return self.answer(200, json.dumps({"sha": repository.commit, **repository.revision}).encode())
        at = int(query.get("cursor", ["0"])[0])
        entries, headers = repository.entries[at:at + repository.page], {}
        if at + repository.page < len(repository.entries) or fault == "pages":
            headers["Link"] = f'<{self.path.split("?")[0]}?recursive=true&cursor={at + repository.page}>; rel="next"'
        self.answer(200, json.dumps(entries).encode(), **headers)

    def file(self, fault, parts):
        moved = parts[0] == "moved"
        parts = parts[1:] if moved else parts
        repository = REPOSITORIES["/".join(parts[:2])]
        path = urllib.parse.unquote("/".join(parts[4:]))
        data = repository.files[path]
        listed = entry(path, data)
        etag = listed["lfs"]["oid"] if "lfs" in listed else listed["oid"]
        known = {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(data))}
        if fault == "denied":
            return self.answer(401)
        if fault == "pageredirect" and not moved:
            return self.answer(302, b"<html>moved</html>", Location=f"/{fault}/moved/" + "/".join(parts), **known)
        turn = self.count(("turn", fault, path))
        if fault.startswith(("page", "text")) and (fault, turn == 1) not in (("pageagain", True), ("textopen", False)):
            return self.page(fault, {} if fault in ("pagechunks", "textsized") else known, len(data))
        if fault in ("redirect", "relative") and not moved:
            host = f"http://localhost:{self.server.server_port}" if fault == "redirect" else ""
            return self.answer(302, Location=f"{host}/{fault}/moved/" + "/".join(parts), **known)
        if fault == "etag":
            known["X-Linked-Etag"] = '"' + "1" * 64 + '"'
        if fault == "ownetag":
            known = {"ETag": 'W/"66f-ab12"'}
        if fault == "size":
            known["X-Linked-Size"] = str(len(data) + 1)
        if fault == "hash":
            data = bytes([data[0] ^ 1]) + data[1:]
        if fault == "long":
            data += b"more"
        self.send_bytes(fault, path, data, {"ETag": '"of-another-host"'} if moved else known)

    def page(self, fault, known, size):
        """What a proxy or a sign-in sends for a file."""
        kind, body = "text/html; charset=utf-8", b"<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n"
        if fault.startswith("text"):
            kind, body = "text/plain", b"Please sign in\n"
        chunks, sized = fault.endswith("chunks"), not fault.endswith(("chunks", "open"))
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start and fault == "pagepart" else 200)
        if not chunks:
            self.send_header("Content-Type", kind)
        if fault == "pagepart":
            known = known | {"Content-Range": f"bytes {start}-{size - 1}/{size}"}
            body = body.ljust(size - start)
        for name, value in known.items():
            self.send_header(name, value)
        self.send_header(*("Content-Length", str(len(body))) if sized else ("Transfer-Encoding", "chunked") if chunks
                         else ("Connection", "close"))
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunks else body)

    def send_bytes(self, fault, path, data, headers):
        start, wanted = 0, self.headers.get("Range")
        if wanted and fault != "norange":
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if fault == "416" or start >= len(data):
                return self.answer(416, **{"Content-Range": f"bytes */{len(data)}"})
        shown = start + 1 if fault == "otherrange" else start
        self.send_response(206 if start else 200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {shown}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        end = len(data)
        if fault == "cuts":
            end = start
        elif fault == "pageagain" or fault == "cut" and self.count(("cut", path)) <= 2:
            end = start + (len(data) - start) // 2
        elif fault == "hold" and not released.is_set():
            middle = start + (len(data) - start) // 2
            self.wfile.write(data[start:middle])
            self.wfile.flush()
            released.wait()
            start = middle
        self.wfile.write(data[start:end])
        if end < len(data):
            self.close_connection = True


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.handle_error = lambda *_: None
server.serve_forever()
