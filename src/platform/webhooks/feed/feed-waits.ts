import { Injectable } from '@nestjs/common';
import { Credentials } from '../../auth/credentials.ts';
import type { ApplicationPrincipal } from '../../auth/principal.ts';
import { KeyedLimit } from '../../base/concurrency/keyed-limit.ts';
import {
  CallerWatch,
  CredentialNoLongerValidError,
  WaitingCaller,
} from '../../waiting/caller-watch.ts';
import {
  type DeltaSink,
  STREAM_PAGE,
  streamDeltas,
  untilDeltas,
} from '../../waiting/delta-streams.ts';
import { ReaderSlots } from '../../waiting/reader-slots.ts';
import type { WaitingReader } from '../../waiting/waiting-reader.ts';
import { FeedWatch } from './feed-watch.ts';
import { type FeedPage, type FeedRequest, FeedService } from './feed.service.ts';

/** Most requests of each kind at the same time for one application, in one process. */
const MOST_LONG_POLLS = 20;
const MOST_STREAMS = 20;

/** Most database reads at the same time, as for the change log (`deltas/delta-waits.ts`). */
const READS_AT_ONCE = 4;

/** The client that waits for events, and for how long. */
export interface FeedReader {
  application: ApplicationPrincipal;
  /** The presented client secret. Looked up again before each page of events is returned. */
  secret: string;
  timeoutMs: number;
}

/** The application that waits for events of one of its webhooks. */
class WaitingApplication extends WaitingCaller {
  constructor(
    private readonly credentials: Credentials,
    private readonly feed: FeedService,
    private readonly reader: FeedReader,
    private readonly webhookId: string,
    onRefused: () => void,
  ) {
    super(onRefused);
  }

  /** @throws {CredentialNoLongerValidError} @throws {NotFoundError} @throws {InactiveFeedError} */
  protected override async check(): Promise<void> {
    const { application, secret } = this.reader;
    const now = await this.credentials.applicationBySecret(application.clientId, secret);
    if (now?.applicationId !== application.applicationId) throw new CredentialNoLongerValidError();
    await this.feed.webhook(application.applicationId, this.webhookId);
  }
}

/** Long polls and streams of feeds: requests that wait for events. */
@Injectable()
export class FeedWaits {
  readonly #longPolls = new ReaderSlots(
    '/a/{client_id}/events with timeout',
    'application',
    MOST_LONG_POLLS,
  );
  readonly #streams = new ReaderSlots(
    '/a/{client_id}/events/streaming',
    'application',
    MOST_STREAMS,
  );
  readonly #reads = new KeyedLimit(READS_AT_ONCE);

  constructor(
    private readonly feed: FeedService,
    private readonly watch: FeedWatch,
    private readonly credentials: Credentials,
    private readonly callers: CallerWatch,
  ) {}

  /**
   * Returns as soon as there are events. Returns none when the timeout ends, the client disconnects
   * or the process stops. Fails within seconds if the secret, the application or the webhook is
   * stopped.
   * @param onGone registers a callback for the client's disconnect
   * @throws {DomainError} as `FeedService.read` @throws {TooManyReadersError}
   * @throws {CredentialNoLongerValidError} @throws {ApplicationSuspendedError}
   */
  longPoll(
    reader: FeedReader,
    request: FeedRequest,
    onGone: (gone: () => void) => void,
  ): Promise<FeedPage> {
    return this.#longPolls.run(reader.application.applicationId, () =>
      this.#during(reader, request, onGone, async (waiting, caller) => {
        const page = await untilDeltas(waiting, request.cursor, (cursor) =>
          this.#read(reader, caller, { ...request, cursor }, waiting),
        );
        if (caller.refusal) throw caller.refusal;
        return page;
      }),
    );
  }

  /**
   * Writes events as `streamDeltas` does. Ends when the timeout ends, the client disconnects, the
   * secret, the application or the webhook is stopped, or the process stops.
   * @param open called once, after the last check that can refuse the request
   * @throws {DomainError} as `FeedService.read`, before `open` is called
   * @throws {TooManyReadersError} before `open` is called
   */
  stream(
    reader: FeedReader,
    request: Omit<FeedRequest, 'limit'>,
    onGone: (gone: () => void) => void,
    open: () => DeltaSink,
  ): Promise<void> {
    const { applicationId } = reader.application;
    return this.#streams.run(applicationId, () =>
      this.#during(reader, request, onGone, (waiting, caller) =>
        streamDeltas({
          waiting,
          cursor: request.cursor,
          read: (cursor) =>
            this.#read(reader, caller, { ...request, ...STREAM_PAGE, cursor }, waiting),
          open,
          name: `webhook ${request.webhookId}`,
        }),
      ),
    );
  }

  #during<T>(
    reader: FeedReader,
    { webhookId }: Pick<FeedRequest, 'webhookId'>,
    onGone: (gone: () => void) => void,
    work: (waiting: WaitingReader, caller: WaitingCaller) => Promise<T>,
  ): Promise<T> {
    return this.watch.during(reader.application.applicationId, async (waiting) => {
      const end = () => waiting.end();
      const over = setTimeout(end, reader.timeoutMs);
      onGone(end);
      const caller = new WaitingApplication(this.credentials, this.feed, reader, webhookId, end);
      try {
        return await this.callers.during(caller, () => work(waiting, caller));
      } finally {
        clearTimeout(over);
      }
    });
  }

  async #read(
    { application }: FeedReader,
    caller: WaitingCaller,
    request: FeedRequest,
    waiting: WaitingReader,
  ): Promise<FeedPage> {
    const page = await this.#reads.run('', () =>
      this.feed.read(application.applicationId, request),
    );
    waiting.seenTo = page.seenTo;
    if (page.deltas.length > 0) await caller.ask();
    return page;
  }
}
