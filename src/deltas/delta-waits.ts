import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { Credentials } from '../platform/auth/credentials.ts';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { KeyedLimit } from '../platform/base/concurrency/keyed-limit.ts';
import { CallerWatch } from '../platform/waiting/caller-watch.ts';
import {
  type DeltaSink,
  STREAM_PAGE,
  streamDeltas,
  untilDeltas,
} from '../platform/waiting/delta-streams.ts';
import { ReaderSlots } from '../platform/waiting/reader-slots.ts';
import type { WaitingReader } from '../platform/waiting/waiting-reader.ts';
import { ChangeWatch } from './change-watch.ts';
import { type DeltaPage, type DeltaRequest, DeltasService } from './deltas.service.ts';
import { WaitingAccount } from './waiting-account.ts';

/** Most requests of each kind at the same time for one account. */
const MOST_LONG_POLLS = 10;
const MOST_STREAMS = 10;

/**
 * Most database reads at the same time. One commit may wake hundreds of streams, and they must
 * leave connections of the pool to other requests.
 */
const READS_AT_ONCE = 4;

/** The client that waits for changes, and for how long. */
export interface DeltaReader {
  account: AccountPrincipal;
  /** The presented access token. Looked up again before each page of deltas is returned. */
  token: string;
  timeoutMs: number;
}

/** Long polls and streams: requests that wait for changes. */
@Injectable()
export class DeltaWaits {
  readonly #longPolls = new ReaderSlots('/delta/longpoll', 'account', MOST_LONG_POLLS);
  readonly #streams = new ReaderSlots('/delta/streaming', 'account', MOST_STREAMS);
  readonly #reads = new KeyedLimit(READS_AT_ONCE);

  constructor(
    private readonly deltas: DeltasService,
    private readonly watch: ChangeWatch,
    private readonly credentials: Credentials,
    private readonly callers: CallerWatch,
  ) {}

  /**
   * Returns as soon as there are deltas. Returns no deltas when the timeout ends, the client
   * disconnects or the process stops. Fails within seconds if the token, the account or the
   * application is stopped.
   * @param onGone registers a callback for the client's disconnect
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError}
   * @throws {CredentialNoLongerValidError} @throws {ForbiddenError}
   * @throws {ApplicationSuspendedError}
   */
  longPoll(
    reader: DeltaReader,
    request: DeltaRequest,
    onGone: (gone: () => void) => void,
  ): Promise<DeltaPage> {
    const { accountId } = reader.account;
    return this.#longPolls.run(accountId, () =>
      this.#during(reader, request, onGone, async (waiting, caller) => {
        const page = await untilDeltas(waiting, request.cursor, (cursor) =>
          this.#read(caller, { ...request, cursor }, waiting),
        );
        if (caller.refusal) throw caller.refusal;
        return page;
      }),
    );
  }

  /**
   * Writes deltas as `streamDeltas` does. Ends when the timeout ends, the client disconnects, the
   * token, the account or the application is stopped, or the process stops.
   * @param open called once, after the last check that can refuse the request
   * @throws {InvalidCursorError} @throws {ExpiredCursorError} @throws {TooManyReadersError}
   *   before `open` is called
   */
  stream(
    reader: DeltaReader,
    request: Omit<DeltaRequest, 'limit'>,
    onGone: (gone: () => void) => void,
    open: () => DeltaSink,
  ): Promise<void> {
    const { accountId } = reader.account;
    return this.#streams.run(accountId, () =>
      this.#during(reader, request, onGone, (waiting, caller) =>
        streamDeltas({
          waiting,
          cursor: request.cursor,
          read: (cursor) => this.#read(caller, { ...request, ...STREAM_PAGE, cursor }, waiting),
          open,
          name: `account ${accountId}`,
        }),
      ),
    );
  }

  #during<T>(
    { account, token, timeoutMs }: DeltaReader,
    { types }: Pick<DeltaRequest, 'types'>,
    onGone: (gone: () => void) => void,
    work: (waiting: WaitingReader, caller: WaitingAccount) => Promise<T>,
  ): Promise<T> {
    return this.watch.during(account.accountId, async (waiting) => {
      const end = () => waiting.end();
      const over = setTimeout(end, timeoutMs);
      onGone(end);
      const caller = new WaitingAccount(this.credentials, account, token, types, end);
      try {
        return await this.callers.during(caller, () => work(waiting, caller));
      } finally {
        clearTimeout(over);
      }
    });
  }

  /** Reads as the caller that the token belongs to after the read, not before it. */
  async #read(
    caller: WaitingAccount,
    request: DeltaRequest,
    waiting: WaitingReader,
  ): Promise<DeltaPage> {
    for (;;) {
      const { account } = caller;
      const page = await this.#reads.run('', () => this.deltas.read(account, request));
      waiting.seenTo = page.seenTo;
      // What a page shows depends on scopes, also within one type of objects.
      if (page.deltas.length === 0 || isDeepStrictEqual(await caller.ask(), account)) return page;
    }
  }
}
