import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ConflictError } from '../../platform/base/errors/domain-error.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import {
  IdempotencyKeyBusyError,
  IdempotencyKeys,
  type IdempotentRequest,
} from '../../platform/idempotency/idempotency-keys.ts';
import type { MessageFileRecord } from '../messages/message-filter.ts';
import { type DirectMessage, type DirectResult, DirectSends } from '../outbox/direct-sends.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { MessageTurns } from '../composing/message-turns.ts';
import { announcedBytes, readRaw } from './raw-body.ts';
import { SendComposition, type SendRequest } from './send-composition.ts';
import { sendFailure } from './send-failure.ts';
import { SendLanes } from './send-lanes.ts';

/** What a request is answered when its message was sent, and whether an earlier request has sent it. */
export interface SendAnswer {
  /** Plain JSON, made by `SendCall.toAnswer`. */
  body: unknown;
  replayed: boolean;
}

export interface SendCall {
  account: AccountPrincipal;
  /** Set when the request has an Idempotency-Key. */
  idempotent: IdempotentRequest | undefined;
  /** Whether nobody waits for the answer any more. */
  isGone: () => boolean;
  /** What is answered when the message is sent; kept with the key. @param files what the message carries */
  toAnswer: (message: DirectMessage, files: readonly MessageFileRecord[]) => Promise<unknown>;
}

/** Encoded as base64, with everything around it. */
const ENCODED = 1.4;

/** Sends messages within their requests (api facts 6.2, docs/sending.md): tried once, the answer says what came of it. */
@Injectable()
export class SendService {
  readonly #lanes = new SendLanes();

  constructor(
    private readonly composition: SendComposition,
    private readonly turns: MessageTurns,
    private readonly direct: DirectSends,
    private readonly keys: IdempotencyKeys,
    private readonly connectors: ConnectorRegistry,
    private readonly database: Database,
  ) {}

  /**
   * A message, or a stored draft.
   * @throws {InvalidInputError} naming the field
   * @throws {NotFoundError} @throws {ConflictError} the draft is gone, or not the one that is meant
   * @throws {DomainError} what `sendFailure` says when not everybody has got it
   */
  async send(call: SendCall, body: SendRequest): Promise<SendAnswer> {
    const { account, idempotent, isGone } = call;
    const known = await this.#known(account, idempotent);
    if (known) return known;
    this.connectors.requireMail(account.provider);
    const checked = await this.composition.check(account, body);
    const { bytes, files } = checked.message;
    return this.#lanes.run(account.accountId, bytes * ENCODED, isGone, async () => {
      const message = await this.turns.run(account.accountId, bytes, () =>
        this.composition.compose(checked),
      );
      return this.#deliver(call, message, files);
    });
  }

  /**
   * A message that its sender has composed.
   * @throws as `send`; 413 when it is too large
   */
  async sendRaw(
    call: SendCall,
    body: Readable,
    headers: Readonly<Record<string, unknown>>,
  ): Promise<SendAnswer> {
    const { account } = call;
    this.connectors.requireMail(account.provider);
    return this.#lanes.run(account.accountId, announcedBytes(headers), call.isGone, async () => {
      const input = await readRaw(body, headers);
      const digest = createHash('sha256').update(input).digest('base64');
      const idempotent = call.idempotent && { ...call.idempotent, body: { digest } };
      const known = await this.#known(account, idempotent);
      if (known) return known;
      const message = await this.turns.run(account.accountId, input.length, () =>
        this.composition.raw(account, input),
      );
      return this.#deliver({ ...call, idempotent }, message, []);
    });
  }

  async #deliver(
    { idempotent, toAnswer }: SendCall,
    message: DirectMessage,
    files: readonly MessageFileRecord[],
  ): Promise<SendAnswer> {
    const view = await toAnswer(message, files);
    const result = await this.direct.send(
      message,
      idempotent ? this.#hooks(idempotent, message.id, view) : {},
    );
    const failure = sendFailure(result, message.id);
    if (failure) throw failure;
    return { body: view, replayed: false };
  }

  #hooks(request: IdempotentRequest, jobStatusId: string, view: unknown) {
    const about = { jobStatusId, view };
    return {
      accepted: (sql: Sql) => this.keys.begin(sql, request, about),
      // What was surely not sent may be tried again.
      ended: async (sql: Sql, { status, code }: DirectResult) => {
        if (status === 'failed' && code !== 'outcome-unknown')
          await this.keys.release(sql, request, about);
      },
    };
  }

  /**
   * What has come of the first request with the key.
   * @returns undefined: there is no key, or it is free
   * @throws {IdempotencyKeyBusyError} it is under way @throws {DomainError} what the first one was answered
   */
  async #known(
    { accountId }: AccountPrincipal,
    request: IdempotentRequest | undefined,
  ): Promise<SendAnswer | undefined> {
    if (!request) return undefined;
    try {
      const answer = await this.keys.find(request);
      // Only sends are kept under the paths of sends, and those without an answer.
      if (answer)
        throw new ConflictError(
          'idempotency-key.answer',
          'Idempotency-Key: belongs to another kind of request',
        );
      return undefined;
    } catch (error) {
      if (!(error instanceof IdempotencyKeyBusyError)) throw error;
      return this.#first(accountId, request, error);
    }
  }

  async #first(
    accountId: string,
    request: IdempotentRequest,
    busy: IdempotencyKeyBusyError,
  ): Promise<SendAnswer | undefined> {
    const { jobStatusId, view } = (busy.about ?? {}) as { jobStatusId?: string; view?: unknown };
    const first = jobStatusId && (await this.direct.find(accountId, jobStatusId));
    if (!first || !view || first.status === 'pending') throw busy;
    // Its process has died, and a worker has found that out; with any other code it only could not.
    if (first.status === 'failed' && first.code === 'temporary') {
      await this.keys.release(this.database, request, busy.about);
      return undefined;
    }
    const failure = sendFailure(first, jobStatusId);
    if (failure) throw failure;
    return { body: view, replayed: true };
  }
}
