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
import type { MessageFileRecord } from '../messages/filters/message-filter.ts';
import {
  type DirectMessage,
  type DirectResult,
  DirectSends,
} from '../outbox/accept/direct-sends.ts';
import { withBcc } from '../../formats/mime/with-bcc.ts';
import { SentMirror } from '../outbox/record/sent-mirror.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { announcedBytes, readRaw } from './raw-body.ts';
import { SendComposition, type SendRequest } from './send-composition.ts';
import { sendFailure } from './send-failure.ts';
import { SendSlots } from './send-slots.ts';

/** Response to a request whose message was sent, and whether an earlier request has sent it. */
export interface SendResponse {
  /** Plain JSON, made by `SendCall.toResponse`. */
  body: unknown;
  replayed: boolean;
}

export interface SendCall {
  account: AccountPrincipal;
  /** Set if the request has an Idempotency-Key. */
  idempotent: IdempotentRequest | undefined;
  /** Whether the client has disconnected. */
  isGone: () => boolean;
  /**
   * Makes the response for a sent message; it is stored with the idempotency key.
   * @param files attachments of the message
   */
  toResponse: (message: DirectMessage, files: readonly MessageFileRecord[]) => Promise<unknown>;
}

/** Factor by which base64 and headers enlarge a message. */
const ENCODED = 1.4;

/**
 * Sends messages within their requests (docs/sending.md). Each message gets a single attempt, and
 * the response reports the result.
 */
@Injectable()
export class SendService {
  readonly #sendSlots = new SendSlots();

  constructor(
    private readonly composition: SendComposition,
    private readonly direct: DirectSends,
    private readonly sentMirror: SentMirror,
    private readonly keys: IdempotencyKeys,
    private readonly connectors: ConnectorRegistry,
    private readonly database: Database,
  ) {}

  /**
   * Sends a message or a stored draft.
   * @throws {InvalidInputError} naming the field
   * @throws {NotFoundError} if the draft does not exist
   * @throws {ConflictError} if the draft has another version or is being sent
   * @throws {DomainError} the error of `sendFailure` if some recipients have not received the
   *   message
   */
  async send(call: SendCall, body: SendRequest): Promise<SendResponse> {
    const { account, idempotent, isGone } = call;
    const known = await this.#known(account, idempotent);
    if (known) return known;
    this.connectors.requireMail(account.provider);
    const checked = await this.composition.check(account, body);
    const { bytes, files } = checked.message;
    return this.#sendSlots.run(account.accountId, bytes * ENCODED, isGone, async () => {
      return this.#deliver(call, await this.composition.compose(checked), files);
    });
  }

  /**
   * Sends a message that its sender has composed.
   * @throws as `send`; 413 if the message is too large
   */
  async sendRaw(
    call: SendCall,
    body: Readable,
    headers: Readonly<Record<string, unknown>>,
  ): Promise<SendResponse> {
    const { account } = call;
    this.connectors.requireMail(account.provider);
    return this.#sendSlots.run(
      account.accountId,
      announcedBytes(headers),
      call.isGone,
      async () => {
        const input = await readRaw(body, headers);
        const digest = createHash('sha256').update(input).digest('base64');
        const idempotent = call.idempotent && { ...call.idempotent, body: { digest } };
        const known = await this.#known(account, idempotent);
        if (known) return known;
        const message = await this.composition.raw(account, input);
        return this.#deliver({ ...call, idempotent }, message, []);
      },
    );
  }

  async #deliver(
    { idempotent, toResponse }: SendCall,
    message: DirectMessage,
    files: readonly MessageFileRecord[],
  ): Promise<SendResponse> {
    const view = await toResponse(message, files);
    const result = await this.direct.send(
      message,
      idempotent ? this.#hooks(idempotent, message.id, view) : {},
    );
    const { id, accountId, at, mime, content } = message;
    const threadId = result.stored?.threadId ?? null;
    if (result.status === 'successful')
      await this.sentMirror.add(accountId, { id, at, threadId }, () => withBcc(mime, content.bcc));
    const failure = sendFailure(result, message.id);
    if (failure) throw failure;
    return { body: view, replayed: false };
  }

  #hooks(request: IdempotentRequest, jobStatusId: string, view: unknown) {
    const about = { jobStatusId, view };
    return {
      accepted: (sql: Sql) => this.keys.begin(sql, request, about),
      // A message that was certainly not sent may be sent again with the same key.
      ended: async (sql: Sql, { status, code }: DirectResult) => {
        if (status === 'failed' && code !== 'outcome-unknown')
          await this.keys.release(sql, request, about);
      },
    };
  }

  /**
   * Result of the first request with the key.
   * @returns `undefined` if there is no key, or the key is free
   * @throws {IdempotencyKeyBusyError} if the first request is still running
   * @throws {DomainError} the error of the first request
   */
  async #known(
    { accountId }: AccountPrincipal,
    request: IdempotentRequest | undefined,
  ): Promise<SendResponse | undefined> {
    if (!request) return undefined;
    try {
      const answer = await this.keys.find(request);
      // Keys of the send paths belong to sends, which are stored without a response.
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
  ): Promise<SendResponse | undefined> {
    const { jobStatusId, view } = (busy.about ?? {}) as { jobStatusId?: string; view?: unknown };
    const first = jobStatusId && (await this.direct.find(accountId, jobStatusId));
    if (!first || !view || first.status === 'pending') throw busy;
    // The process of the first request died, and a look-up proved that the message was not sent.
    // With any other code the outcome stayed unknown.
    if (first.status === 'failed' && first.code === 'temporary') {
      await this.keys.release(this.database, request, busy.about);
      return undefined;
    }
    const failure = sendFailure(first, jobStatusId);
    if (failure) throw failure;
    return { body: view, replayed: true };
  }
}
