import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { ProviderAccount } from '../port/connector.ts';
import { nullIfGone } from '../rest/gone.ts';
import type { GraphApi, GraphPage } from './graph-api.ts';
import { GraphError } from './graph-error.ts';
import { type GraphMessage, graphMessage, LIST_FIELDS } from './mail/graph-message.ts';

const MOST_PER_PAGE = 500;

const removedEntry = z.object({ id: z.string(), '@removed': z.object({}) });

/** What a page of a folder's delta query says. */
export interface DeltaPage {
  messages: GraphMessage[];
  /** Ids of messages of which Graph reports no more than that they were read, or are unread. */
  incomplete: string[];
  /** Ids of messages that are no longer in the folder: deleted, or moved. */
  left: string[];
  /** Path of the next request. */
  link: string;
  /** Whether the next request returns more now. */
  more: boolean;
}

/** Reads the delta queries of folders. */
export class GraphDeltaPages {
  constructor(private readonly graph: GraphApi) {}

  /**
   * Reads a page.
   * @param link of the page before it; `null` lists the folder from its beginning
   * @param limit most messages of the page, at most 500
   * @returns `null` if Graph has forgotten the state of the folder, or the folder is gone
   */
  async read(
    account: ProviderAccount,
    folderId: string,
    link: string | null,
    limit: number,
    priority: 'interactive' | 'history',
  ): Promise<DeltaPage | null> {
    const prefer = [`odata.maxpagesize=${Math.min(limit, MOST_PER_PAGE)}`];
    const first = {
      path: `/mailFolders/${encodeURIComponent(folderId)}/messages/delta`,
      query: { $select: LIST_FIELDS },
    };
    const target = link === null ? first : { path: link, root: true };
    const page = this.graph.page(account, { method: 'GET', ...target, prefer, priority });
    const found = await (link === null ? nullIfGone(page) : nullIfLost(page));
    return found && deltaPage(found);
  }
}

async function nullIfLost(page: Promise<GraphPage>): Promise<GraphPage | null> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof GraphError && error.isLostLink) return null;
    throw error;
  }
}

/** Entries of another form are left out: they must not block the others. */
function deltaPage({ value, next, delta }: GraphPage): DeltaPage {
  const link = next ?? delta;
  if (link === null)
    throw new ProviderError(
      'temporary',
      'Microsoft: a page of changes has no link to the next one',
    );
  const page: DeltaPage = {
    messages: [],
    incomplete: [],
    left: [],
    link,
    more: next !== null,
  };
  for (const one of value) {
    const removed = removedEntry.safeParse(one).data;
    const message = removed ? undefined : graphMessage.safeParse(one).data;
    if (removed) page.left.push(removed.id);
    else if (message?.flag) page.messages.push(message);
    else if (message) page.incomplete.push(message.id);
  }
  return page;
}
