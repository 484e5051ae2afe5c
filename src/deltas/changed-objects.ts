import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../platform/auth/principal.ts';
import { toCalendarView } from '../calendar/calendars/calendars.mapper.ts';
import { CalendarsService } from '../calendar/calendars/calendars.service.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { toReadContactView } from '../contacts/contacts.mapper.ts';
import { ContactsService, knowsPeopleOfMail } from '../contacts/contacts.service.ts';
import { toDraftView } from '../mail/drafts/drafts.mapper.ts';
import { EventViews } from '../calendar/events/event-views.ts';
import { EventReader } from '../calendar/events/event-reader.ts';
import { visibleFilesOf } from '../mail/files/visible-files.ts';
import { toFileView } from '../mail/files/files.mapper.ts';
import { FilesService } from '../mail/files/files.service.ts';
import { toFolderView } from '../mail/folders/folders.mapper.ts';
import { FoldersService } from '../mail/folders/folders.service.ts';
import type { OrganizationUnit } from '../platform/auth/grant-status.ts';
import { toMessageView } from '../mail/messages/messages.mapper.ts';
import { MessagesService } from '../mail/messages/messages.service.ts';
import { toThreadView } from '../mail/threads/threads.mapper.ts';
import { ThreadsService } from '../mail/threads/threads.service.ts';
import type { DeltaType } from '../platform/changes/delta-types.ts';

/** An object as its own endpoint shows it. */
export type Attributes = object & { id: string };

/** Reads those of the objects that exist. */
type Reader = (
  account: AccountPrincipal,
  ids: readonly string[],
  view: 'expanded' | undefined,
) => Promise<Attributes[]>;

/** Reads the objects of deltas, of any type, with one query per type. */
@Injectable()
export class ChangedObjects {
  readonly #readers: Readonly<Record<DeltaType, Reader>>;

  constructor(
    messages: MessagesService,
    folders: FoldersService,
    files: FilesService,
    calendars: CalendarsService,
    events: EventReader,
    eventViews: EventViews,
    contacts: ContactsService,
    threads: ThreadsService,
    @Inject(APP_CONFIG) { baseUrl }: AppConfig,
  ) {
    const ofUnit =
      (unit: OrganizationUnit): Reader =>
      async ({ accountId, organizationUnit }, ids) => {
        if (organizationUnit !== unit) return [];
        return (await folders.findMany(accountId, ids)).map((folder) => toFolderView(unit, folder));
      };
    this.#readers = {
      message: async (account, ids, view) =>
        (await messages.findMany(account, ids))
          .filter(({ draft }) => !draft)
          .map((message) => toMessageView(message, account.organizationUnit, view)),
      draft: async (account, ids, view) =>
        (await messages.findMany(account, ids))
          .filter(({ draft }) => draft)
          .map((draft) => toDraftView(draft, account.organizationUnit, view)),
      thread: async (account, ids, view) =>
        (await threads.findMany(account, ids, { expanded: view === 'expanded' })).map((thread) =>
          toThreadView(thread, account.organizationUnit, view),
        ),
      folder: ofUnit('folder'),
      label: ofUnit('label'),
      file: async (account, ids) => (await files.findMany(account, ids)).map(toFileView),
      calendar: async ({ accountId }, ids) =>
        (await calendars.findMany(accountId, ids)).map((calendar) => toCalendarView(calendar)),
      event: async ({ accountId }, ids, view) =>
        eventViews.ofAll(accountId, await events.findMany(accountId, ids), view === 'expanded'),
      contact: async (account, ids, view) =>
        (await contacts.findMany(account, ids)).map((contact) =>
          toReadContactView(contact, baseUrl, view),
        ),
    };
  }

  /**
   * True if the scopes of the token may hide objects of this type from `read`, although the token
   * may see other objects of the type.
   */
  mayHide(account: AccountPrincipal, type: DeltaType): boolean {
    if (type === 'file') return visibleFilesOf(account) !== 'all';
    return type === 'contact' && !knowsPeopleOfMail(account);
  }

  /**
   * @returns the objects that exist, by id
   * @throws {PageTooLargeError} if there are several objects and their total size is too large
   */
  async read(
    account: AccountPrincipal,
    type: DeltaType,
    ids: readonly string[],
    view?: 'expanded',
  ): Promise<ReadonlyMap<string, Attributes>> {
    const found = await this.#readers[type](account, ids, view);
    return new Map(found.map((attributes) => [attributes.id, attributes]));
  }
}
