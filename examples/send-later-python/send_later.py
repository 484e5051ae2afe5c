"""Sends a message at a set time and waits for the webhook that reports the result."""

import base64
import hashlib
import hmac
import json
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

API = os.environ.get("CARILLON_API_URL", "http://localhost:3000")
SECRET = os.environ["CARILLON_CLIENT_SECRET"]
WEBHOOKS = f"/a/{os.environ['CARILLON_CLIENT_ID']}/webhooks"
AS_ACCOUNT = "Bearer " + os.environ["CARILLON_ACCESS_TOKEN"]
AS_APPLICATION = "Basic " + base64.b64encode(f"{SECRET}:".encode()).decode()


def call(method, path, authorization, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, method=method)
    sent = {"Authorization": authorization, "Content-Type": "application/json", **(headers or {})}
    for name, value in sent.items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        message = json.load(error).get("message")
        raise SystemExit(f"{method} {path}: {error.code} {message}") from None


def is_signed(headers, body):
    """True if the delivery was signed with our secret in the last five minutes."""
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{headers.get('webhook-id')}.{timestamp}.".encode() + body
    digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    return hmac.compare_digest(expected.encode(), headers.get("webhook-signature", "").encode())


results = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self):
        # When a webhook is created, the server asks for its challenge back.
        challenge = parse_qs(urlsplit(self.path).query).get("challenge", [""])[0]
        self.respond(200, challenge.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_signed(self.headers, body):
            self.respond(401)
            return
        # Respond soon; a delivery without a 200 is repeated.
        self.respond(200)
        for delta in json.loads(body)["deltas"]:
            results.put((delta["object_data"]["id"], delta["type"], delta["object_data"]["attributes"]))

    def respond(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    receiver = ThreadingHTTPServer(("", int(os.environ.get("PORT", "4000"))), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    here = os.environ.get("CALLBACK_URL", f"http://localhost:{receiver.server_port}/")
    print(f"Receiving webhooks at {here}", flush=True)

    triggers = ["job.successful", "job.failed"]
    # An earlier run that was killed may have left its webhook, and an address can have only one.
    for old in call("GET", WEBHOOKS, AS_APPLICATION):
        if old["callback_url"] == here:
            call("DELETE", f"{WEBHOOKS}/{old['id']}", AS_APPLICATION)
    webhook = call("POST", WEBHOOKS, AS_APPLICATION, {"callback_url": here, "triggers": triggers})
    try:
        message = {
            "to": [{"email": os.environ.get("TO", "bo@sandbox.test")}],
            "subject": "See you tomorrow",
            "body": "<p>Until tomorrow!</p>",
            "send_at": int(time.time()) + int(os.environ.get("SECONDS", "60")),
        }
        # If this request is repeated, the message is not sent twice.
        key = {"Idempotency-Key": str(uuid.uuid4())}
        job = call("POST", "/v2/outbox", AS_ACCOUNT, message, key)
        print(f"Message {job['job_status_id']} is due at {time.ctime(job['send_at'])}", flush=True)
        while True:
            job_id, kind, attributes = results.get()
            if job_id == job["job_status_id"]:
                break
        reason = (attributes.get("extras") or {}).get("reason")
        print(f"{kind}: {reason}" if reason else kind)
        return 0 if kind == "job.successful" else 1
    except KeyboardInterrupt:
        return 130  # the message is still sent
    finally:
        call("DELETE", f"{WEBHOOKS}/{webhook['id']}", AS_APPLICATION)


if __name__ == "__main__":
    sys.exit(main())
