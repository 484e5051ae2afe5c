"""Consumes each event of a webhook exactly once.

The work for an event and the cursor after it are written in one transaction of your own database.
If the program is killed, both are there or none.
"""

import base64
import json
import os
import sys
import time
import urllib.parse
import urllib.request

import psycopg2

APPLICATION = f"{os.environ['CARILLON_API_URL']}/a/{os.environ['CARILLON_CLIENT_ID']}"
SECRET = os.environ["CARILLON_CLIENT_SECRET"]
WEBHOOK = os.environ["WEBHOOK_ID"]
HEADERS = {
    "Authorization": "Basic " + base64.b64encode(f"{SECRET}:".encode()).decode(),
    "Content-Type": "application/json",
}

SELECT = "select cursor from feed_cursor where webhook_id = %s"


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{APPLICATION}{path}", data=data, headers=HEADERS)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def handle(sql, delta):
    """Your work for one event. Use only this database: other effects would not be undone."""
    sql.execute("insert into handled_event values (%s, %s)", (delta["event_id"], delta["type"]))


def consume_page(database):
    with database, database.cursor() as sql:
        sql.execute(SELECT, (WEBHOOK,))
        cursor = sql.fetchone()[0]
    query = {"webhook_id": WEBHOOK, "cursor": cursor, "limit": 20, "timeout": 30}
    page = call("/events?" + urllib.parse.urlencode(query))
    # `with database` commits, or rolls back after an error.
    with database, database.cursor() as sql:
        sql.execute(SELECT + " for update", (WEBHOOK,))
        if sql.fetchone()[0] != cursor:
            return  # another process of this program was faster
        for delta in page["deltas"]:
            handle(sql, delta)
        sql.execute(
            "update feed_cursor set cursor = %s where webhook_id = %s",
            (page["cursor_end"], WEBHOOK),
        )
    # Only for the console and for GET /webhooks/{id}: the cursor that counts is in this database.
    call("/events/ack", {"webhook_id": WEBHOOK, "cursor": page["cursor_end"]})


def main():
    database = psycopg2.connect(os.environ["DATABASE_URL"])
    with database, database.cursor() as sql:
        sql.execute(
            """
            create table if not exists feed_cursor (webhook_id text primary key, cursor text not null);
            create table if not exists handled_event (event_id text not null, type text not null)
            """
        )
        # '0' is the oldest stored event.
        sql.execute("insert into feed_cursor values (%s, '0') on conflict do nothing", (WEBHOOK,))
    print("Consuming. Stop with Ctrl-C.", flush=True)
    while True:
        try:
            consume_page(database)
        except urllib.error.HTTPError as error:
            # 410: the cursor is too old, read everything again.
            print(error.code, error.read().decode(), file=sys.stderr)
            time.sleep(1)
        except urllib.error.URLError as error:
            print(error.reason, file=sys.stderr)
            time.sleep(1)


if __name__ == "__main__":
    main()
