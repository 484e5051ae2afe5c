import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type { GraphApi } from '../graph-api.ts';
import type { GraphChangedMessages, LookedUp } from './graph-changed-messages.ts';
import { type GraphContents, isOfOneMessage } from './graph-content.ts';
import type { GraphFolders } from './graph-folders.ts';
import { graphMessage } from './graph-message.ts';

/** Most messages that are looked up at once, because each of them costs a request. */
const MOST_LOOKED_UP = 100;

/** A part of a comparison. */
export type Compared =
  /** `last`: the last id that was looked up; `null` if the comparison is complete */
  | { found: LookedUp; last: string | null }
  /** The folder does not show now which messages it has. */
  | { found: 'stalled'; error: ProviderError };

/** Finds the messages that left a folder while nobody followed it. */
export class GraphFolderComparison {
  constructor(
    private readonly graph: GraphApi,
    private readonly folders: GraphFolders,
    private readonly contents: GraphContents,
    private readonly messages: GraphChangedMessages,
  ) {}

  /**
   * Looks up messages that the mirror has in a folder and the folder's list has not. Each is asked
   * for by itself, because the list may be incomplete. The number of items of a folder would not
   * tell: it also counts items that are no messages.
   * @param mirrored ids of the messages that the mirror has in the folder
   * @param after id up to which they were looked up before; `''` at the beginning
   * @param shown ids of folders that clients see
   * @throws {ProviderError} if Graph does not answer other requests either
   */
  async compare(
    account: ProviderAccount,
    folderId: string,
    mirrored: readonly string[],
    after: string,
    shown: ReadonlySet<string>,
  ): Promise<Compared> {
    try {
      const present = await this.#ids(account, folderId);
      const lost = mirrored.filter((id) => id > after && !present.has(id)).toSorted();
      const now = lost.slice(0, MOST_LOOKED_UP);
      const found = await this.messages.lookUp(account, now, shown);
      // If not even the folder is found, a message that is not found is no deleted one.
      if (found.removed.length > 0) await this.folders.assertFound(account, folderId);
      return { found, last: now.length < lost.length ? now.at(-1)! : null };
    } catch (error) {
      const isGone = error instanceof ProviderError && error.code === 'not-found';
      if (isGone) return { found: 'stalled', error };
      if (!isOfOneMessage(error)) throw error;
      await this.contents.assertAnswers(account);
      return { found: 'stalled', error };
    }
  }

  async #ids(account: ProviderAccount, folderId: string): Promise<Set<string>> {
    const path = `/mailFolders/${encodeURIComponent(folderId)}/messages`;
    const query = { $select: 'id', $top: 1_000 };
    const request = { method: 'GET', path, query, priority: 'interactive' } as const;
    const listed = await this.graph.all(account, request, graphMessage.pick({ id: true }));
    return new Set(listed.map(({ id }) => id));
  }
}
