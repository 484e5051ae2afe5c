import type { ImapFlow } from 'imapflow';
import { createAccount, type TestApplication } from '../factories.ts';
import { type DavServer, startRadicale } from '../mail-servers/dav.ts';
import { MailServers, mimeOf, type MailUser } from '../mail-servers/mail-servers.ts';
import { type SeenMailbox, type SeenMessage, sorted } from '../remote-side.ts';
import type { TestApp } from '../test-app.ts';
import type { WriteSide, WrittenAccount } from './write-side.ts';

const STANDARD = ['INBOX', 'Sent', 'Drafts', 'Trash', 'Junk', 'Archive'];
const ADDRESS_BOOK =
  '<D:mkcol xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:set><D:prop><D:resourcetype><D:collection/><C:addressbook/></D:resourcetype></D:prop></D:set></D:mkcol>';

/** A mailbox on Dovecot, and the calendars and contacts of the same user on Radicale. */
export class RealSide implements WriteSide {
  readonly provider = 'imap';
  readonly unit = 'folder';
  readonly environment = {};
  readonly correspondent: string;

  private constructor(
    private readonly servers: MailServers,
    private readonly radicale: DavServer,
    private readonly user: MailUser,
    other: MailUser,
    private readonly client: ImapFlow,
  ) {
    this.correspondent = other.email;
  }

  static async start(): Promise<RealSide> {
    const [servers, radicale] = await Promise.all([MailServers.start(), startRadicale()]);
    const user = await servers.addUser();
    const other = await servers.addUser();
    await radicale.addUser(user.email, user.password);
    const side = new RealSide(servers, radicale, user, other, await servers.client(user));
    await side.#dav('MKCALENDAR', 'personal/');
    await side.#dav('MKCOL', 'people/', ADDRESS_BOOK);
    return side;
  }

  async connect({ app }: TestApp, application: TestApplication): Promise<WrittenAccount> {
    const { email } = this.user;
    const { url } = this.radicale;
    const settings = {
      ...this.servers.settingsOf(this.user),
      caldav_url: url,
      carddav_url: url,
    };
    return createAccount(app, application, { provider: 'imap', email, settings, mirrored: true });
  }

  deliver(subject: string): Promise<void> {
    return this.servers.deliver(this.user, mimeOf({ To: this.user.email, Subject: subject }));
  }

  async seen(): Promise<SeenMailbox> {
    const paths = (await this.client.list()).map(({ path }) => path);
    const messages: SeenMessage[] = [];
    for (const path of paths) messages.push(...(await this.#messagesIn(path)));
    const isDraft = ({ folders }: SeenMessage) => folders.includes('Drafts');
    return {
      messages: messages.filter((one) => !isDraft(one)),
      drafts: sorted(messages.filter(isDraft).map(({ subject }) => subject)),
      folders: sorted(paths.filter((path) => !STANDARD.includes(path))),
      ...(await this.#collections()),
    };
  }

  async #messagesIn(path: string): Promise<SeenMessage[]> {
    const { exists } = await this.client.mailboxOpen(path, { readOnly: true });
    const found =
      exists === 0 ? [] : await this.client.fetchAll('1:*', { envelope: true, flags: true });
    await this.client.mailboxClose();
    return found.map(({ envelope, flags }) => ({
      subject: envelope?.subject ?? '',
      unread: !flags?.has('\\Seen'),
      starred: flags?.has('\\Flagged') ?? false,
      folders: [path],
    }));
  }

  /** Radicale returns all objects of a collection in one file. */
  async #collections(): Promise<Pick<SeenMailbox, 'calendars' | 'events' | 'contacts'>> {
    const listing = await this.#dav('PROPFIND', '', undefined, { depth: '1' });
    const all = listing.split('<response>').slice(1);
    const valuesIn = async (kind: string, property: string) => {
      const collections = all.filter((one) => one.includes(kind));
      const hrefs = collections.map((one) => /<href>(.*?)<\/href>/.exec(one)?.[1] ?? '');
      const files = await Promise.all(hrefs.map((href) => this.#dav('GET', href)));
      return sorted(
        files.flatMap((file) =>
          file
            .split('\r\n')
            .flatMap((line) =>
              line.startsWith(`${property}:`) ? [line.slice(property.length + 1)] : [],
            ),
        ),
      );
    };
    const names = all.flatMap((one) =>
      one.includes('<C:calendar />')
        ? (/<displayname>(.*?)<\/displayname>/.exec(one)?.[1] ?? [])
        : [],
    );
    return {
      calendars: sorted(names.filter((name) => !name.endsWith('personal'))),
      events: await valuesIn('<C:calendar />', 'SUMMARY'),
      contacts: await valuesIn('<CR:addressbook />', 'FN'),
    };
  }

  async #dav(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
    const { email, password } = this.user;
    const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`;
    const url = new URL(path, `${this.radicale.url}/${email}/`);
    const type = body === undefined ? {} : { 'content-type': 'application/xml', body };
    const answer = await fetch(url, { method, headers: { authorization, ...headers }, ...type });
    const text = await answer.text();
    expect([method, path, answer.ok, answer.ok ? '' : text]).toEqual([method, path, true, '']);
    return text;
  }

  async stop(): Promise<void> {
    await this.client.logout();
    await Promise.all([this.servers.stop(), this.radicale.stop()]);
  }
}
