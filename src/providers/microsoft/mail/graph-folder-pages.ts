import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { MailChanges, ProviderAccount } from '../../port/connector.ts';
import { isOfOneMessage, type GraphContents } from './graph-content.ts';
import type { FolderState, GraphCursor } from './graph-cursor.ts';
import type { DeltaPage, GraphDeltaPages } from '../graph-delta-pages.ts';

/** A page that fails is asked for again with this part of its messages, down to a single one. */
const SHRINK = 10;
/** Pages that succeed grow by this factor. */
const GROW = 4;
/** After this time a folder that cannot be read is listed again; then once a day. */
const LIST_AGAIN_MS = 15 * 60_000;
const DAY_MS = 86_400_000;

/** The result of reading a page of a folder. */
export type FolderPage =
  /** `page`: see `GraphDeltaPages.read`. `limit`: for the next page; absent for the usual one */
  | { page: DeltaPage | null; limit?: number }
  /** Graph fails on the next message of the folder, although it answers otherwise. */
  | { page: 'stalled'; error: ProviderError };

/**
 * Reads pages of folders. One message can make Graph fail on each page that contains it, for months
 * (microsoft-graph-docs#5853). Smaller pages come as near to it as possible.
 */
export class GraphFolderPages {
  constructor(
    private readonly pages: GraphDeltaPages,
    private readonly contents: GraphContents,
  ) {}

  /**
   * @param most messages of the page
   * @throws {ProviderError} if Graph does not answer other requests either
   */
  async read(
    account: ProviderAccount,
    folderId: string,
    state: FolderState,
    most: number,
    priority: 'interactive' | 'history',
  ): Promise<FolderPage> {
    let limit = Math.min(state.limit ?? most, most);
    for (;;) {
      try {
        const page = await this.pages.read(account, folderId, state.link, limit, priority);
        const next = limit * GROW;
        return next >= most ? { page } : { page, limit: next };
      } catch (error) {
        if (!isOfOneMessage(error)) throw error;
        await this.contents.assertAnswers(account);
        if (limit <= 1) return { page: 'stalled', error };
        limit = Math.max(1, Math.floor(limit / SHRINK));
      }
    }
  }
}

/** The state of a folder whose page could not be read. */
export function stalledState(state: FolderState, now: number): FolderState {
  const { since, listedAt } = state.stall ?? { since: now, listedAt: null };
  const isLong = now - (listedAt ?? since) > (listedAt === null ? LIST_AGAIN_MS : DAY_MS);
  const again = { link: null, stage: 'again', counts: '' } as const;
  const stall = { since, triedAt: now, listedAt: isLong ? now : listedAt };
  return { ...state, ...(isLong ? again : {}), limit: 1, stall };
}

/** Whether a folder has to be listed, and was not tried in vain in this round. */
export const isToList = (
  { stage, stall }: FolderState,
  { roundAt }: Pick<GraphCursor, 'roundAt'>,
): boolean => stage !== 'follow' && !(stall && stall.triedAt >= roundAt);

/** Why some folders cannot be read, if there is nothing else to do. */
export function stallOf({ folders, round, ...cursor }: Omit<GraphCursor, 'version'>) {
  const states = Object.entries(folders);
  if (round.length > 0 || states.some(([, state]) => isToList(state, cursor))) return {};
  const [first, ...others] = states.flatMap(([id, { stall }]) => (stall ? [{ id, stall }] : []));
  if (!first) return {};
  const since = Math.min(first.stall.since, ...others.map(({ stall }) => stall.since));
  const more = others.length > 0 ? ` and ${others.length} others` : '';
  const reason = `Microsoft cannot return the messages of the folder ${nameOf(cursor, first.id)}${more}`;
  return { stalled: { since: new Date(since), reason } } satisfies Partial<MailChanges>;
}

/** What operators see of a folder that cannot be read. */
export const unreadFolder = (
  cursor: Pick<GraphCursor, 'wellKnown'>,
  providerId: string,
  error: ProviderError,
): Pick<MailChanges, 'unread'> => ({
  unread: [
    {
      providerId,
      reason: `the changes of the folder ${nameOf(cursor, providerId)} cannot be read: ${error.message}`,
    },
  ],
});

const nameOf = ({ wellKnown }: Pick<GraphCursor, 'wellKnown'>, folderId: string): string =>
  Object.entries(wellKnown).find(([, id]) => id === folderId)?.[0] ?? folderId;
