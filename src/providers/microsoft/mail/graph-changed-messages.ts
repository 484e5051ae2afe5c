import type {
  FailedMessage,
  MailChanges,
  ProviderAccount,
  RemoteMessage,
} from '../../port/connector.ts';
import { failedContent, notFoundAmong } from '../../rest/message-failures.ts';
import type { GraphContents } from './graph-content.ts';
import type { GraphFolders } from './graph-folders.ts';
import { type GraphMessage, listedOf, remoteOf, withBccOf } from './graph-message.ts';

/** Most missing messages of deleted folders to look up. */
const MOST_LOOKED_UP = 100;

/** Messages of a change, and those on which Graph failed. */
interface Read extends Pick<MailChanges, 'messages'> {
  failed: readonly FailedMessage[];
}

/** Messages that were looked up. `removed`: ids of those that exist in no shown folder */
export type LookedUp = Read & Pick<MailChanges, 'removed'>;

/** Reads the messages that the delta queries of folders name. */
export class GraphChangedMessages {
  constructor(
    private readonly folders: GraphFolders,
    private readonly contents: GraphContents,
  ) {}

  /**
   * Looks up messages that left a folder. A message that still exists was moved. If its folder is
   * not shown, it counts as deleted: Exchange keeps deleted messages there for some days.
   * @param known ids of shown folders. There may be new ones
   */
  async lookUp(
    account: ProviderAccount,
    ids: readonly string[],
    known: ReadonlySet<string>,
  ): Promise<LookedUp> {
    const { read, failed } = await this.contents.places(account, ids, 'interactive');
    const present = [...read.values()].filter((message) => message !== null);
    const isKnown = present.every(({ parentFolderId }) => known.has(parentFolderId ?? ''));
    const shown = isKnown ? known : await this.folders.shownIds(account, 'interactive');
    const messages = present.filter(({ parentFolderId }) => shown.has(parentFolderId ?? ''));
    const kept = new Set(messages.map(({ id }) => id));
    return {
      messages: messages.map((message) => remoteOf(message)),
      removed: [...read.keys()].filter((id) => !kept.has(id)),
      failed,
    };
  }

  /**
   * Looks up messages of deleted folders. Looking up very many would use up the quota: all of them
   * then count as removed. If another folder reports one of them in the same pass, the mirror takes
   * it for moved.
   */
  async lookUpFew(
    account: ProviderAccount,
    ids: readonly string[],
    known: ReadonlySet<string>,
  ): Promise<LookedUp> {
    return ids.length <= MOST_LOOKED_UP
      ? this.lookUp(account, ids, known)
      : { messages: [], removed: [...ids], failed: [] };
  }

  /**
   * Messages as the mirror takes them, with the contents of new ones. The mirror requests contents
   * that it lacks for another reason. A message that Graph does not find is a failure, because its
   * change may be reported before it can be read. A message on whose content Graph failed has what
   * the delta query says of it.
   * @param isDraft whether Outlook may have edited the message since it was read
   */
  async withContents(
    account: ProviderAccount,
    messages: readonly GraphMessage[],
    isNew: (message: GraphMessage) => boolean,
    isDraft: (message: GraphMessage) => boolean = () => false,
  ): Promise<Read> {
    const ids = messages.filter((one) => isNew(one) || isDraft(one)).map(({ id }) => id);
    const { read, failed } = await this.contents.readContents(account, ids, 'interactive');
    const reasons = new Map(failed.map(({ providerId, reason }) => [providerId, reason]));
    const found = messages.flatMap((message): RemoteMessage[] => {
      const got = read.get(message.id);
      if (got === null) return [];
      const reason = reasons.get(message.id);
      if (reason !== undefined) return [withoutContent(message, reason)];
      const content = got ? withBccOf(message, got) : null;
      const edited = content && isDraft(message) ? { mayBeEdited: true } : {};
      return [{ ...remoteOf(message), content, ...edited }];
    });
    return { messages: found, failed: [...failed, ...notFoundAmong(read)] };
  }

  /** Adds the contents of messages that left the drafts: they were sent, as they are now. */
  async sent(account: ProviderAccount, left: readonly RemoteMessage[]): Promise<Read> {
    const ids = left.map(({ providerId }) => providerId);
    const { read, failed } = await this.contents.readContents(account, ids, 'interactive');
    const reasons = new Map(failed.map(({ providerId, reason }) => [providerId, reason]));
    const messages = left.map((message): RemoteMessage => {
      const reason = reasons.get(message.providerId);
      if (reason !== undefined) return { ...message, content: failedContent(reason) };
      const content = read.get(message.providerId) ?? null;
      return { ...message, content, mayBeEdited: content !== null };
    });
    return { messages, failed };
  }
}

function withoutContent(message: GraphMessage, reason: string): RemoteMessage {
  const listed = listedOf(message, message.parentFolderId ?? '');
  return listed.content?.kind === 'listed'
    ? { ...listed, content: { ...listed.content, failed: reason } }
    : listed;
}
