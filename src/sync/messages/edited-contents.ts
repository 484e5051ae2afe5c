import { Injectable } from '@nestjs/common';
import {
  giveUpContents,
  isSameContent,
  mirroredContents,
} from '../../mail/drafts/edited-drafts.ts';
import { keepFiles, type KeptFiles } from '../../mail/files/kept-files.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { ContentStore } from './content-store.ts';
import type { StandardFolders } from '../folders/folder-mirror.ts';
import type { MirrorOwner } from './mirror-changes.ts';
import type { ReadAgain } from './mirror-plan.ts';

const NO_FILES: KeptFiles = { ids: [], parts: new Map(), changes: [] };

/**
 * Follows messages whose content differs at the provider. Such a message keeps its id and gets a
 * new version.
 */
@Injectable()
export class EditedContents {
  constructor(private readonly contents: ContentStore) {}

  /**
   * Replaces the contents of drafts that another program has edited, in the transaction of the
   * batch. Their files are new ones: the other program may have replaced a file by another one of
   * its name.
   * @param drafts may contain drafts that are the same
   */
  async ofDrafts(
    sql: Sql,
    owner: MirrorOwner,
    drafts: readonly ReadAgain[],
    folders: StandardFolders,
  ): Promise<void> {
    if (drafts.length === 0) return;
    const known = await mirroredContents(sql, owner.account.accountId, idsOf(drafts));
    const edited = drafts.filter(({ id, parsed }) => {
      const before = known.get(id);
      return !before || !isSameContent(before, parsed);
    });
    await this.#replace(sql, owner, edited, folders, NO_FILES);
  }

  /**
   * Replaces the contents of sent messages of which the provider's copy is another text, in the
   * transaction of the batch. Some providers compose a message anew, or change its Message-ID. The
   * files that the copy has, too, keep their ids (ADR 0134).
   * @param copies may contain copies that are the same
   */
  async ofSent(
    sql: Sql,
    owner: MirrorOwner,
    copies: readonly ReadAgain[],
    folders: StandardFolders,
  ): Promise<void> {
    if (copies.length === 0) return;
    const known = await mirroredContents(sql, owner.account.accountId, idsOf(copies));
    const others = copies.filter(({ id, parsed }) => {
      const before = known.get(id);
      const isNamed = before?.messageIdHeader === parsed.messageIdHeader;
      return before && !(isNamed && isSameContent(before, parsed));
    });
    const { accountId, applicationId } = owner.account;
    const kept = await keepFiles(
      sql,
      { accountId, applicationId, at: owner.at },
      others.map(({ id, parsed: { files } }) => ({ id, files })),
    );
    await this.#replace(sql, owner, others, folders, kept);
  }

  async #replace(
    sql: Sql,
    { account, at }: MirrorOwner,
    messages: readonly ReadAgain[],
    folders: StandardFolders,
    kept: KeptFiles,
  ): Promise<void> {
    if (messages.length === 0) return;
    const { accountId, applicationId } = account;
    const owner = { accountId, applicationId, at };
    const given = await giveUpContents(sql, owner, idsOf(messages), kept.ids);
    await recordChanges(sql, [...given, ...kept.changes]);
    const contents = messages.map(({ id, remote: { providerId, receivedAt }, parsed }) => {
      return { id, providerId, parsed, receivedAt, storedParts: kept.parts.get(id) };
    });
    await this.contents.store(sql, account, { contents, failures: [] }, folders, at, true);
  }
}
