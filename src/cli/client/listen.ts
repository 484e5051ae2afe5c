import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import { ApiCommandError } from './error.ts';
import { call } from './groups/group.ts';
import { callApi, requireSetting } from './request.ts';
import { type ApiSettings, readSettings } from './settings.ts';

interface ListenFlags {
  forward: string;
  trigger?: string[];
  webhook?: string;
}

/** One event of the feed. */
interface Delta {
  event_id: string;
  sequence: number;
  type: string;
  cursor: string;
  object_data: { id: string };
}
interface Page {
  cursor_end: string;
  deltas: Delta[];
}

const POLL_SECONDS = 25;
const BATCH = 100;
/** How long the local receiver may take, as for deliveries. */
const ANSWER_MS = 10_000;
/** Pauses after the first, second, … failure in a row; the last one repeats. */
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 30_000] as const;
const WEBHOOKS = '/a/{client_id}/webhooks';
const EVENTS = '/a/{client_id}/events';

const say = (text: string): void => void process.stderr.write(`${forTerminal(text)}\n`);

/** Reads a feed and posts its events to a local address, until it is stopped. */
class Tunnel {
  readonly settings: ApiSettings;
  readonly forward: string;
  readonly stop: AbortSignal;
  #failures = 0;

  constructor(settings: ApiSettings, forward: string, stop: AbortSignal) {
    this.settings = settings;
    this.forward = forward;
    this.stop = stop;
  }

  /** Makes a temporary pull webhook. */
  async subscribe(triggers: readonly string[]): Promise<string> {
    const body = { delivery: 'pull', triggers };
    return ((await this.#call(`POST ${WEBHOOKS}`, body)) as { id: string }).id;
  }

  /** Deletes the temporary webhook, also after a stop. */
  async unsubscribe(id: string): Promise<void> {
    const action = call(`DELETE ${WEBHOOKS}/{id}`, '');
    await callApi({ action, credentials: 'client secret', id, query: [] }, this.settings);
  }

  /**
   * Forwards events until the signal. Failures of the server or the receiver are retried.
   * @throws {ApiCommandError} if the server refuses a request
   */
  async run(webhookId: string): Promise<void> {
    while (!this.stop.aborted) {
      try {
        const query = { webhook_id: webhookId, limit: BATCH, timeout: POLL_SECONDS };
        const page = (await this.#call(`GET ${EVENTS}`, undefined, query)) as Page;
        if (page.deltas.length > 0) await this.#post(webhookId, page.deltas);
        await this.#call(`POST ${EVENTS}/ack`, { webhook_id: webhookId, cursor: page.cursor_end });
        this.#failures = 0;
      } catch (error) {
        if (this.stop.aborted) return;
        if (!(error instanceof ApiCommandError) || error.kind !== 'unavailable') throw error;
        const waitMs = PAUSES_MS[Math.min(this.#failures++, PAUSES_MS.length - 1)] ?? 0;
        say(`${error.message}; trying again in ${waitMs / 1000} s`);
        await pause(waitMs, undefined, { signal: this.stop }).catch(() => undefined);
      }
    }
  }

  /**
   * Posts a batch, signed as a delivery. @throws {ApiCommandError} unless the receiver answers 2xx
   */
  async #post(webhookId: string, deltas: readonly Delta[]): Promise<void> {
    // A delivery has no cursors.
    const sent = deltas.map((delta) => ({ ...delta, cursor: undefined }));
    const body = JSON.stringify({ deltas: sent });
    const [first, last] = [deltas[0], deltas.at(-1)];
    const id =
      deltas.length === 1
        ? (first?.event_id ?? '')
        : `${webhookId}.${first?.sequence}-${last?.sequence}`;
    const headers = signedHeaders(id, body, requireSetting(this.settings, 'clientSecret'));
    const signal = AbortSignal.any([this.stop, AbortSignal.timeout(ANSWER_MS)]);
    const answer = await fetch(this.forward, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body,
      signal,
    }).catch((error: unknown) => {
      const { cause } = error as Error & { cause?: { code?: string } };
      throw unavailable(`${this.forward} did not answer (${cause?.code ?? String(error)})`);
    });
    await answer.body?.cancel();
    for (const { type, event_id: event, sequence, object_data: object } of deltas)
      process.stdout.write(
        `${forTerminal(`${answer.status} ${type} ${object.id} event ${event} sequence ${sequence}`)}\n`,
      );
    if (!answer.ok) throw unavailable(`${this.forward} answered ${answer.status}`);
  }

  async #call(
    request: Parameters<typeof call>[0],
    body?: object,
    query: Readonly<Record<string, string | number>> = {},
  ): Promise<unknown> {
    const answer = await callApi(
      {
        action: call(request, ''),
        credentials: 'client secret',
        query: Object.entries(query).map(([name, value]) => [name, String(value)] as const),
        body: body && JSON.stringify(body),
        signal: this.stop,
      },
      this.settings,
    );
    return 'json' in answer ? answer.json : {};
  }
}

const unavailable = (message: string) => new ApiCommandError(message, 'unavailable');

/** The headers of deliveries (docs/webhooks.md). This client shares no code with the server. */
function signedHeaders(id: string, body: string, secret: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const hmac = (text: string) => createHmac('sha256', secret).update(text);
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${hmac(`${id}.${timestamp}.${body}`).digest('base64')}`,
    'x-nylas-signature': hmac(body).digest('hex'),
  };
}

async function listen({ forward, trigger, webhook }: ListenFlags, api: ApiSettings): Promise<void> {
  if (!/^https?:\/\//.test(forward) || !URL.canParse(forward))
    throw new ApiCommandError('--forward must be an http(s) address');
  if ((webhook === undefined) === (trigger === undefined))
    throw new ApiCommandError('Give either --trigger, once or several times, or --webhook');
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const tunnel = new Tunnel(api, forward, stop.signal);
  const id = webhook ?? (await tunnel.subscribe(trigger ?? []));
  say(`Forwarding events of webhook ${id} to ${forward}. Stop with Ctrl-C.`);
  try {
    await tunnel.run(id);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    if (webhook === undefined) {
      await tunnel.unsubscribe(id);
      say(`Deleted webhook ${id}.`);
    }
  }
}

/** Adds `webhooks listen`. */
export function addListen(webhooks: Command): void {
  webhooks
    .command('listen')
    .description('forward events to an address on this machine, signed as deliveries are')
    .requiredOption(
      '--forward <url>',
      'address of your receiver, such as http://localhost:4000/hook',
    )
    .option(
      '--trigger <name>',
      'makes a pull webhook for this trigger until Ctrl-C; repeatable',
      (name: string, all: string[] | undefined) => [...(all ?? []), name],
    )
    .option('--webhook <id>', 'reads this webhook instead, and leaves it')
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ListenFlags>();
      await listen(flags, readSettings({ ...flags }, process.env));
    });
}
