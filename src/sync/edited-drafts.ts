import { Injectable } from '@nestjs/common';
import { draftContents, giveUpContents, isSameContent } from '../mail/drafts/edited-drafts.ts';
import { recordChanges } from '../platform/changes/change-log.ts';
import { idsOf, type Sql } from '../platform/database/sql.ts';
import { ContentStore } from './content-store.ts';
import type { StandardFolders } from './folder-mirror.ts';
import type { MirrorOwner } from './mirror-changes.ts';
import type { MirrorPlan } from './mirror-plan.ts';

/** Follows drafts that another program edits. */
@Injectable()
export class EditedDrafts {
  constructor(private readonly contents: ContentStore) {}

  /**
   * Replaces the contents of drafts that differ from those in the mirror, in the transaction of the
   * batch. A draft keeps its id and gets a new version; its files are new ones.
   * @param drafts may contain drafts that are the same
   */
  async store(
    sql: Sql,
    { account, at }: MirrorOwner,
    drafts: MirrorPlan['drafts'],
    folders: StandardFolders,
  ): Promise<void> {
    if (drafts.length === 0) return;
    const { accountId, applicationId } = account;
    const known = await draftContents(sql, accountId, idsOf(drafts));
    const edited = drafts.filter(({ id, parsed }) => {
      const before = known.get(id);
      return !before || !isSameContent(before, parsed);
    });
    if (edited.length === 0) return;
    const owner = { accountId, applicationId, at };
    await recordChanges(sql, await giveUpContents(sql, owner, idsOf(edited)));
    const contents = edited.map(({ id, remote: { providerId, receivedAt }, parsed }) => {
      return { id, providerId, parsed, receivedAt };
    });
    await this.contents.store(sql, account, { contents, failures: [] }, folders, at);
  }
}
