import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type {
  MessageIds,
  MessageIdsRequest,
  ProviderAccount,
  ReadMessage,
  ReadRequest,
  RemoteFolder,
} from '../../port/connector.ts';
import { withFailed } from '../../rest/message-failures.ts';
import { pagesOf } from '../../rest/pages.ts';
import type { GraphApi, GraphRequest } from '../graph-api.ts';
import type { GraphContents } from './graph-content.ts';
import type { GraphFolders } from './graph-folders.ts';
import { stateOf } from './graph-message.ts';

const MOST_PER_PAGE = 1_000;
/** Most states that one call of `readMessages` returns. */
const MOST_READ = 50;

const listed = z.object({ id: z.string(), receivedDateTime: z.string() });
const position = z.object({
  /** Time of the last message that was listed, in whole seconds. */
  from: z.string(),
  /** Messages of that second that were listed. */
  skip: z.number().int().min(0),
});

/** What the audit reads (ADR 0080). */
export class GraphAudit {
  constructor(
    private readonly graph: GraphApi,
    private readonly folders: GraphFolders,
    private readonly contents: GraphContents,
  ) {}

  /**
   * See `MailPort.listIds`. Pages begin at a time and not at a position, because a message that
   * leaves the folder meanwhile would shift the positions of others.
   */
  async listIds(
    account: ProviderAccount,
    { folderId, since, until, cursor, limit }: MessageIdsRequest,
  ): Promise<MessageIds> {
    const after = cursor === null ? null : positionOf(cursor);
    const from = after?.from ?? (since ? wholeSecond(since, 0) : null);
    const conditions = [
      ...(from === null ? [] : [`receivedDateTime ge ${from}`]),
      ...(until ? [`receivedDateTime lt ${wholeSecond(until, 999)}`] : []),
    ];
    const top = Math.min(limit, MOST_PER_PAGE);
    const request: GraphRequest = {
      method: 'GET',
      path: `/mailFolders/${encodeURIComponent(folderId)}/messages`,
      query: {
        $select: 'id,receivedDateTime',
        $orderby: 'receivedDateTime',
        $filter: conditions.length > 0 ? conditions.join(' and ') : undefined,
        $top: top,
        $skip: after && after.skip > 0 ? after.skip : undefined,
      },
      priority: 'history',
    };
    const { value, isLast } = await this.#filled(account, request);
    const messages = value.flatMap((one) => listed.safeParse(one).data ?? []);
    const ids = messages.map(({ id }) => id);
    if (isLast) return { ids, cursor: null };
    return { ids, cursor: JSON.stringify(nextPosition(messages, after)) };
  }

  /** The first page with entries. Graph may return short and empty pages before the last one. */
  async #filled(
    account: ProviderAccount,
    request: GraphRequest,
  ): Promise<{ value: unknown[]; isLast: boolean }> {
    const { query: _first, ...rest } = request;
    const pages = pagesOf(
      'Microsoft',
      (path) =>
        this.graph.page(account, path === undefined ? request : { ...rest, path, root: true }),
      ({ next }) => next,
    );
    for await (const { value, next } of pages)
      if (value.length > 0) return { value, isLast: next === null };
    return { value: [], isLast: true };
  }

  /** See `MailPort.listFolders`. */
  listFolders(account: ProviderAccount): Promise<RemoteFolder[]> {
    return this.folders.shown(account, 'history');
  }

  /** See `MailPort.countMessages`. */
  async countMessages(account: ProviderAccount): Promise<ReadonlyMap<string, number>> {
    const all = await this.folders.all(account, 'history');
    return new Map(
      all.flatMap(({ id, totalItemCount }) =>
        totalItemCount === null || totalItemCount === undefined ? [] : [[id, totalItemCount]],
      ),
    );
  }

  /**
   * See `MailPort.readMessages`. Contents come without states. Of states, a message in a folder
   * that is not shown counts as deleted.
   */
  async readMessages(
    account: ProviderAccount,
    { providerIds, content, priority }: ReadRequest,
  ): Promise<Map<string, ReadMessage | null>> {
    if (content) {
      const { read, failed } = await this.contents.readContents(account, providerIds, priority);
      const contents = [...read].map(
        ([id, one]) => [id, one && { state: null, content: one }] as const,
      );
      return withFailed(new Map(contents), failed);
    }
    const ids = providerIds.slice(0, MOST_READ);
    const shown = await this.folders.shownIds(account, priority);
    const { read, failed } = await this.contents.places(account, ids, priority);
    const states = [...read].map(([id, message]) => {
      const isShown = message && shown.has(message.parentFolderId ?? '');
      return [id, isShown ? { state: stateOf(message), content: null } : null] as const;
    });
    return withFailed(new Map(states), failed);
  }
}

/** Times at Graph are in whole seconds: a window grows to them. */
const wholeSecond = (time: Date, plusMs: number): string =>
  new Date(Math.floor((time.getTime() + plusMs) / 1_000) * 1_000)
    .toISOString()
    .replace('.000Z', 'Z');

function positionOf(cursor: string): z.infer<typeof position> {
  try {
    return position.parse(JSON.parse(cursor));
  } catch (error) {
    throw new ProviderError('conflict', 'The cursor of the listing is not valid', { cause: error });
  }
}

/**
 * Where the next page begins: at the second of the last message. Messages of that second that were
 * listed already are skipped.
 */
function nextPosition(
  messages: readonly z.infer<typeof listed>[],
  before: z.infer<typeof position> | null,
): z.infer<typeof position> {
  const last = messages.at(-1)?.receivedDateTime ?? '';
  const from = wholeSecond(new Date(last), 0);
  const same = messages.filter(
    ({ receivedDateTime }) => wholeSecond(new Date(receivedDateTime), 0) === from,
  ).length;
  return { from, skip: before?.from === from ? before.skip + same : same };
}
